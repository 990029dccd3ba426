"""Who is told of what, and when: incidents against the rules of an organisation.

A rule tells of an incident once that it began, once more if it grew graver, and once that it is
over. What was told is known by its resource and time, not by the incident's number: windows that
are judged again make incidents anew, and nobody is told twice of the same hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum

from advisor.core.digest import Digest
from advisor.core.tags import problems_of_tags
from advisor.core.weekly_window import closes_at, parse_window, zone_of
from ingest.core.lengths import LONGEST_STATED_NAME

SAME = timedelta(minutes=2)
"""What begins so soon after what was told and is not over yet is the same."""
REOPENS = timedelta(minutes=10)
"""What goes on so long after its end was told is told again."""

MOST_WINDOWS = 20
MOST_RESOURCES = 200
MOST_TEAMS = 50


class Severity(IntEnum):
    """How grave an incident is."""

    CONGESTED = 1
    PROMISE_MISSED = 2
    STALLED = 3

    @property
    def words(self) -> str:
        return self.name.lower().replace("_", " ")


SEVERITIES = {one.name.lower(): one for one in Severity}
"""By the words in which people state them."""


class News(StrEnum):
    """What a message says of an incident, or that it is about several."""

    BEGAN = "began"
    GRAVER = "graver"
    OVER = "over"
    SEVERAL = "several"


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
    concerns. A `digest` gathers what it tells. With `grave_anyway` a stall waits for neither.
    """

    name: str
    least: Severity = Severity.CONGESTED
    resources: frozenset[str] = frozenset()
    tags: frozenset[str] | None = None
    quiet: tuple[str, ...] = ()
    zone: str = "UTC"
    digest: Digest | None = None
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
    """What a rule told of already; `key` is the caller's. `is_over` once the end was told.

    Until `gathered_until` the newest message waits for others; until one was sent it is not
    `is_said`.
    """

    key: int
    resource: str
    since: datetime
    until: datetime | None
    severity: Severity
    is_over: bool = False
    gathered_until: datetime | None = None
    is_said: bool = True

    def covers(self, trouble: Trouble, *, within: timedelta = timedelta()) -> bool:
        """Whether this and an incident are of one time, or nearly."""
        return (
            self.resource == trouble.resource
            and (self.until is None or trouble.since <= self.until + within)
            and (trouble.until is None or self.since <= trouble.until + within)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A message to be sent; `told` is what it goes on with, None for one that began.

    It is sent at once, or with others `at` a time. It `takes_back` what no sample confirms.
    """

    news: News
    trouble: Trouble
    told: Told | None = None
    at: datetime | None = None
    takes_back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What is not told now, and why; `until` is when it may be, None if that is not known."""

    trouble: Trouble
    reason: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one rule has to say now.

    `ended` is over, which the rule does not tell. `unsaid` was false, and was not sent yet.
    """

    due: tuple[Due, ...] = ()
    held: tuple[Held, ...] = ()
    ended: tuple[Told, ...] = ()
    unsaid: tuple[Told, ...] = ()


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


def problems_of_lengths(*, resources: Sequence[str], teams: Sequence[str]) -> list[str]:
    """Whether a rule names more than it may."""
    pairs = ((resources, "resources", MOST_RESOURCES), (teams, "teams", MOST_TEAMS))
    return [
        f"{len(names)} {word}; a rule names {most} at most"
        for names, word, most in pairs
        if len(names) > most
    ]


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
    due, held, ended, unsaid = [], [_gathered(one) for one in told if one.gathered_until], [], []
    for one in filter(None, news):
        if one.takes_back and one.told and not one.told.is_said:
            unsaid.append(one.told)
        elif one.news == News.OVER and one.told and not rule.tells_end:
            ended.append(one.told)
        elif (reason := _reason_to_wait(one, silences, now)) is not None:
            held.append(reason)
        else:
            due.append(replace(one, at=_sent_at(rule, one, now)))
    return Outcome(due=tuple(due), held=tuple(held), ended=tuple(ended), unsaid=tuple(unsaid))


def _gathered(told: Told) -> Held:
    trouble = Trouble(
        resource=told.resource, since=told.since, until=told.until, severity=told.severity
    )
    return Held(trouble=trouble, reason="it is told with others", until=told.gathered_until)


def _go_on(told: Told, troubles: Sequence[Trouble]) -> Due | None:
    """What became of what was told; None if nothing that is worth telling."""
    same = [one for one in troubles if told.covers(one, within=SAME)]
    if not same:
        # Samples that came late disproved it.
        gone = Trouble(
            resource=told.resource, since=told.since, until=told.since, severity=told.severity
        )
        return Due(news=News.OVER, trouble=gone, told=told, takes_back=True)
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


def _reason_to_wait(due: Due, silences: Sequence[Silence], now: datetime) -> Held | None:
    """Why nothing is told yet. An end is told always: else it would seem to go on."""
    trouble = due.trouble
    if due.news == News.OVER:
        return None
    if trouble.is_muted:
        return Held(trouble=trouble, reason="a maintenance window covers it")
    ends = [one.until for one in silences if one.covers(trouble, now)]
    if ends:
        return Held(trouble=trouble, reason="it is silenced", until=max(ends))
    return None


def _sent_at(rule: Rule, due: Due, now: datetime) -> datetime | None:
    """When it is sent with others; None if it is sent at once."""
    told, is_end = due.told, due.news == News.OVER
    if is_end and told and not told.is_said:
        return told.gathered_until
    severity = max(due.trouble.severity, told.severity if told else Severity.CONGESTED)
    if rule.grave_anyway and severity == Severity.STALLED:
        return None
    if told and told.gathered_until and not is_end:
        return told.gathered_until
    # The end of what was told before them breaks quiet hours: else it would seem to go on.
    quiet_until = None if is_end else closes_at(rule.quiet, rule.zone, now=now)
    return quiet_until if rule.digest is None else rule.digest.first_at(quiet_until or now)
