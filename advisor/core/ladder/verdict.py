"""What the ladder lets happen with a piece of advice: the most conservative rule wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from advisor.core.ladder.rule import DEFAULT, LadderRule, Level
from advisor.core.resource import Tier
from advisor.core.weekly_window import opens_at

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """A workload that a change affects."""

    workload: str
    tier: Tier | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change on a resource by advice of a kind: one that is wanted, or one of the past."""

    resource: str
    kind: str
    affected: tuple[Affected, ...] = ()

    @property
    def tiers(self) -> frozenset[Tier | None]:
        """Those of its workloads; None alone where it affects none."""
        return frozenset(one.tier for one in self.affected) or frozenset([None])


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A change that was approved, and when."""

    change: Change
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """What a rule says, and until when; None: as long as the rule stands."""

    rule: str
    why: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How far it may go, and everything that holds the change up now.

    `level_from` is the rule that the level is from; empty: none states one. `two_people` are the
    rules that ask for a second person.
    """

    level: Level
    level_from: str
    holds: tuple[Reason, ...]
    two_people: tuple[str, ...]

    @property
    def asks_for_a_click(self) -> bool:
        """Whether a person approves without being asked whether that is meant."""
        return self.level.rank >= Level.ASK.rank

    @property
    def may_approve(self) -> bool:
        """Whether a person may approve it now."""
        return self.level is not Level.TELL and not self.holds


def verdict(
    wanted: Change, *, rules: Sequence[LadderRule], past: Sequence[Past], now: datetime
) -> Verdict:
    """By all rules that concern the change."""
    concerned = sorted(
        (one for one in rules if one.concerns(wanted.resource, wanted.kind, wanted.tiers)),
        key=lambda one: one.name,
    )
    level, level_from = stated_level(wanted, concerned)
    return Verdict(
        level=level,
        level_from=level_from,
        holds=tuple(
            hold for rule in concerned for hold in _holds(rule, wanted, past=past, now=now)
        ),
        two_people=tuple(one.name for one in concerned if one.second_person),
    )


def stated_level(wanted: Change, rules: Sequence[LadderRule]) -> tuple[Level, str]:
    """The lowest of those of its workloads, so that a rule for one tier frees no other."""
    found = []
    for tier in wanted.tiers:
        stated = [
            (one.level, one.name)
            for one in rules
            if one.level is not None and one.concerns(wanted.resource, wanted.kind, [tier])
        ]
        found += stated or [(DEFAULT, "")]
    return min(found, key=lambda one: (one[0].rank, one[1]))


def _holds(
    rule: LadderRule, wanted: Change, *, past: Sequence[Past], now: datetime
) -> Iterator[Reason]:
    if rule.freeze is not None and rule.freeze.since <= now < rule.freeze.until:
        why = f"changes are frozen: {rule.freeze.reason}"
        yield Reason(rule=rule.name, why=why, until=rule.freeze.until)
    if rule.windows:
        opens = opens_at(rule.windows, rule.zone, now=now)
        if opens is not None:
            why = f"changes are made {', '.join(rule.windows)} ({rule.zone})"
            yield Reason(rule=rule.name, why=why, until=opens)
    earlier = [one for one in past if one.at <= now]
    yield from _cooling(rule, wanted, earlier, now)
    yield from _capped(rule, earlier, now)


def _cooling(
    rule: LadderRule, wanted: Change, past: Sequence[Past], now: datetime
) -> Iterator[Reason]:
    if rule.cooldown_s is None:
        return
    names = {one.workload for one in wanted.affected if rule.tier in (None, one.tier)}
    ends = {
        one.workload: past_one.at + timedelta(seconds=rule.cooldown_s)
        for past_one in sorted(past, key=lambda item: item.at)
        for one in past_one.change.affected
        if one.workload in names
    }
    still = sorted((end, name) for name, end in ends.items() if end > now)
    if still:
        until, name = still[-1]
        changed = until - timedelta(seconds=rule.cooldown_s)
        why = f"{name} was changed at {changed.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        yield Reason(rule=rule.name, why=why, until=until)


def _capped(rule: LadderRule, past: Sequence[Past], now: datetime) -> Iterator[Reason]:
    most = rule.most_changes_per_day
    if most is None:
        return
    times = sorted(
        one.at
        for one in past
        if one.at > now - DAY
        and rule.concerns(one.change.resource, one.change.kind, one.change.tiers)
    )
    if len(times) >= most:
        why = f"{len(times)} changes in 24 h, {most} may be"
        until = times[len(times) - most] + DAY if most else None
        yield Reason(rule=rule.name, why=why, until=until)
