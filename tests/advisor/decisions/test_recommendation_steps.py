"""The life of a recommendation: each step by somebody, kept, and claimed by the first."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounts.actor import acting_from
from accounts.models.audit import AuditEntry
from accounts.services.audit import verify
from advisor.decisions.decide import approve, reject
from advisor.decisions.recommendation_steps import LONGEST_SNOOZE, acknowledge, snooze
from advisor.errors import DecisionRefused
from advisor.models import Policy, Recommendation, RecommendationChange, RecommendationState
from advisor.pipeline.recommendation_life import expire_and_wake
from advisor.queries.recommendations import shown_state
from tests.advisor.scenario import NOW, Cluster, make_cluster, propose

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
NAMES = ("owner", "operator")


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def steps(row: Recommendation) -> list[tuple[str, str]]:
    return [(one.step, one.actor) for one in row.changes.order_by("at", "pk")]


def test_each_step_is_kept_with_who_when_from_where_and_why(cluster: Cluster) -> None:
    row, people = propose(cluster), cluster.people
    with acting_from("192.0.2.7"):
        acknowledge(recommendation=row, user=people.operator, now=NOW, reason="on it")
        snooze(recommendation=row, user=people.owner, until=NOW + HOUR, now=NOW + HOUR / 2)
        approve(recommendation=row, user=people.operator, now=NOW + HOUR)

    assert steps(row) == [
        ("acknowledged", "operator"), ("snoozed", "owner"), ("approved", "operator"),
    ]  # fmt: skip
    first = row.changes.order_by("pk")[0]
    assert (first.at, first.address, first.reason) == (NOW, "192.0.2.7", "on it")
    assert row.changes.get(step="snoozed").until == NOW + HOUR
    actions = AuditEntry.objects.order_by("number").values_list("action", flat=True)
    assert list(actions)[-3:] == ["acknowledge", "snooze", "approve"]
    assert verify(cluster.organisation).broken is None


def test_snoozed_one_comes_back_and_can_be_decided_for_a_day(cluster: Cluster) -> None:
    row, until = propose(cluster), NOW + timedelta(days=3)
    snooze(recommendation=row, user=cluster.people.operator, until=until, now=NOW)

    expire_and_wake(now=until - HOUR)
    row.refresh_from_db()
    assert shown_state(row, until - HOUR) == RecommendationState.SNOOZED
    assert not Recommendation.objects.waiting(until - HOUR).exists()

    # Time alone brings it back; the scheduler writes that down.
    assert shown_state(row, until) == RecommendationState.PROPOSED
    assert Recommendation.objects.waiting(until).get() == row
    expire_and_wake(now=until)
    row.refresh_from_db()
    assert row.state == RecommendationState.PROPOSED
    assert steps(row) == [("snoozed", "operator"), ("proposed", "Sluice")]
    approve(recommendation=row, user=cluster.people.owner, now=until + 23 * HOUR)
    assert Policy.objects.count() == 1


@pytest.mark.parametrize("state", [RecommendationState.ACKNOWLEDGED, RecommendationState.PROPOSED])
def test_expired_one_can_no_longer_be_approved(
    cluster: Cluster, state: RecommendationState
) -> None:
    row = propose(cluster)
    if state == RecommendationState.ACKNOWLEDGED:
        acknowledge(recommendation=row, user=cluster.people.operator, now=NOW)
    late = NOW + timedelta(hours=25)

    with pytest.raises(DecisionRefused, match="is expired and can no longer be decided"):
        approve(recommendation=row, user=cluster.people.owner, now=late)

    expire_and_wake(now=late)
    row.refresh_from_db()
    assert row.state == RecommendationState.EXPIRED
    assert steps(row)[-1] == ("expired", "Sluice")


Step = Callable[[Recommendation, Cluster], Any]
STEPS: dict[str, Step] = {
    "acknowledge": lambda row, cluster: acknowledge(
        recommendation=row, user=cluster.people.owner, now=NOW
    ),
    "snooze": lambda row, cluster: snooze(
        recommendation=row, user=cluster.people.owner, until=NOW + HOUR, now=NOW
    ),
    "approve": lambda row, cluster: approve(
        recommendation=row, user=cluster.people.owner, now=NOW
    ),
    "reject": lambda row, cluster: reject(
        recommendation=row, user=cluster.people.owner, reason="no", now=NOW
    ),
}


@pytest.mark.parametrize("step", STEPS)
def test_who_comes_second_is_told_who_was_first_and_when(cluster: Cluster, step: str) -> None:
    row = propose(cluster)
    stale = Recommendation.objects.get(pk=row.pk)
    reject(recommendation=row, user=cluster.people.operator, reason="mine", now=NOW)

    with pytest.raises(DecisionRefused, match="operator did that at 2026-11-20 12:00:00 UTC"):
        STEPS[step](stale, cluster)

    assert steps(row) == [("rejected", "operator")]


@pytest.mark.django_db(transaction=True)
def test_of_two_who_decide_at_once_one_wins(cluster: Cluster) -> None:
    row, people = propose(cluster), cluster.people

    def decided(of: str) -> str:
        mine = Recommendation.objects.get(pk=row.pk)
        try:
            approve(recommendation=mine, user=getattr(people, of), now=NOW)
        except DecisionRefused as refused:
            return str(refused)
        finally:
            connection.close()
        return "won"

    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(NAMES, pool.map(decided, NAMES), strict=True))

    winner = next(name for name, said in found.items() if said == "won")
    loser = next(said for said in found.values() if said != "won")
    assert f"is approved and can no longer be decided: {winner} did that at 2026" in loser
    assert Policy.objects.count() == 1
    assert RecommendationChange.objects.count() == 1


@pytest.mark.parametrize(
    ("until", "why"),
    [(NOW, "is over"), (NOW + LONGEST_SNOOZE + HOUR, "for 30 days at most")],
)
def test_snooze_without_an_end_that_makes_sense_is_refused(
    cluster: Cluster, until: Any, why: str
) -> None:
    row = propose(cluster)

    with pytest.raises(DecisionRefused, match=why):
        snooze(recommendation=row, user=cluster.people.operator, until=until, now=NOW)


@pytest.mark.parametrize("name", ["viewer", "outsider"])
@pytest.mark.parametrize("step", ["acknowledge", "snooze"])
def test_step_without_the_role_is_refused(cluster: Cluster, name: str, step: str) -> None:
    row, user = propose(cluster), getattr(cluster.people, name)
    arguments = {"until": NOW + HOUR} if step == "snooze" else {}

    with pytest.raises(DecisionRefused, match="may not decide"):
        {"acknowledge": acknowledge, "snooze": snooze}[step](
            recommendation=row, user=user, now=NOW, **arguments
        )

    assert not RecommendationChange.objects.exists()


@pytest.mark.parametrize(
    ("state", "at"),
    [
        ("proposed", NOW), ("acknowledged", NOW), ("snoozed", NOW),
        ("expired", NOW + timedelta(days=5)),
    ],
)  # fmt: skip
def test_list_of_a_state_has_what_is_shown_as_of_it(cluster: Cluster, state: str, at: Any) -> None:
    row = propose(cluster)
    if state == "acknowledged":
        acknowledge(recommendation=row, user=cluster.people.owner, now=NOW)
    if state == "snoozed":
        snooze(recommendation=row, user=cluster.people.owner, until=NOW + HOUR, now=NOW)
    row.refresh_from_db()

    shown_in = [
        one for one in RecommendationState.values if Recommendation.objects.in_state(one, at)
    ]

    assert shown_in == [state] == [shown_state(row, at)]
