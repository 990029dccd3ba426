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

from advisor.core.tags import problems_of_tags
from advisor.core.weekly_window import closes_at, parse_window, zone_of
from ingest.core.lengths import LONGEST_STATED_NAME

SAME = timedelta(minutes=2)
"""What begins so soon after what was told and is not over yet is the same."""
REOPENS = timedelta(minutes=10)
"""What goes on so long after its end was told is told again."""

MOST_WINDOWS = 20


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
    """An incident as it is now; a maintenance window explains one that `is_muted`.

    `tags` are those of the workloads that it concerns.
    """

    resource: str
    since: datetime
    until: datetime | None
    severity: Severity
    is_muted: bool = False
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is told by it; empty names are all. `quiet` are windows such as `Mon-Fri 22:00 9h`.

    With `tags` it tells of what concerns a workload with one of them; None is whatever it
    concerns. With `grave_anyway` a stall breaks the quiet.
    """

    name: str
    least: Severity = Severity.CONGESTED
    resources: frozenset[str] = frozenset()
    tags: frozenset[str] | None = None
    quiet: tuple[str, ...] = ()
    zone: str = "UTC"
    grave_anyway: bool = True
    tells_end: bool = True

    def is_about(self, trouble: Trouble) -> bool:
        is_named = not self.resources or trouble.resource in self.resources
        concerns = self.tags is None or not self.tags.isdisjoint(trouble.tags)
        return is_named and concerns and trouble.severity >= self.least


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

    def covers(self, trouble: Trouble, *, within: timedelta = timedelta()) -> bool:
        """Whether this and an incident are of one time, or nearly."""
        return (
            self.resource == trouble.resource
            and (self.until is None or trouble.since <= self.until + within)
            and (trouble.until is None or self.since <= trouble.until + within)
        )


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
    """What one rule has to say now; `ended` is over, which the rule does not tell."""

    due: tuple[Due, ...] = ()
    held: tuple[Held, ...] = ()
    ended: tuple[Told, ...] = ()


def problems_of_rule(rule: Rule) -> list[str]:
    """What is wrong with a rule, in words; empty if nothing is."""
    found = problems_of_name(rule.name) + problems_of_tags(rule.tags or ())
    if len(rule.quiet) > MOST_WINDOWS:
        found.append(f"{len(rule.quiet)} quiet windows; a rule has {MOST_WINDOWS} at most")
    try:
        zone_of(rule.zone)
        for text in rule.quiet:
            parse_window(text)
    except ValueError as error:
        found.append(str(error))
    return found


def problems_of_name(name: str) -> list[str]:
    """What is wrong with the name of a rule or channel."""
    if not name.strip() or not name.isprintable():
        return ["it needs a name of letters that can be printed"]
    if len(name) > LONGEST_STATED_NAME:
        return [f"the name has {len(name)} characters; it can have {LONGEST_STATED_NAME}"]
    return []


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
    goes_on = [one for one in told if not one.is_over]
    news = [_go_on(one, troubles) for one in goes_on]
    news += [
        _begin(trouble, told, now)
        for trouble in sorted(troubles, key=lambda one: (one.since, one.resource))
        if trouble.until is None
        and rule.is_about(trouble)
        and not any(one.covers(trouble, within=SAME) for one in goes_on)
    ]
    due, held = [], []
    for one in filter(None, news):
        if one.news == News.OVER:
            # Also in the quiet: else it would seem to go on.
            due.append(one)
        elif (reason := _reason_to_wait(rule, one.trouble, silences, now)) is not None:
            held.append(reason)
        else:
            due.append(one)
    return Outcome(
        due=tuple(one for one in due if rule.tells_end or one.news != News.OVER),
        held=tuple(held),
        ended=tuple(
            one.told for one in due if one.told and one.news == News.OVER and not rule.tells_end
        ),
    )


def _go_on(told: Told, troubles: Sequence[Trouble]) -> Due | None:
    """What became of what was told; None if nothing that is worth telling."""
    same = [one for one in troubles if told.covers(one, within=SAME)]
    if not same:
        # Samples that came late disproved it.
        gone = Trouble(
            resource=told.resource, since=told.since, until=told.since, severity=told.severity
        )
        return Due(news=News.OVER, trouble=gone, told=told)
    open_ones = [one for one in same if one.until is None]
    if not open_ones:
        latest = max(same, key=lambda one: (one.until or one.since, one.since))
        return Due(news=News.OVER, trouble=latest, told=told)
    gravest = max(open_ones, key=lambda one: one.severity)
    if gravest.severity > told.severity:
        return Due(news=News.GRAVER, trouble=gravest, told=told)
    return None


def _begin(trouble: Trouble, told: Sequence[Told], now: datetime) -> Due | None:
    """News of an open incident that is none of what goes on.

    Windows that are judged again may leave out the end of one for a moment.
    """
    ended = [one.until or one.since for one in told if one.is_over and one.covers(trouble)]
    if ended and now < max(ended) + REOPENS:
        return None
    return Due(news=News.BEGAN, trouble=trouble)


def _reason_to_wait(
    rule: Rule, trouble: Trouble, silences: Sequence[Silence], now: datetime
) -> Held | None:
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
