"""What is advised and decided through the API is what pages show and do."""

from __future__ import annotations

import pytest

from accounts.models import AuditEntry, Scope
from advisor.models import Policy, Recommendation, RecommendationState
from tests.web.api.asking import Program, program_of
from tests.web.fleet import Fleet


@pytest.fixture
def proposed(fleet: Fleet) -> Recommendation:
    """The open advice on shares, reservations and limits."""
    return Recommendation.objects.get(topic="policy", state=RecommendationState.PROPOSED)


def test_recommendations_are_listed_newest_first_in_pages(
    fleet: Fleet, program: Program, proposed: Recommendation
) -> None:
    Recommendation.objects.create(
        **{
            name: getattr(proposed, name)
            for name in ("organisation", "resource", "kind", "inputs", "answer", "created_at")
        },
        state=RecommendationState.REJECTED, summary="an earlier one", expires_at=fleet.now,
    )  # fmt: skip
    everything = program.read("recommendations")["items"]

    found, cursor = [], ""
    while cursor is not None:
        page = program.read(f"recommendations?limit=1{cursor and f'&cursor={cursor}'}")
        found += page["items"]
        cursor = page["next_cursor"]

    assert found == everything
    assert [row["id"] for row in found] == list(
        Recommendation.objects.order_by("-pk").values_list("pk", flat=True)
    )
    assert len(found) == 2


@pytest.mark.parametrize("state", RecommendationState)
def test_recommendations_are_filtered_by_the_state_that_is_shown(
    fleet: Fleet, program: Program, state: RecommendationState
) -> None:
    Recommendation.objects.filter(topic="policy").update(expires_at=fleet.now)
    everything = program.read("recommendations")["items"]

    found = program.read(f"recommendations?state={state}")["items"]

    assert found == [row for row in everything if row["state"] == state]


def test_recommendation_is_read_with_its_reasons(
    program: Program, proposed: Recommendation
) -> None:
    row = program.read(f"recommendations/{proposed.pk}")

    assert (row["summary"], row["state"]) == (proposed.summary, "proposed")
    assert row["text"].startswith(proposed.summary)
    assert {one["workload"] for one in row["effects"]} >= {"db-orders"}


def test_approval_makes_a_policy_as_its_person(
    fleet: Fleet, program: Program, proposed: Recommendation
) -> None:
    answer = program("POST", f"recommendations/{proposed.pk}/approve")

    policy = Policy.objects.get(recommendation=proposed)
    assert answer.status_code == 200
    assert (answer.json()["version"], answer.json()["state"]) == (policy.version, "approved")
    assert policy.created_by == fleet.people.operator
    assert AuditEntry.objects.get(action="approve").actor == "operator"


def test_rejection_needs_a_reason_and_keeps_it(program: Program, proposed: Recommendation) -> None:
    without = program("POST", f"recommendations/{proposed.pk}/reject", {"reason": ""})
    answer = program("POST", f"recommendations/{proposed.pk}/reject", {"reason": "not now"})

    assert (without.status_code, answer.status_code) == (422, 200)
    row = program.read(f"recommendations/{proposed.pk}")
    assert (row["state"], row["decision_reason"], row["decided_by"]) == (
        "rejected", "not now", "operator",
    )  # fmt: skip


def test_second_decision_is_a_conflict(program: Program, proposed: Recommendation) -> None:
    program("POST", f"recommendations/{proposed.pk}/approve")

    again = program("POST", f"recommendations/{proposed.pk}/reject", {"reason": "late"})

    assert (again.status_code, again.json()["code"]) == (409, "refused")
    assert "is approved and can no longer be decided" in again.json()["detail"]


def test_decision_on_what_changed_meanwhile_is_refused(
    program: Program, proposed: Recommendation
) -> None:
    seen = program("GET", f"recommendations/{proposed.pk}")["ETag"]
    path = f"recommendations/{proposed.pk}/approve"

    stale = program("POST", path, if_match='"another"')
    matching = program("POST", path, if_match=seen)

    assert (stale.status_code, stale["ETag"]) == (412, seen)
    assert matching.status_code == 200
    assert matching["ETag"] != seen


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_who_only_reads_decides_nothing(
    fleet: Fleet, viewing: Program, proposed: Recommendation, verb: str
) -> None:
    reading = program_of(fleet.people.operator, fleet.organisation, Scope.READ)
    path, body = f"recommendations/{proposed.pk}/{verb}", {"reason": "no"}

    assert viewing("POST", path, body).json()["code"] == "not_allowed"
    assert reading("POST", path, body).json()["code"] == "forbidden"
    proposed.refresh_from_db()
    assert proposed.state == "proposed"


def test_recommendation_of_others_is_not_there(foreign: Program, proposed: Recommendation) -> None:
    statuses = [
        foreign("GET", f"recommendations/{proposed.pk}").status_code,
        foreign("POST", f"recommendations/{proposed.pk}/approve").status_code,
    ]

    assert statuses == [404, 404]
    assert foreign.read("recommendations")["items"] == []
