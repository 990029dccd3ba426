"""A rule of the ladder: where it holds, how far Sluice may go there, and what holds changes up."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from advisor.core.resource import Tier
from advisor.core.weekly_window import parse_window, zone_of
from ingest.core.lengths import LONGEST_STATED_NAME


class Level(StrEnum):
    """How far it may go, the most conservative first.

    Tell: nothing is approved. Recommend: people approve, and confirm what it would do. Ask: one
    click of a person approves. Act: Sluice approves by itself what it can answer for, and asks
    for the rest.
    """

    TELL = "tell"
    RECOMMEND = "recommend"
    ASK = "ask"
    ACT = "act"

    @property
    def rank(self) -> int:
        return list(Level).index(self)


DEFAULT = Level.RECOMMEND
"""What holds where no rule states a level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze:
    """No changes from one time to another."""

    since: datetime
    until: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRule:
    """Where `resource`, `tier` and `kind` are empty it holds for all of them.

    Each of the others may be absent: a rule says only what it states.
    """

    name: str
    resource: str = ""
    tier: Tier | None = None
    kind: str = ""
    level: Level | None = None
    windows: tuple[str, ...] = ()
    zone: str = "UTC"
    freeze: Freeze | None = None
    cooldown_s: float | None = None
    most_changes_per_day: int | None = None
    second_person: bool = False

    def concerns(self, resource: str, kind: str, tiers: Collection[Tier | None]) -> bool:
        """Whether it holds for advice of this kind on a resource, for workloads of these tiers."""
        return (
            self.resource in ("", resource)
            and self.kind in ("", kind)
            and (self.tier is None or self.tier in tiers)
        )


LONGEST_COOLDOWN_S = 366 * 86_400.0
MOST_WINDOWS = 20
MOST_PER_DAY = 100_000


def problems_of_rule(rule: LadderRule) -> Iterator[str]:
    """What it says that cannot be."""
    if not rule.name.strip():
        yield "a rule needs a name"
    if len(rule.name) > LONGEST_STATED_NAME:
        yield f"the name has {len(rule.name)} characters; it can have {LONGEST_STATED_NAME}"
    yield from _problems_of_windows(rule)
    if rule.freeze is not None:
        if rule.freeze.until <= rule.freeze.since:
            yield "the freeze ends before it begins"
        if not rule.freeze.reason.strip():
            yield "a freeze needs a reason"
    if rule.cooldown_s is not None and not 0 < rule.cooldown_s <= LONGEST_COOLDOWN_S:
        yield "a cool-down is longer than nothing and no longer than 366 days"
    most = rule.most_changes_per_day
    if most is not None and not 0 <= most <= MOST_PER_DAY:
        yield f"the changes a day are 0 to {MOST_PER_DAY:,}"
    if rule.level is Level.ACT and None in (rule.cooldown_s, rule.most_changes_per_day):
        yield "where Sluice acts, the rule states a cool-down and a cap on changes a day"
    if not _states_something(rule):
        yield "it states nothing: no level, window, freeze, cool-down, cap or second person"


def _problems_of_windows(rule: LadderRule) -> Iterator[str]:
    if len(rule.windows) > MOST_WINDOWS:
        yield f"{len(rule.windows)} windows; a rule has {MOST_WINDOWS} at most"
    try:
        zone_of(rule.zone)
        for text in rule.windows:
            parse_window(text)
    except ValueError as error:
        yield str(error)


def _states_something(rule: LadderRule) -> bool:
    return bool(
        rule.level is not None
        or rule.windows
        or rule.freeze is not None
        or rule.cooldown_s is not None
        or rule.most_changes_per_day is not None
        or rule.second_person
    )
