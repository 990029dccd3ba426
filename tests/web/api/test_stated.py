"""What programs state through the API is what the services of commands and pages keep."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEntry
from advisor.decisions.found.rules import stated_rules
from advisor.management.status_exit import StatusExit
from advisor.models import (
    Allocation,
    MaintenanceWindow,
    Policy,
    Pool,
    Recommendation,
    Resource,
    Workload,
)
from tests.web.api.asking import Program, program_of
from tests.web.api.test_door import problem
from tests.web.fleet import Fleet

PLANNED = {"name": "backup", "starts_at": "2026-11-20T10:00:00Z", "length_s": 7200}


@pytest.fixture
def uplink(fleet: Fleet) -> Resource:
    return fleet.resources["kvm-04/eno1"]


def done(answer: Any, status: int = 200) -> Any:
    assert answer.status_code == status, answer.content
    return answer.json() if answer.content else None


# --- Resources


def test_resource_is_described_changed_and_removed(fleet: Fleet, program: Program) -> None:
    made = done(
        program(
            "POST", "resources",
            {
                "name": "san-1", "kind": "datastore", "capacity": 9000.0,
                "reached_by": [{"host": "kvm-02", "device": "sdz"}],
            },
        ),
        201,
    )  # fmt: skip
    path = f"resources/{made['id']}"

    changed = done(program("PATCH", path, {"alarms_per_week": 2.0, "lun_queue_depth": 64}))
    shared = done(program("PATCH", path, {"alarms_per_week": "none"}))
    done(program("DELETE", path), 204)

    assert (made["unit"], made["capacity"]) == ("iops", 9000.0)
    assert made["reached_by"] == [{"host": "kvm-02", "device": "sdz", "queue_depth": None}]
    assert (changed["alarms_per_week"], changed["lun_queue_depth"]) == (2.0, 64)
    assert shared["alarms_per_week"] is None
    assert not Resource.objects.filter(pk=made["id"]).exists()
    assert [one.action for one in AuditEntry.objects.all()] == [
        "state resource", "change resource", "change resource", "remove resource",
    ]  # fmt: skip


def test_resource_of_a_taken_name_is_refused(program: Program) -> None:
    answer = program(
        "POST", "resources",
        {"name": "nfs-07", "kind": "datastore", "reached_by": [{"host": "h", "device": "d"}]},
    )  # fmt: skip

    assert problem(answer) == (409, "refused")
    assert "already" in answer.json()["detail"]


# --- Allocations and pools


def stated(fleet: Fleet, **more: Any) -> dict[str, Any]:
    return {
        "workload": "db-orders", "host": "kvm-02", "adapter_kind": "cgroup",
        "adapter": "/machine.slice/db-orders.scope", **more,
    }  # fmt: skip


def test_allocation_is_stated_whole(fleet: Fleet, program: Program) -> None:
    resource = fleet.resources["nfs-07"]
    path = f"resources/{resource.pk}/allocations"
    before = Allocation.objects.get(resource=resource, workload__name="db-orders")

    row = done(program("PUT", path, stated(fleet, host=before.host.name, limit=900.0)))

    assert row["id"] == before.pk
    assert (row["reservation"], row["limit"], row["unit"]) == (0.0, 900.0, "iops")
    assert program.read(f"allocations/{before.pk}") == row


def test_limit_below_the_reservation_is_refused(fleet: Fleet, program: Program) -> None:
    resource = fleet.resources["nfs-07"]
    body = stated(fleet, reservation=900.0, limit=100.0)

    answer = program("PUT", f"resources/{resource.pk}/allocations", body)

    assert problem(answer) == (409, "refused")
    assert "below the reservation" in answer.json()["detail"]


def test_allocation_is_removed_for_one_host_alone(fleet: Fleet, program: Program) -> None:
    row = Allocation.objects.filter(resource=fleet.resources["nfs-07"]).first()
    assert row is not None
    others = set(Allocation.objects.exclude(pk=row.pk).values_list("pk", flat=True))

    done(program("DELETE", f"allocations/{row.pk}"), 204)

    assert set(Allocation.objects.values_list("pk", flat=True)) == others


def test_allocation_that_appeared_meanwhile_is_not_overwritten(
    fleet: Fleet, program: Program
) -> None:
    row = Allocation.objects.filter(resource=fleet.resources["nfs-07"]).first()
    assert row is not None
    tag = program("GET", f"allocations/{row.pk}")["ETag"]
    body = stated(fleet, workload=row.workload.name, host=row.host.name, limit=777.0)
    path = f"resources/{row.resource_id}/allocations"

    done(program("PUT", path, body, if_match=tag))
    stale = program("PUT", path, body | {"limit": 778.0}, if_match=tag)

    assert problem(stale) == (412, "changed_meanwhile")


def test_pool_is_stated_on_an_uplink(fleet: Fleet, program: Program, uplink: Resource) -> None:
    Resource.objects.filter(pk=uplink.pk).update(capacity=1e9)
    members = list(uplink.allocations.values_list("workload__name", flat=True))[:1]
    path = f"resources/{uplink.pk}/pools"

    row = done(program("PUT", path, {"name": "web", "limit": 5e8, "members": members}))
    done(program("DELETE", f"pools/{row['id']}"), 204)

    assert (row["name"], row["unit"], row["members"]) == ("web", "bits_per_s", members)
    assert not Pool.objects.exists()


def test_pool_on_a_datastore_is_refused(fleet: Fleet, program: Program) -> None:
    path = f"resources/{fleet.resources['nfs-07'].pk}/pools"

    assert problem(program("PUT", path, {"name": "web"})) == (409, "refused")


# --- Tiers, rules, planned work


def test_tier_is_stated_and_left_to_rules_again(program: Program) -> None:
    row = Workload.objects.get(name="db-orders")

    high = done(program("PATCH", f"workloads/{row.pk}", {"tier": "high"}))
    again = done(program("PATCH", f"workloads/{row.pk}", {"tier": None}))

    assert (high["tier"], high["is_tier_stated"]) == ("high", True)
    assert (again["tier"], again["is_tier_stated"]) == ("medium", False)


def test_rules_are_replaced_whole_or_not_at_all(fleet: Fleet, program: Program) -> None:
    wrong = program("PUT", "rules", {"text": "no rule at all"})
    done(program("PUT", "rules", {"text": ""}))

    assert problem(wrong) == (409, "refused")
    assert stated_rules(fleet.organisation) == ""
    assert program.read("rules") == {"text": ""}


def test_planned_work_is_stated_and_removed(fleet: Fleet, program: Program) -> None:
    row = done(program("POST", "maintenance-windows", PLANNED | {"resources": ["nfs-07"]}), 201)

    assert program.read(f"maintenance-windows/{row['id']}") == row
    assert row["starts_at"] == "2026-11-20T10:00:00Z"
    done(program("DELETE", f"maintenance-windows/{row['id']}"), 204)
    assert not MaintenanceWindow.objects.exists()


@pytest.mark.parametrize(
    "starts_at", [1_700_000_000, "2026-11-20", "2026-11-20T10:00:00", "tomorrow", None]
)
def test_time_that_is_not_of_rfc_3339_is_refused(program: Program, starts_at: Any) -> None:
    answer = program("POST", "maintenance-windows", PLANNED | {"starts_at": starts_at})

    assert problem(answer) == (422, "invalid")


def test_planned_work_mutes_an_incident_once(fleet: Fleet, program: Program) -> None:
    incident = fleet.resources["nfs-07"].incidents.get()
    path = f"incidents/{incident.pk}/mute"

    first = done(program("POST", path, PLANNED), 201)
    again = program("POST", path, PLANNED)

    window = MaintenanceWindow.objects.get()
    assert first["maintenance_window_id"] == window.pk
    assert [one.name for one in window.resources.all()] == ["nfs-07"]
    assert problem(again) == (409, "refused")


# --- What-if, policies


def test_what_if_changes_nothing_until_its_draft_is_approved(
    fleet: Fleet, program: Program, viewing: Program
) -> None:
    resource = fleet.resources["nfs-07"]
    row = Allocation.objects.get(resource=resource, workload__name="db-orders")
    body = {"grants": [{"allocation_id": row.pk, "shares": 5000}], "hours": 1.0}
    Recommendation.objects.all().delete()
    policies = Policy.objects.count()

    answer = done(viewing("POST", f"resources/{resource.pk}/what-if", body))
    refused = viewing("POST", f"resources/{resource.pk}/what-if/draft", body)
    assert not Recommendation.objects.exists()
    draft = done(program("POST", f"resources/{resource.pk}/what-if/draft", body), 201)

    (mine,) = [one for one in answer["workloads"] if one["workload"] == "db-orders"]
    assert mine["shares_after"] == 5000
    assert problem(refused) == (403, "not_allowed")
    assert Recommendation.objects.get().pk == draft["recommendation_id"]
    assert Policy.objects.count() == policies


def test_what_if_of_an_allocation_elsewhere_is_refused(fleet: Fleet, program: Program) -> None:
    resource = fleet.resources["nfs-07"]
    body = {"grants": [{"allocation_id": 10**12, "shares": 1}]}

    assert problem(program("POST", f"resources/{resource.pk}/what-if", body)) == (409, "refused")


def test_policy_is_rolled_back_by_who_saw_the_newest(fleet: Fleet, program: Program) -> None:
    row = Recommendation.objects.get(topic="policy")
    done(program("POST", f"recommendations/{row.pk}/approve"))
    (first,) = program.read(f"policies?resource_id={row.resource_id}")["items"]
    tag = program("GET", f"policies/{first['id']}")["ETag"]
    path = f"resources/{row.resource_id}/rollback"

    back = done(program("POST", path, {"to_version": 0}, if_match=tag))
    stale = program("POST", path, {"to_version": 1}, if_match=tag)
    again = program("POST", path, {"to_version": 1})

    assert (back["version"], back["allocations"], back["created_by"]) == (2, [], "operator")
    assert problem(stale) == (412, "changed_meanwhile")
    assert done(again)["allocations"] == first["allocations"]
    assert [one["version"] for one in program.read("policies")["items"]][:3] == [3, 2, 1]


# --- Policy as code


def test_exported_file_changes_nothing(program: Program) -> None:
    text = program.read("policy-file")["text"]

    plan = done(program("POST", "policy-file/plan", {"text": text}))

    assert (plan["changes"], plan["is_applied"]) == ([], False)


def test_policy_file_asks_before_it_removes(fleet: Fleet, program: Program) -> None:
    done(program("POST", "maintenance-windows", PLANNED), 201)
    done(program("POST", "maintenance-windows", PLANNED | {"name": "other"}), 201)
    done(program("POST", "maintenance-windows", PLANNED | {"name": "third"}), 201)
    kept = """\
sluice: 1
maintenance:
- {name: other, start: 2026-11-20T10:00, length: 2h}
- {name: third, start: 2026-11-20T10:00, length: 2h}
"""
    nothing = "sluice: 1\nmaintenance: []\n"

    plan = done(program("POST", "policy-file/plan", {"text": kept}))
    asked = program("POST", "policy-file/apply", {"text": kept})
    many = program("POST", "policy-file/apply", {"text": nothing, "may_remove": True})
    applied = done(program("POST", "policy-file/apply", {"text": kept, "may_remove": True}))

    assert (plan["removed"], plan["made"]) == (1, 0)
    assert [problem(one) for one in (asked, many)] == [(409, "refused")] * 2
    assert applied["is_applied"]
    assert sorted(one.name for one in MaintenanceWindow.objects.all()) == ["other", "third"]
    assert AuditEntry.objects.last().action == "apply a policy file"


def test_wrong_policy_file_is_told_by_line(program: Program) -> None:
    answer = program("POST", "policy-file/plan", {"text": "sluice: 1\nodd: 2\n"})

    assert problem(answer) == (409, "refused")
    assert answer.json()["errors"][0]["where"] == "line 2"


# --- What only shows


def test_lists_show_what_pages_show(fleet: Fleet, program: Program) -> None:
    hosts = program.read("hosts?limit=200")["items"]
    resources = program.read("resources?limit=200")["items"]
    status = program.read("status")

    assert {one["name"] for one in hosts} == set(fleet.hosts)
    assert {one["name"] for one in resources} == set(fleet.resources)
    assert {one["resource"] for one in status["resources"]} == set(fleet.resources)
    assert program.read(f"hosts/{hosts[0]['id']}") == hosts[0]
    assert status["exit_status"] == StatusExit.ALARM
    assert "nfs-07" in status["text"]


def test_incident_is_read_with_its_cause(fleet: Fleet, program: Program) -> None:
    (row,) = program.read(f"incidents?resource_id={fleet.resources['nfs-07'].pk}")["items"]

    whole = program.read(f"incidents/{row['id']}")

    assert whole["resource"] == "nfs-07"
    assert whole["text"].startswith("nfs-07 congested from")
    assert program.read("incidents?is_open=true")["items"] == [
        one for one in program.read("incidents")["items"] if one["ended_at"] is None
    ]


def test_audit_takes_an_admin(fleet: Fleet, program: Program) -> None:
    assert problem(program("GET", "audit")) == (403, "not_allowed")
    assert {one["username"] for one in program.read("members")["items"]} == {
        "owner", "operator", "viewer",
    }  # fmt: skip


def test_measurements_are_those_of_the_charts(fleet: Fleet, program: Program) -> None:
    resource = fleet.resources["nfs-07"]
    path = f"resources/{resource.pk}/measurements"

    found = program.read(f"{path}?length_s=3600&points=60&until=2026-11-20T12:00:00Z")
    earlier = program.read(f"{path}?until=2026-01-01T00:00:00%2B02:00&points=2")

    assert (found["since"], found["until"]) == ("2026-11-20T11:00:00Z", "2026-11-20T12:00:00Z")
    assert len(found["times"]) == 3600 // found["step_s"]
    (latency,) = [chart for chart in found["charts"] if chart["key"] == "level"]
    assert latency["unit"] == "ms"
    assert [one["value"] for one in latency["levels"]] == [15.0]
    assert all(len(one["values"]) == len(found["times"]) for one in latency["tracks"])
    assert max(value for value in latency["tracks"][0]["values"] if value is not None) > 15
    assert found["incidents"][0]["ended_at"] is None
    assert earlier["until"] == "2025-12-31T22:00:00Z"
    for kind in ("hosts", "workloads"):
        row = program.read(f"{kind}?limit=1")["items"][0]
        assert program.read(f"{kind}/{row['id']}/measurements")["charts"]


def test_entitlements_name_who_gets_what(fleet: Fleet, program: Program) -> None:
    found = program.read(f"resources/{fleet.resources['nfs-07'].pk}/entitlements")

    orders = found["items"][0]
    assert (orders["workload"], orders["reservation"], orders["role"]) == (
        "db-orders", 1500.0, "37 % below entitlement",
    )  # fmt: skip
    assert 0 < orders["got"] < 1500.0
    assert found["unit"] == "iops"


def test_alarm_budget_is_stated_and_withdrawn(program: Program) -> None:
    stated = done(program("PUT", "alarm-budget", {"alarms_per_week": 3.0}))
    read = program("GET", "alarm-budget")
    gone = done(program("PUT", "alarm-budget", {"alarms_per_week": None}, if_match=read["ETag"]))
    stale = program("PUT", "alarm-budget", {"alarms_per_week": 4.0}, if_match=read["ETag"])

    assert (stated["alarms_per_week"], gone["alarms_per_week"]) == (3.0, None)
    assert problem(stale) == (412, "changed_meanwhile")


def test_members_are_changed_by_who_may(fleet: Fleet, program: Program) -> None:
    owner = program_of(fleet.people.owner, fleet.organisation)
    rows = {one["username"]: one["id"] for one in program.read("members")["items"]}

    refused = program("PATCH", f"members/{rows['viewer']}", {"role": "admin"})
    changed = owner("PATCH", f"members/{rows['viewer']}", {"role": "admin"})
    last = owner("DELETE", f"members/{rows['owner']}")
    # Everybody may leave, and takes their tokens along.
    left = program("DELETE", f"members/{rows['operator']}")

    assert problem(refused) == (403, "not_allowed")
    assert done(changed)["role"] == "admin"
    assert problem(last) == (409, "refused")
    assert left.status_code == 204
    assert problem(program("GET", "me")) == (401, "unauthorized")
    assert owner.read("audit/verification")["broken"] is None
    assert [one["action"] for one in owner.read("audit")["items"]] == [
        "remove member", "change role",
    ]  # fmt: skip


def test_token_knows_as_whom_it_acts(program: Program) -> None:
    assert program.read("me") == {
        "username": "operator", "role": "operator", "organisation": "northgate",
        "scope": "write", "expires_at": None,
    }  # fmt: skip
