"""A policy comes to four hosts in stages, and one that starves the high tier is taken back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from advisor.core.rollout import PolicyStage
from advisor.decisions.rollouts.steer import set_terms
from advisor.history.policy_state import policy_state
from advisor.models import Policy, PolicyChange, PolicyRollout, PredictionScore
from tests.testbed.conftest import Laboratory, wait_for
from tests.testbed.rollout.fleet import HOSTS, MBIT, Site, site

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.timeout(400),
]

STAGE_S = 30.0
BEFORE_S = 15
AWAY_S = 8
STARVED = 0.5 * MBIT


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the kernels had in each stage, and what was kept of it.

    `found` is what was set on the hosts before, `settled` with the first policy on all of them,
    and `restored` after the second one was taken back. `away` are the hosts that had the policy
    at the end of a time without the service.
    """

    found: dict[str, str]
    stages: dict[int, tuple[str, ...]]
    away: tuple[str, ...]
    verified: PolicyRollout
    settled: dict[str, str]
    starved: dict[str, float | None]
    harmful: PolicyRollout
    restored: dict[str, str]
    is_in_force: bool


@pytest.fixture(scope="module")
def seen(laboratory: Laboratory) -> Iterator[Seen]:
    with site(laboratory) as built:
        # Rates settle at once on a link of this kind, and a test has no five minutes.
        set_terms(
            organisation=built.uplink.organisation,
            actor=COMMAND_LINE,
            now=timezone.now(),
            stage_s=STAGE_S,
            settle_s=5,
        )
        yield play(built)


def play(built: Site) -> Seen:
    found = {name: built.kernel(name) for name in HOSTS}
    time.sleep(BEFORE_S)
    good = built.approve(high_limit=None, shares=(4000, 1000))
    stages: dict[int, tuple[str, ...]] = {}

    def comes_to(state: PolicyStage, rollout: PolicyRollout) -> Callable[[], bool]:
        def holds() -> bool:
            built.look()
            rollout.refresh_from_db()
            if rollout.settled_at is not None:
                stages.setdefault(rollout.stage, built.shaped())
            return rollout.state == state

        return holds

    await_(built, lambda: comes_to(PolicyStage.VERIFIED, good)() or 1 in stages, "two stages")
    built.laboratory.server.stop()
    time.sleep(AWAY_S)
    away = built.shaped()
    built.laboratory.server.start()
    await_(built, comes_to(PolicyStage.VERIFIED, good), "verified")
    settled = {name: built.kernel(name) for name in HOSTS}

    harmful = built.approve(high_limit=STARVED, shares=(4000, 1000))
    during: list[dict[str, float | None]] = []

    def is_taken_back() -> bool:
        built.look()
        harmful.refresh_from_db()
        if harmful.settled_at is not None and harmful.state == PolicyStage.ROLLING_OUT:
            during.append(built.high_limits())
        return harmful.state == PolicyStage.ROLLED_BACK

    await_(built, is_taken_back, "rolled back")
    newest = Policy.objects.get(resource=built.uplink, version=3)

    def is_restored() -> bool:
        built.look()
        return policy_state(newest, now=timezone.now()).is_in_force

    await_(built, is_restored, "the former policy in force again")
    return Seen(
        found=found,
        stages=stages,
        away=away,
        verified=good,
        settled=settled,
        starved=during[-1],
        harmful=harmful,
        restored={name: built.kernel(name) for name in HOSTS},
        is_in_force=policy_state(newest, now=timezone.now()).is_in_force,
    )


def await_(built: Site, holds: Callable[[], bool], what: str) -> None:
    log = built.laboratory.folder / HOSTS[0] / "agent.log"
    wait_for(holds, what=what, or_show=log, deadline_s=150)


def test_first_one_host_has_it_then_two_then_all(seen: Seen) -> None:
    assert seen.stages == {0: HOSTS[:1], 1: HOSTS[:2], 2: HOSTS}


def test_changes_are_kept_up_to_the_measured_effect(seen: Seen) -> None:
    changes = PolicyChange.objects.filter(policy=seen.verified.policy)
    score = PredictionScore.objects.get(recommendation=seen.verified.policy.recommendation)

    assert [(one.state, one.stage) for one in changes] == [
        ("rolling_out", 0), ("rolling_out", 1), ("rolling_out", 2),
        ("in_force", 2), ("in_force", 2), ("verified", 2), ("superseded", 2),
    ]  # fmt: skip
    first, second, last = (one.at for one in changes[:3])
    assert second - first >= timedelta(seconds=STAGE_S)
    assert last - second >= timedelta(seconds=STAGE_S)
    assert score.held


def test_hosts_keep_what_they_have_while_the_service_is_away(seen: Seen) -> None:
    assert seen.away == HOSTS[:2]


def test_policy_that_starves_the_high_tier_is_on_one_host_only(seen: Seen) -> None:
    limits = [limit for limit in seen.starved.values() if limit is not None]

    assert len(limits) == len(HOSTS)
    assert sum(limit <= 2 * STARVED / MBIT for limit in limits) == 1
    assert seen.starved["r1"] == min(limits)


def test_guard_takes_it_back_and_says_why(seen: Seen) -> None:
    change = PolicyChange.objects.filter(policy=seen.harmful.policy).last()

    assert change is not None
    assert (change.state, change.stage, change.who) == ("rolled_back", 0, "the rollout")
    assert "% worse" in change.why
    assert "against hosts that do not have it yet" in change.why


def test_kernel_is_as_before_the_harm(seen: Seen) -> None:
    assert seen.is_in_force
    assert seen.restored == seen.settled
    assert all(seen.settled[name] != seen.found[name] for name in HOSTS)
