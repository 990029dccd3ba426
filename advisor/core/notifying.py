"""Who is told of what, and when: incidents against the rules of an organisation.

A rule tells of an incident once that it began, once more if it grew graver, and once that it is
over. What was told is known by its resource and time, not by the incident's number: windows that
are judged again make incidents anew, and nobody is told twice of the same hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum

from advisor.core.weekly_window import closes_at, parse_window, zone_of

SAME = timedelta(minutes=2)
"""What begins so soon after the end of what was told is the same."""


class Severity(IntEnum):
    """How grave an incident is."""

    CONGESTED = 1
    PROMISE_MISSED = 2
    STALLED = 3

    @property
    def words(self) -> str:
        return self.name.lower().replace("_", " ")


class News(StrEnum):
    """What a message says of an incident."""

    BEGAN = "began"
    GRAVER = "graver"
    OVER = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """An incident as it is now; `tags` and `teams` are those of its resource and workloads."""

    resource: str
    since: datetime
    until: datetime | None
    severity: Severity
    tags: frozenset[str] = frozenset()
    teams: frozenset[str] = frozenset()
    is_muted: bool = False

    def touches(self, since: datetime, until: datetime | None) -> bool:
        """Whether this and a stretch of time are one, or nearly."""
        return (until is None or self.since <= until + SAME) and (
            self.until is None or since <= self.until + SAME
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is told by it; empty names are all. `quiet` are windows such as `Mon-Fri 22:00 9h`.

    With `grave_anyway` a stall breaks the quiet.
    """

    name: str
    least: Severity = Severity.CONGESTED
    resources: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    teams: frozenset[str] = frozenset()
    quiet: tuple[str, ...] = ()
    zone: str = "UTC"
    grave_anyway: bool = True
    tells_end: bool = True

    def is_about(self, trouble: Trouble) -> bool:
        return (
            trouble.severity >= self.least
            and (not self.resources or trouble.resource in self.resources)
            and (not self.tags or bool(self.tags & trouble.tags))
            and (not self.teams or bool(self.teams & trouble.teams))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Nothing is told of a resource until then; of all without a resource."""

    until: datetime
    resource: str = ""

    def covers(self, trouble: Trouble, now: datetime) -> bool:
        return now < self.until and self.resource in ("", trouble.resource)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a rule told of already; `key` is the caller's. `is_over` once the end was told."""

    key: int
    resource: str
    since: datetime
    until: datetime | None
    severity: Severity
    is_over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A message to be sent now; `told` is what it goes on with, None for one that began."""

    news: News
    trouble: Trouble
    told: Told | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What is not told now, and why; `until` is when it may be, None if that is not known."""

    trouble: Trouble
    reason: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one rule has to say now."""

    due: tuple[Due, ...] = ()
    held: tuple[Held, ...] = ()


def problems_of_rule(rule: Rule) -> list[str]:
    """What is wrong with a rule, in words; empty if nothing is."""
    found = [] if rule.name.strip() else ["a rule needs a name"]
    try:
        zone_of(rule.zone)
        for text in rule.quiet:
            parse_window(text)
    except ValueError as error:
        found.append(str(error))
    return found


def news_of(
    rule: Rule,
    troubles: Sequence[Trouble],
    told: Sequence[Told],
    silences: Sequence[Silence],
    now: datetime,
) -> Outcome:
    """What the rule says of these incidents, of which it has told so far.

    `troubles` are all that are open, and those that ended since what was told began.
    """
    due: list[Due] = []
    held: list[Held] = []
    for trouble in sorted(troubles, key=lambda one: (one.since, one.resource)):
        before = _before(trouble, [*told])
        said = _news(rule, trouble, before)
        if said is None:
            continue
        reason = _reason_to_wait(rule, trouble, said, silences, now)
        if reason is not None:
            held.append(reason)
        else:
            due.append(Due(news=said, trouble=trouble, told=before))
    due += _withdrawn(rule, troubles, told)
    return Outcome(due=tuple(due), held=tuple(held))


def _before(trouble: Trouble, told: Sequence[Told]) -> Told | None:
    """What was told of the same time, the latest if windows that were judged again joined two."""
    same = [
        one
        for one in told
        if one.resource == trouble.resource and trouble.touches(one.since, one.until)
    ]
    return max(same, key=lambda one: (not one.is_over, one.since), default=None)


def _news(rule: Rule, trouble: Trouble, before: Told | None) -> News | None:
    if before is None:
        # What is over before anybody could be told of it is in the report, not in a message.
        is_new = trouble.until is None and rule.is_about(trouble)
        return News.BEGAN if is_new else None
    if before.is_over:
        return None
    if trouble.until is not None:
        return News.OVER if rule.tells_end else None
    return News.GRAVER if trouble.severity > before.severity else None


def _reason_to_wait(
    rule: Rule, trouble: Trouble, news: News, silences: Sequence[Silence], now: datetime
) -> Held | None:
    """The end of what was told is always told, or it would seem to go on."""
    if news == News.OVER:
        return None
    if trouble.is_muted:
        return Held(trouble=trouble, reason="a maintenance window covers it")
    ends = [one.until for one in silences if one.covers(trouble, now)]
    if ends:
        return Held(trouble=trouble, reason="it is silenced", until=max(ends))
    is_let_through = rule.grave_anyway and trouble.severity == Severity.STALLED
    quiet_until = closes_at(rule.quiet, rule.zone, now=now)
    if quiet_until is not None and not is_let_through:
        return Held(trouble=trouble, reason="these are quiet hours", until=quiet_until)
    return None


def _withdrawn(rule: Rule, troubles: Sequence[Trouble], told: Sequence[Told]) -> list[Due]:
    """What was told of, and what samples that came late disproved: it is over for who reads."""
    gone = [
        one
        for one in told
        if rule.tells_end
        and not one.is_over
        and not any(
            trouble.resource == one.resource and trouble.touches(one.since, one.until)
            for trouble in troubles
        )
    ]
    return [
        Due(
            news=News.OVER,
            told=one,
            trouble=Trouble(
                resource=one.resource, since=one.since, until=one.since, severity=one.severity
            ),
        )
        for one in gone
    ]
