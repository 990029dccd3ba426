"""Sluice approves by itself only what a rule lets it, and only what it can answer for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from accounts.actor import COMMAND_LINE
from accounts.models.audit import AuditEntry
from advisor.advice.shared.decide.recommended_allocation import DRAFT
from advisor.core.rollout import PolicyStage
from advisor.decisions.acting import act_on, to_act_on
from advisor.decisions.decide import approve, rollback
from advisor.decisions.recommendation_steps import acknowledge, snooze
from advisor.decisions.rollouts.steer import resume_rollouts, set_terms, stop_rollouts
from advisor.models import (
    Enforcer,
    LadderRule,
    Policy,
    PolicyRollout,
    PredictionScore,
    Recommendation,
    RecommendationChange,
)
from config.database_roles import DatabaseRole
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster, propose
from tests.advisor.scored_predictions import scored
from tests.config.roles import acting_as, make_roles
from tests.locks import wait_for_a_lock

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A proven recommendation, and the rule that lets Sluice approve it."""

    cluster: Cluster
    row: Recommendation
    rule: LadderRule


def make_waiting() -> Waiting:
    cluster = make_cluster()
    scored(cluster, inside=18, outside=2)
    rule = LadderRule.objects.create(
        organisation=cluster.organisation, name="free", level="act", cooldown_s=3600.0,
        most_changes_per_day=3,
    )  # fmt: skip
    return Waiting(cluster=cluster, row=propose(cluster), rule=rule)


@pytest.fixture
def waiting() -> Waiting:
    return make_waiting()


def look(waiting: Waiting) -> Policy | None:
    return act_on(recommendation=waiting.row, now=NOW)


def test_rule_lets_sluice_approve_and_is_told_in_the_audit_chain(waiting: Waiting) -> None:
    policy = look(waiting)

    waiting.row.refresh_from_db()
    assert policy is not None
    assert (policy.created_by, waiting.row.state) == (None, "approved")
    said = 'rule "free" lets Sluice act'
    assert waiting.row.decision_reason == said
    entry = AuditEntry.objects.get(action="approve")
    assert (entry.actor, entry.details) == ("the ladder", {"reason": said, "version": 1})
    step = RecommendationChange.objects.get(step="approved")
    assert (step.actor, step.reason) == ("the ladder", said)
    rollout = PolicyRollout.objects.get()
    assert (rollout.state, rollout.is_watched) == (PolicyStage.ROLLING_OUT, True)


def test_worker_has_the_rights_for_it(waiting: Waiting) -> None:
    make_roles()

    with acting_as(DatabaseRole.WORKER):
        assert [one.pk for one in to_act_on(NOW)] == [waiting.row.pk]
        policy = look(waiting)

    assert policy is not None
    assert Policy.objects.get() == policy


@pytest.mark.parametrize("level", ["", "tell", "recommend", "ask"])
def test_no_other_level_lets_sluice_approve(waiting: Waiting, level: str) -> None:
    LadderRule.objects.filter(pk=waiting.rule.pk).update(level=level)

    assert look(waiting) is None
    assert not to_act_on(NOW).exists()


def _measured(*, inside: int, outside: int) -> Callable[[Waiting], None]:
    """So many rates within the range from 90 to 110, and so many beyond it; 90 % are meant."""

    def state(_: Waiting) -> None:
        score = PredictionScore.objects.get()
        told = score.rates[0]
        score.rates = [told] * inside + [{**told, "measured": 120.0}] * outside
        score.save()

    return state


def _suspected(waiting: Waiting) -> None:
    answer = json.loads(waiting.row.answer)
    answer["allocations"][1]["unsure"] = "0 of 4 calm windows seen"
    Recommendation.objects.filter(pk=waiting.row.pk).update(answer=json.dumps(answer))


def _ask_beside(waiting: Waiting) -> None:
    LadderRule.objects.create(
        organisation=waiting.cluster.organisation, name="calm", resource=waiting.cluster.uplink,
        level="ask",
    )  # fmt: skip


def _rule(**said: Any) -> Callable[[Waiting], None]:
    def state(waiting: Waiting) -> None:
        LadderRule.objects.create(organisation=waiting.cluster.organisation, name="more", **said)

    return state


def _no_agent(_: Waiting) -> None:
    Enforcer.objects.all().delete()


def _no_stages(waiting: Waiting) -> None:
    set_terms(organisation=waiting.cluster.organisation, actor=COMMAND_LINE, now=NOW, staged=False)


def _stopped(waiting: Waiting) -> None:
    stop_rollouts(
        organisation=waiting.cluster.organisation, actor=COMMAND_LINE, reason="", now=NOW
    )


def _acknowledged(waiting: Waiting) -> None:
    acknowledge(recommendation=waiting.row, user=waiting.cluster.people.operator, now=NOW)


def _composed(waiting: Waiting) -> None:
    Recommendation.objects.filter(pk=waiting.row.pk).update(kind=DRAFT)


def _approved_before(waiting: Waiting, *, ago: timedelta = 2 * HOUR) -> None:
    Recommendation.objects.filter(pk=waiting.row.pk).update(subject="later")
    earlier = propose(waiting.cluster, reservation=50 * MBIT)
    approve(recommendation=earlier, user=waiting.cluster.people.owner, now=NOW - ago)


def _just_changed(waiting: Waiting) -> None:
    _approved_before(waiting, ago=HOUR / 2)


def _rolled_back(waiting: Waiting) -> None:
    _approved_before(waiting)
    people = waiting.cluster.people
    rollback(resource=waiting.cluster.uplink, user=people.owner, now=NOW - HOUR)
    PolicyRollout.objects.exclude(state=PolicyStage.ROLLED_BACK).update(state=PolicyStage.IN_FORCE)


REASONS: dict[str, tuple[Callable[[Waiting], None], str]] = {
    "no score": (
        _measured(inside=0, outside=0),
        "unproven: 0 rates on the resource are measured, 20 are needed",
    ),
    "too few": (_measured(inside=19, outside=0), "unproven: 19 rates"),
    "missed": (_measured(inside=21, outside=4), "84% of 25 measured rates .* 90% meant"),
    "suspected": (_suspected, "what becomes of web-2 is only suspected"),
    "ask beside it": (_ask_beside, 'rule "calm": the level is ask'),
    "window": (_rule(windows=["Sat 22:00 6h"]), 'rule "more": changes are made Sat 22:00 6h'),
    "cap": (_rule(most_changes_per_day=0), 'rule "more": 0 changes in 24 h, 0 may be'),
    "two people": (_rule(second_person=True), 'rule "more" asks for two people'),
    "no agent": (_no_agent, "no agent would enforce it on h1"),
    "no stages": (_no_stages, "reach all hosts at once"),
    "stopped": (_stopped, "rollouts are stopped"),
    "acknowledged": (_acknowledged, "a person looks after it"),
    "draft": (_composed, "a person composed it"),
    "under way": (_approved_before, "still on its way to hosts"),
    "cool-down": (_just_changed, 'rule "free": web-3 was changed at'),
    "rolled back": (_rolled_back, "version 1 was rolled back at 2026-11-20 11:00 UTC"),
}


@pytest.mark.parametrize(("speaks_against", "why"), REASONS.values(), ids=list(REASONS))
def test_whatever_speaks_against_it_is_kept_and_nothing_is_approved(
    waiting: Waiting, speaks_against: Callable[[Waiting], None], why: str
) -> None:
    speaks_against(waiting)
    before = Policy.objects.count()

    assert look(waiting) is None

    waiting.row.refresh_from_db()
    assert waiting.row.state != "approved"
    assert Policy.objects.count() == before
    assert re.search(why, waiting.row.act_gap)


def test_what_a_person_put_off_is_left_alone(waiting: Waiting) -> None:
    snooze(
        recommendation=waiting.row, user=waiting.cluster.people.operator, until=NOW + HOUR, now=NOW
    )

    assert look(waiting) is None


def test_what_was_stopped_is_approved_after_it_was_resumed(waiting: Waiting) -> None:
    organisation = waiting.cluster.organisation
    stop_rollouts(organisation=organisation, actor=COMMAND_LINE, reason="", now=NOW)
    assert look(waiting) is None

    resume_rollouts(organisation=organisation, actor=COMMAND_LINE, now=NOW)

    assert look(waiting) is not None


def test_rule_of_another_organisation_lets_nothing_happen(waiting: Waiting) -> None:
    LadderRule.objects.filter(pk=waiting.rule.pk).update(
        organisation=make_cluster("globex").organisation
    )

    assert look(waiting) is None


def test_refusal_of_the_approval_is_kept(waiting: Waiting) -> None:
    waiting.cluster.uplink.attachments.all().delete()

    assert look(waiting) is None

    waiting.row.refresh_from_db()
    assert (waiting.row.state, waiting.row.decided_at) == ("proposed", None)
    assert "h1 has no device that reaches h1/up0" in waiting.row.act_gap


def test_command_says_whether_sluice_acts(waiting: Waiting) -> None:
    def explained() -> str:
        out = StringIO()
        call_command("ladder", "explain", str(waiting.row.pk), organisation="acme", stdout=out)
        return out.getvalue()

    assert "By itself: Yes" in explained()
    _no_stages(waiting)
    assert "By itself: No: its policies reach all hosts at once" in explained()


def alone(act: Callable[[], object]) -> object:
    """On a connection of its own."""
    try:
        return act()
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_of_two_workers_one_approves() -> None:
    waiting = make_waiting()

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: alone(lambda: look(waiting)), range(2)))

    assert sum(one is not None for one in found) == 1
    assert Policy.objects.count() == 1
    assert AuditEntry.objects.filter(action="approve").count() == 1


@pytest.mark.django_db(transaction=True)
def test_person_who_approves_meanwhile_is_first() -> None:
    waiting = make_waiting()
    owner = waiting.cluster.people.owner

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            approve(recommendation=waiting.row, user=owner, now=NOW)
            worker = pool.submit(alone, lambda: look(waiting))
            wait_for_a_lock()
        assert worker.result(timeout=30) is None

    waiting.row.refresh_from_db()
    assert (Policy.objects.get().created_by, waiting.row.act_gap) == (owner, "")


@pytest.mark.django_db(transaction=True)
def test_nothing_begins_beside_a_stop() -> None:
    waiting = make_waiting()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            _stopped(waiting)
            worker = pool.submit(alone, lambda: look(waiting))
            wait_for_a_lock()
        assert worker.result(timeout=30) is None

    assert not Policy.objects.exists()
