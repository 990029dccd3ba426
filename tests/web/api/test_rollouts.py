"""Rollouts and the ladder through the API."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEntry, Organisation
from advisor.decisions.rollouts.begin import terms_of
from advisor.models import LadderRule, PolicyRollout, Recommendation
from tests.web.api.asking import Program, program_of
from tests.web.api.test_door import problem
from tests.web.api.test_stated import done
from tests.web.fleet import Fleet

FREEZE = {"frozen_from": "2026-12-20T00:00:00+01:00", "frozen_until": "2027-01-02T00:00:00Z"}


@pytest.fixture
def rollout(fleet: Fleet, program: Program) -> PolicyRollout:
    """Of the policy that the operator approved."""
    done(
        program("POST", f"recommendations/{Recommendation.objects.get(topic='policy').pk}/approve")
    )
    return PolicyRollout.objects.get()


def test_rollout_is_listed_and_read(
    fleet: Fleet, program: Program, rollout: PolicyRollout
) -> None:
    (listed,) = program.read("rollouts")["items"]
    resource = fleet.resources["nfs-07"]

    assert listed == program.read(f"rollouts/{rollout.pk}")
    assert (listed["resource"], listed["version"], listed["state"]) == ("nfs-07", 1, "rolling_out")
    assert (listed["stage"], listed["stages"]) == (1, len(rollout.sizes))
    hosts = {one.host.name for one in rollout.hosts.all()}
    assert {*listed["hosts"], *listed["later_hosts"]} == hosts
    assert len(listed["hosts"]) == rollout.sizes[0]
    assert program.read(f"rollouts?resource_id={resource.pk}&state=rolling_out")["items"]
    assert program.read("rollouts?state=verified")["items"] == []


def test_rollout_goes_on_for_who_saw_its_stage(program: Program, rollout: PolicyRollout) -> None:
    path = f"rollouts/{rollout.pk}"
    tag = program("GET", path)["ETag"]

    went = done(program("POST", f"{path}/go-on", if_match=tag))
    stale = program("POST", f"{path}/go-on", if_match=tag)

    assert went["stage"] == 2
    assert problem(stale) == (412, "changed_meanwhile")


def test_all_rollouts_are_stopped_and_resumed(program: Program, rollout: PolicyRollout) -> None:
    organisation = rollout.organisation
    tag = program("GET", "rollout-terms")["ETag"]

    stopped = done(program("POST", "rollout-terms/stop", {"reason": "san down"}, if_match=tag))
    held = program("POST", f"rollouts/{rollout.pk}/go-on")
    again = program("POST", "rollout-terms/stop", {}, if_match=tag)
    resumed = done(program("POST", "rollout-terms/resume"))

    assert (stopped["stopped_by"], stopped["stop_reason"]) == ("operator", "san down")
    assert problem(held) == (409, "refused")
    assert problem(again) == (412, "changed_meanwhile")
    assert (resumed["stopped_at"], resumed["stop_reason"]) == (None, "")
    assert terms_of(organisation).stopped_at is None
    assert [one.action for one in AuditEntry.objects.order_by("number")][-2:] == [
        "stop rollouts", "resume rollouts",
    ]  # fmt: skip


def test_terms_are_changed_and_what_is_left_out_stays(program: Program) -> None:
    before = program.read("rollout-terms")

    changed = done(program("PATCH", "rollout-terms", {"stage_s": 60.0, "goes_on_unsure": True}))
    wrong = program("PATCH", "rollout-terms", {"longest_s": 30.0})

    assert changed == before | {"stage_s": 60.0, "goes_on_unsure": True}
    assert problem(wrong) == (409, "refused")
    assert program.read("rollout-terms") == changed


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "rollout-terms/stop", {}),
        ("POST", "rollout-terms/resume", None),
        ("PATCH", "rollout-terms", {"staged": False}),
        ("PUT", "ladder-rules", {"name": "a"}),
    ],
)
def test_viewer_changes_nothing(viewing: Program, method: str, path: str, body: Any) -> None:
    assert problem(viewing(method, path, body)) == (403, "not_allowed")
    assert not LadderRule.objects.exists()


@pytest.fixture
def ruling(fleet: Fleet) -> Program:
    """Of the owner, for rules take an admin."""
    return program_of(fleet.people.owner, fleet.organisation)


def test_rule_is_stated_changed_and_removed(fleet: Fleet, ruling: Program) -> None:
    resource = fleet.resources["nfs-07"]
    body = {
        "name": "christmas", "resource_id": resource.pk, "tier": "high", "kind": "policy",
        "level": "tell", "windows": ["Sat 22:00 6h"], "zone": "Europe/Berlin",
        "frozen_because": "sales", "cooldown_s": 3600.0, "most_changes_per_day": 2,
        "second_person": True, **FREEZE,
    }  # fmt: skip

    made = done(ruling("PUT", "ladder-rules", body))
    path = f"ladder-rules/{made['id']}"
    tag = ruling("GET", path)["ETag"]
    less = done(
        ruling("PUT", "ladder-rules", {"name": "christmas", "second_person": True}, if_match=tag)
    )
    stale = ruling("PUT", "ladder-rules", body, if_match=tag)
    listed = ruling.read("ladder-rules")["items"]
    gone = ruling("DELETE", path)

    assert made["resource"] == "nfs-07"
    assert {name: made[name] for name in body} == body | {"frozen_from": "2026-12-19T23:00:00Z"}
    assert {less[name] for name in ("resource", "tier", "kind", "level", "cooldown_s")} == {None}
    assert problem(stale) == (412, "changed_meanwhile")
    assert (listed, gone.status_code) == ([less], 204)
    assert not LadderRule.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"windows": ["some day"]}, "some day"),
        ({"zone": "Mars/Base"}, "Mars/Base"),
        ({"kind": "magic"}, 'no kind of advice "magic"'),
        ({"frozen_from": FREEZE["frozen_from"]}, "a begin and an end"),
        (FREEZE, "a freeze needs a reason"),
        ({"cooldown_s": 0.0}, "a cool-down is longer than nothing"),
    ],
)
def test_rule_that_cannot_be_is_refused(ruling: Program, wrong: dict[str, Any], why: str) -> None:
    answer = ruling("PUT", "ladder-rules", {"name": "a", **wrong})

    assert problem(answer) == (409, "refused")
    assert why in answer.json()["detail"]
    assert not LadderRule.objects.exists()


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        ({"windows": ["Sat 22:00 6h"] * 20}, {"windows": ["Sat 22:00 6h"] * 21}),
        ({"cooldown_s": 0.5}, {"cooldown_s": 0.0}),
        ({"cooldown_s": 366 * 86_400.0}, {"cooldown_s": 367 * 86_400.0}),
        ({"most_changes_per_day": 100_000}, {"most_changes_per_day": 100_001}),
        ({"most_changes_per_day": 0}, {"most_changes_per_day": -1}),
    ],
)
def test_bounds_of_a_rule_are_those_of_its_page(
    ruling: Program, within: dict[str, Any], beyond: dict[str, Any]
) -> None:
    assert done(ruling("PUT", "ladder-rules", {"name": "a", **within}))

    # What the schema cannot say the rule itself refuses, in words.
    assert ruling("PUT", "ladder-rules", {"name": "b", **beyond}).status_code in (409, 422)


def test_operator_states_no_rule(program: Program) -> None:
    answer = program("PUT", "ladder-rules", {"name": "a", "level": "tell"})

    assert problem(answer) == (403, "not_allowed")
    assert not LadderRule.objects.exists()


def test_rule_of_a_resource_elsewhere_is_refused(fleet: Fleet, foreign: Program) -> None:
    body = {"name": "a", "resource_id": fleet.resources["nfs-07"].pk}

    assert problem(foreign("PUT", "ladder-rules", body)) == (404, "not_found")


def test_strangers_see_neither_rules_nor_rollouts(
    ruling: Program, foreign: Program, rollout: PolicyRollout
) -> None:
    rule = done(ruling("PUT", "ladder-rules", {"name": "a", "level": "tell"}))
    done(ruling("POST", "rollout-terms/stop", {"reason": "ours"}))

    assert foreign.read("rollouts")["items"] == foreign.read("ladder-rules")["items"] == []
    assert foreign.read("rollout-terms")["stopped_at"] is None
    for path in (f"rollouts/{rollout.pk}", f"ladder-rules/{rule['id']}"):
        assert problem(foreign("GET", path)) == (404, "not_found")
    assert problem(foreign("POST", f"rollouts/{rollout.pk}/go-on")) == (404, "not_found")
    assert Organisation.objects.count() == 2
