"""The page of what holds where says state, versions, reason and one thing to do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from advisor.core.compliance import Verdict
from advisor.history.policy_state import policy_state
from advisor.models import Allocation, Attachment, ComplianceRecord, Enforcer
from enforcers.contract import Outcome
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of
from tests.web.scenario import GBIT
from tests.web.test_tables import column, exported, names

RATES = {"web-shop": 3.6 * GBIT, "mail-1": 1.1 * GBIT, "backup-7": 3.2 * GBIT}


def change_newest(workload: str, **values: object) -> None:
    newest = ComplianceRecord.objects.filter(workload__name=workload).order_by("-reported_at")[0]
    ComplianceRecord.objects.filter(pk=newest.pk).update(**values)


def row(client: Client, workload: str) -> dict[str, str]:
    (found,) = exported(client, "/enforcement/", q=workload)
    return found


def test_all_that_holds_says_so(viewer: Client) -> None:
    page = page_of(viewer.get("/enforcement/"))

    assert page.text("h1") == "All 3 allocations hold"
    assert names(page) == ["backup-7", "mail-1", "web-shop"]
    assert set(column(page, "State")) == {"holds"}
    assert page.links()["mail-1"].startswith("/workloads/")
    assert page.links()["kvm-02"].startswith("/hosts/")
    assert page.links()["kvm-02/eno1"].startswith("/resources/")


def test_row_has_versions_wanted_applied_and_read_back(viewer: Client) -> None:
    found = row(viewer, "mail-1")

    assert [found[name] for name in ("Version wanted", "Applied", "Read back")] == ["1", "1", "1"]
    assert found["Outcome"] == "unchanged"
    assert (found["Why"], found["What to do"]) == ("", "")


@pytest.mark.parametrize(
    ("change", "why", "step"),
    [
        (
            {"outcome": Outcome.UNSUPPORTED, "reason": "no HTB", "applied": None},
            "no HTB",
            "sluice-enforcer doctor, on the host, shows what it can enforce",
        ),
        (
            {"read_back": {"reservation": 0.0, "limit": 5e9, "shares": 1000}},
            "the kernel shows limit 5.00 Gbit/s, applied was no limit",
            "Find what else on the host writes these settings",
        ),
        (
            {"verdict": Verdict.RESERVATION_UNMET, "verdict_reason": "got 1, below 2"},
            "got 1, below 2",
            "See on the resource who takes the rest",
        ),
        (
            {"applied": None, "reason": "planned alone"},
            "planned alone",
            "sluice-enforcer doctor, on the host, shows what it can enforce",
        ),
    ],
    ids=["not supported", "read back otherwise", "measured otherwise", "not applied"],
)
def test_allocation_that_does_not_hold_says_why_and_what_to_do(
    viewer: Client, fleet: Fleet, change: dict[str, object], why: str, step: str
) -> None:
    change_newest("mail-1", **change)

    found = row(viewer, "mail-1")

    assert found["State"] == "does not hold"
    assert found["Why"] == why
    assert found["What to do"] == step


def test_what_was_put_right_holds_and_says_that_somebody_changes_it(
    viewer: Client, fleet: Fleet
) -> None:
    change_newest("mail-1", outcome=Outcome.DRIFTED, reason="ceil was 5 Gbit/s")

    found = row(viewer, "mail-1")

    assert (found["State"], found["Why"]) == ("put right", "ceil was 5 Gbit/s")
    assert found["What to do"] == "Find what else on the host writes these settings"
    assert page_of(viewer.get("/enforcement/")).text("h1") == "All 3 allocations hold"


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"outcome": Outcome.DRIFTED, "reason": "ceil was 5 Gbit/s"},
        {"outcome": Outcome.REPLACED},
        {"outcome": Outcome.UNSUPPORTED, "applied": None},
        {"outcome": Outcome.FAILED, "applied": None},
        {"outcome": Outcome.INEFFECTIVE},
        {"applied": None},
        {"read_back": {"reservation": 0.0, "limit": 5e9, "shares": 1000}},
    ],
    ids=["as ever", "drifted", "replaced", "not supported", "failed", "ineffective",
         "not applied", "read back otherwise"],
)  # fmt: skip
def test_list_and_the_state_of_the_policy_agree_on_what_is_in_force(
    viewer: Client, fleet: Fleet, change: dict[str, object]
) -> None:
    change_newest("mail-1", **change)
    policy = fleet.resources["kvm-02/eno1"].policies.get()

    in_force = policy_state(policy, now=fleet.now).allocations

    allocations = Allocation.objects.filter(pk__in=in_force)
    listed = exported(viewer, "/enforcement/")
    assert set(allocations.values_list("workload__name", flat=True)) == {
        one["Workload"] for one in listed if one["State"] in ("holds", "put right")
    }


def test_controls_that_differ_are_told_apart(viewer: Client, fleet: Fleet) -> None:
    controls = {
        "reservation": {"outcome": "unchanged", "reason": "as wanted"},
        "limit": {"outcome": "unchanged", "reason": "as wanted"},
        "shares": {"outcome": "ineffective", "reason": "no iocost"},
    }
    change_newest("mail-1", outcome="ineffective", reason="no iocost", controls=controls)

    assert row(viewer, "mail-1")["Outcome"] == (
        "reservation unchanged, limit unchanged, shares ineffective"
    )


def test_what_does_not_hold_stands_first_and_is_one_click_away(
    viewer: Client, fleet: Fleet
) -> None:
    change_newest("web-shop", outcome=Outcome.FAILED, reason="no HTB", applied=None)

    page = page_of(viewer.get("/enforcement/"))
    some = page_of(viewer.get("/enforcement/", {"state": "does not hold"}))

    assert page.text("h1") == "2 of 3 allocations hold"
    assert names(page)[0] == "web-shop"
    assert page.links()["does not hold 1"] == "?state=does%20not%20hold"
    assert names(some) == ["web-shop"]


@pytest.mark.parametrize(
    ("change", "state", "why"),
    [
        ({"last_report_at": timedelta(minutes=20)}, "silent", "the agent does not report"),
        ({"last_report_at": None}, "waiting", "the agent is enrolled and has not reported yet"),
        ({"refusal": "a bad signature"}, "does not hold", "refuses the newest policy: a bad"),
        ({"dry_run": True}, "dry run", "nothing is written"),
        ({"applied_revision": 0}, "does not hold", "holds revision 0, 1 is published"),
    ],
    ids=["silent", "never reported", "refuses", "dry run", "behind"],
)
def test_what_an_agent_does_shows_on_each_of_its_rows(
    viewer: Client, fleet: Fleet, change: dict[str, object], state: str, why: str
) -> None:
    values = {
        name: fleet.now - value if isinstance(value, timedelta) else value
        for name, value in change.items()
    }
    Enforcer.objects.filter(host__name="kvm-02").update(**values)

    found = row(viewer, "mail-1")

    assert found["State"] == state
    assert why in found["Why"]


def test_host_without_an_agent_leads_to_connecting_it(viewer: Client, fleet: Fleet) -> None:
    Enforcer.objects.filter(host__name="kvm-02").delete()

    assert row(viewer, "mail-1")["State"] == "no agent"
    assert row(viewer, "mail-1")["What to do"] == "Connect the agent of the host"


def test_what_is_not_published_says_why(viewer: Client, fleet: Fleet) -> None:
    host = fleet.hosts["kvm-02"]
    host.documents.update(content={"resources": [], "allocations": []})
    Attachment.objects.filter(host=host, resource=fleet.resources["kvm-02/eno1"]).delete()

    found = row(viewer, "mail-1")

    assert found["State"] == "does not hold"
    assert found["Why"].startswith("kvm-02 has no device that reaches kvm-02/eno1")


def test_what_no_mechanism_enforces_says_so(viewer: Client, fleet: Fleet) -> None:
    left_out = [{"what": "kvm-02/eno1", "reason": "no mechanism of its agent enforces it"}]
    content = {"resources": [], "allocations": [], "left_out": left_out}
    fleet.hosts["kvm-02"].documents.update(content=content)

    assert row(viewer, "mail-1")["Why"] == "no mechanism of its agent enforces it"


def test_beginning_of_a_state_is_that_of_the_last_other_report(
    viewer: Client, fleet: Fleet
) -> None:
    reports = ComplianceRecord.objects.filter(workload__name="mail-1").order_by("-reported_at")
    # Of one a minute the last two: it holds since the one before them was read.
    reports.filter(pk__in=[one.pk for one in reports[2:]]).update(outcome=Outcome.DRIFTED)

    page = page_of(viewer.get("/enforcement/", {"q": "mail-1"}))

    assert column(page, "Since") == ["2 min ago"]


def test_state_begins_with_its_policy_at_the_earliest(viewer: Client) -> None:
    # Approved 4 h 20 min ago, and all reports since agree.
    page = page_of(viewer.get("/enforcement/", {"q": "mail-1"}))

    assert column(page, "Since") == ["4 h 20 min ago"]


def test_state_that_is_older_than_is_looked_back_says_so(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("advisor.queries.enforcement_since", "web.tables.enforcement"):
        monkeypatch.setattr(f"{place}.LOOKED_BACK", timedelta(hours=2))

    page = page_of(viewer.get("/enforcement/", {"q": "mail-1"}))

    assert column(page, "Since") == ["over 2 h"]


def test_list_is_that_of_the_organisation(viewer: Client, outsider: Client) -> None:
    assert "mail-1" not in outsider.get("/enforcement/").content.decode()
    assert page_of(outsider.get("/enforcement/")).text("h1") == "Nothing is enforced yet"


def test_fleet_without_a_policy_leads_to_recommendations(nothing_yet: Fleet) -> None:
    page = page_of(client_of(nothing_yet.people.owner).get("/enforcement/"))

    assert page.links()["See recommendations"] == "/recommendations/"


def test_hosts_lead_to_what_holds_on_them(viewer: Client, fleet: Fleet) -> None:
    page = page_of(viewer.get(f"/hosts/{fleet.hosts['kvm-02'].pk}/"))

    assert page.links()["What holds now"] == "/enforcement/?host=kvm-02"
    assert page_of(viewer.get("/hosts/")).links()["What holds where"] == "/enforcement/"
