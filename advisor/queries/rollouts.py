"""What pages and commands show of rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from accounts.models import Organisation
from advisor.core.duration import duration_text
from advisor.core.rollout import PolicyStage
from advisor.models import Policy, PolicyChange, PolicyRollout, RolloutTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardLine:
    """What one guard says; percentages are of what it was before, None is not measured."""

    name: str
    verdict: str
    worse_percent: float | None
    low_percent: float | None
    high_percent: float | None
    against: str
    windows: int
    gap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutView:
    """Where a policy version stands; `left` None where the stage has not begun or is over.

    `is_open` while hosts or the guard still wait for something.
    """

    rollout: PolicyRollout
    state: str
    stage: int
    stages: int
    hosts: tuple[str, ...]
    later: tuple[str, ...]
    guards: tuple[GuardLine, ...]
    left: timedelta | None
    former_version: int
    is_open: bool
    changes: tuple[PolicyChange, ...]

    @property
    def left_text(self) -> str:
        return "" if self.left is None else duration_text(self.left)


def rollout_view(
    policy: Policy | None, terms: RolloutTerms, *, now: datetime
) -> RolloutView | None:
    """That of a version; None for one that reached all hosts before there were stages."""
    rollout: PolicyRollout | None = getattr(policy, "rollout", None)
    if rollout is None:
        return None
    hosts = [(one.host.name, one.released_at) for one in rollout.hosts.select_related("host")]
    state = PolicyStage(rollout.state)
    return RolloutView(
        rollout=rollout,
        state=state.words,
        stage=rollout.stage + 1,
        stages=len(rollout.sizes),
        hosts=tuple(name for name, at in hosts if at is not None),
        later=tuple(name for name, at in hosts if at is None),
        guards=tuple(map(_guard_line, rollout.guards)),
        left=_left(rollout, terms, now),
        former_version=rollout.former.version if rollout.former else 0,
        is_open=not state.is_over and (state is PolicyStage.ROLLING_OUT or rollout.is_watched),
        changes=tuple(rollout.policy.changes.all()),
    )


def _guard_line(plain: dict[str, Any]) -> GuardLine:
    def percent(name: str) -> float | None:
        value = plain[name]
        return None if value is None else 100 * value

    return GuardLine(
        name=plain["guard"],
        verdict=plain["verdict"],
        worse_percent=percent("worse"),
        low_percent=percent("low"),
        high_percent=percent("high"),
        against=plain["against"],
        windows=plain["windows"],
        gap=plain["gap"],
    )


def _left(rollout: PolicyRollout, terms: RolloutTerms, now: datetime) -> timedelta | None:
    """Until the stage has lasted as long as it has to at least."""
    if rollout.settled_at is None or not rollout.is_watched:
        return None
    length = timedelta(seconds=terms.stage_s)
    return max(rollout.settled_at + length - now, timedelta(0))


def rollouts_under_way(organisation: Organisation) -> Sequence[PolicyRollout]:
    """Those that only some hosts have, or that are not in force everywhere yet; by resource."""
    rows = PolicyRollout.objects.filter(
        organisation=organisation, state=PolicyStage.ROLLING_OUT
    ).select_related("policy__resource", "former")
    return list(rows.order_by("policy__resource__name"))
