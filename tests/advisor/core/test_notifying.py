"""Nobody is told twice of one incident, nor in the quiet; and what goes on is told at last."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.digest import Digest, Rhythm
from advisor.core.notifying import (
    SAME,
    News,
    Outcome,
    Rule,
    Severity,
    Silence,
    Told,
    Trouble,
    news_of,
    problems_of_rule,
)
from advisor.core.weekly_window import closes_at

START = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
RULE = Rule(name="all")
severities = st.sampled_from(Severity)


def at(minute: float) -> datetime:
    return START + minute * MINUTE


def trouble(since: float, until: float | None = None, **facts: Any) -> Trouble:
    stated = {"resource": "nfs-07", "severity": Severity.CONGESTED, **facts}
    return Trouble(since=at(since), until=None if until is None else at(until), **stated)


class Teller:
    """Keeps what was told, as the rows of an installation do."""

    def __init__(self, rule: Rule = RULE, silences: tuple[Silence, ...] = ()) -> None:
        self.rule, self.silences = rule, silences
        self.told: dict[int, Told] = {}
        self.said: list[tuple[datetime, News, str]] = []
        self.together: list[list[Told]] = []
        self.keys = count()

    def look(self, minute: float, *troubles: Trouble) -> Outcome:
        found = news_of(self.rule, troubles, [*self.told.values()], self.silences, at(minute))
        for one in found.due:
            key = one.told.key if one.told else next(self.keys)
            if one.at is None:
                self.said.append((at(minute), one.news, one.trouble.resource))
            self.told[key] = Told(
                key=key,
                resource=one.trouble.resource,
                since=min(one.trouble.since, one.told.since) if one.told else one.trouble.since,
                until=one.trouble.until,
                severity=one.trouble.severity,
                is_over=one.news == News.OVER,
                gathered_until=one.at,
                is_said=one.at is None or bool(one.told and one.told.is_said),
            )
        for one in found.ended:
            self.told[one.key] = replace(one, is_over=True, until=at(minute))
        for one in found.unsaid:
            del self.told[one.key]
        self._send_together(at(minute))
        return found

    def _send_together(self, now: datetime) -> None:
        due = {
            key: one
            for key, one in self.told.items()
            if one.gathered_until is not None and one.gathered_until <= now
        }
        if due:
            self.said.append((now, News.SEVERAL, ", ".join(one.resource for one in due.values())))
            self.together.append([*due.values()])
        for key, one in due.items():
            self.told[key] = replace(one, gathered_until=None, is_said=True)

    @property
    def news(self) -> list[News]:
        return [news for _, news, _ in self.said]


@st.composite
def lives(draw: st.DrawFn) -> list[tuple[int, int, Severity]]:
    """Incidents of one resource, one after the other: first and last minute, and how grave."""
    found, minute = [], 0
    for _ in range(draw(st.integers(1, 4))):
        begin = minute + draw(st.integers(4, 30))
        minute = begin + draw(st.integers(1, 30))
        found.append((begin, minute, draw(severities)))
    return found


@given(found=lives(), moved=st.lists(st.integers(-2, 2), min_size=200, max_size=200))
def test_each_is_told_once_that_it_began_and_once_that_it_is_over(
    found: list[tuple[int, int, Severity]], moved: list[int]
) -> None:
    """Also where windows that are judged again move its begin by two minutes each time."""
    teller = Teller()
    for minute in range(found[-1][1] + 5):
        seen = []
        for begin, end, severity in found:
            if minute >= begin + 2:
                since = begin + moved[minute]
                until = end if minute >= end + 2 else None
                seen.append(trouble(since, until, severity=severity))
        teller.look(minute, *seen)

    counted = Counter(teller.news)
    assert counted[News.BEGAN] == counted[News.OVER] <= len(found)
    assert counted[News.GRAVER] == 0
    # Each that was open at a look and stood apart from the one before is told.
    apart = [
        (begin, end)
        for (begin, end, _), former in zip(found, [(-99, -99, 0), *found], strict=False)
        if end > begin + 2 and begin - 2 > former[1] + SAME / MINUTE
    ]
    assert counted[News.BEGAN] >= len(apart)


@given(begin=st.integers(0, 2000), length=st.integers(1, 2000), severity=severities)
def test_nothing_but_a_stall_is_told_in_quiet_hours_and_all_of_it_at_their_end(
    begin: int, length: int, severity: Severity
) -> None:
    rule = Rule(name="day", quiet=("Mon-Sun 22:00 9h",), zone="Europe/Berlin")
    teller = Teller(rule)
    for minute in range(0, begin + length + 700, 10):
        until = begin + length if minute >= begin + length else None
        teller.look(minute, *([trouble(begin, until, severity=severity)] * (minute >= begin)))

    for when, news, _ in teller.said:
        if news in (News.BEGAN, News.SEVERAL) and severity != Severity.STALLED:
            assert closes_at(rule.quiet, rule.zone, now=when) is None
    first = -(-begin // 10) * 10
    was_seen = first < begin + length
    quiet_until = closes_at(rule.quiet, rule.zone, now=at(first))
    if not was_seen:
        assert teller.news == []
    elif quiet_until is None or severity == Severity.STALLED:
        assert teller.news == [News.BEGAN, News.OVER]
    else:
        # Whether it still lasts then or not; what lasts is over later.
        later = [News.OVER] * (at(begin + length) > quiet_until)
        assert teller.news == [News.SEVERAL, *later]


@given(
    begins=st.lists(st.integers(0, 3000), min_size=1, max_size=12),
    rhythm=st.sampled_from(Rhythm),
    hour=st.integers(0, 23),
)
def test_channel_that_gathers_tells_each_once_and_never_twice_between_its_times(
    begins: list[int], rhythm: Rhythm, hour: int
) -> None:
    digest = Digest(rhythm=rhythm, hour=hour, zone="Europe/Berlin")
    teller = Teller(Rule(name="x", digest=digest, grave_anyway=False))
    for minute in range(0, 3100 + 24 * 60, 5):
        teller.look(
            minute,
            *(
                trouble(begin, begin + 30 if minute >= begin + 30 else None, resource=f"r{place}")
                for place, begin in enumerate(begins)
                if minute >= begin
            ),
        )

    assert set(teller.news) == {News.SEVERAL}
    for (earlier, *_), (after, *_) in pairwise(teller.said):
        assert digest.first_at(earlier + timedelta(seconds=1)) <= after
    ends = Counter(one.resource for told in teller.together for one in told if one.is_over)
    assert ends == Counter(f"r{place}" for place in range(len(begins)))


def test_false_alarm_of_the_night_is_told_to_nobody() -> None:
    teller = Teller(Rule(name="day", quiet=("Mon-Sun 12:00 9h",)))

    gathered = teller.look(1, trouble(0))
    teller.look(9)
    teller.look(9 * 60)

    assert [one.at for one in gathered.due] == [at(9 * 60)]
    assert (teller.said, teller.told) == ([], {})


def test_what_was_told_of_before_and_was_false_is_taken_back() -> None:
    """Also where the news that it grew graver still waits."""
    teller = Teller(Rule(name="day", quiet=("Mon-Sun 12:10 9h",)))

    teller.look(1, trouble(0))
    teller.look(20, trouble(0, severity=Severity.PROMISE_MISSED))
    teller.look(30)
    teller.look(10 * 60)

    assert teller.news == [News.BEGAN, News.OVER]


def test_stall_breaks_the_quiet_for_what_waits_already() -> None:
    teller = Teller(Rule(name="day", quiet=("Mon-Sun 12:00 9h",)))

    teller.look(1, trouble(0))
    teller.look(5, trouble(0, severity=Severity.STALLED))
    teller.look(9, trouble(0, 8, severity=Severity.STALLED))
    teller.look(10 * 60)

    assert teller.news == [News.GRAVER, News.OVER]


def test_stall_waits_where_the_rule_says_so() -> None:
    teller = Teller(Rule(name="day", quiet=("Mon-Sun 12:00 9h",), grave_anyway=False))

    teller.look(1, trouble(0, severity=Severity.STALLED))
    held = teller.look(5, trouble(0, severity=Severity.STALLED))
    teller.look(9 * 60, trouble(0, 8, severity=Severity.STALLED))

    assert [(one.reason, one.until) for one in held.held] == [
        ("it is told with others", at(9 * 60))
    ]
    assert [(when, news) for when, news, _ in teller.said] == [(at(9 * 60), News.SEVERAL)]


def test_rule_that_tells_no_end_gathers_what_began_and_ended() -> None:
    teller = Teller(Rule(name="x", quiet=("Mon-Sun 12:00 9h",), tells_end=False))

    teller.look(1, trouble(0))
    teller.look(9, trouble(0, 8))
    teller.look(9 * 60)

    ((one,),) = teller.together
    assert one.is_over


def test_what_grows_graver_is_told_once_more_and_no_more_if_it_shrinks() -> None:
    teller = Teller()
    for minute, severity in enumerate([1, 1, 3, 2, 3, 1]):
        teller.look(minute, trouble(0, severity=Severity(severity)))

    assert teller.news == [News.BEGAN, News.GRAVER]


def test_what_is_silenced_is_told_when_the_silence_is_over() -> None:
    teller = Teller(silences=(Silence(until=at(30), resource="nfs-07"),))

    held = teller.look(10, trouble(5), trouble(6, resource="lun-1"))
    teller.look(31, trouble(5), trouble(6, resource="lun-1"))

    assert [(one.reason, one.until) for one in held.held] == [("it is silenced", at(30))]
    assert [(when, name) for when, _, name in teller.said] == [
        (at(10), "lun-1"), (at(31), "nfs-07"),
    ]  # fmt: skip


def test_maintenance_tells_nothing_and_no_end_of_it() -> None:
    teller = Teller()

    teller.look(1, trouble(0, is_muted=True))
    teller.look(9, trouble(0, 8, is_muted=True))

    assert teller.said == []


def test_end_is_told_in_the_quiet_too() -> None:
    teller = Teller(Rule(name="day", quiet=("Mon-Sun 12:30 8h",)))

    teller.look(1, trouble(0))
    teller.look(60, trouble(0, 59))

    assert teller.news == [News.BEGAN, News.OVER]


def test_incident_that_was_withdrawn_is_over_for_who_was_told() -> None:
    teller = Teller()

    teller.look(1, trouble(0))
    teller.look(5)
    teller.look(6)

    assert teller.news == [News.BEGAN, News.OVER]


def test_rule_that_tells_no_end_tells_the_next_incident() -> None:
    teller = Teller(Rule(name="x", tells_end=False))

    teller.look(1, trouble(0))
    teller.look(9, trouble(0, 8))
    teller.look(4000, trouble(3999))

    assert teller.news == [News.BEGAN, News.BEGAN]


def test_incident_soon_after_one_whose_end_was_told_is_told() -> None:
    teller = Teller()

    teller.look(1, trouble(0))
    teller.look(9, trouble(0, 8))
    teller.look(10, trouble(0, 8), trouble(9, severity=Severity.STALLED))

    assert teller.news == [News.BEGAN, News.OVER, News.BEGAN]


def test_incident_that_is_open_again_is_told_if_it_stays_so() -> None:
    """For a moment windows that are judged again may leave out its end."""
    teller = Teller()
    teller.look(1, trouble(0))
    teller.look(9, trouble(0, 8))

    teller.look(10, trouble(0))
    teller.look(12, trouble(0, 9))
    assert teller.news == [News.BEGAN, News.OVER]
    teller.look(40, trouble(0))

    assert teller.news == [News.BEGAN, News.OVER, News.BEGAN]


def test_two_that_ended_before_a_look_end_what_was_told_once() -> None:
    teller = Teller()

    teller.look(1, trouble(0))
    teller.look(60, trouble(0, 8), trouble(9, 20))
    teller.look(61, trouble(0, 8), trouble(9, 20))

    assert teller.news == [News.BEGAN, News.OVER]


def test_what_is_open_does_not_end_because_one_just_before_it_did() -> None:
    teller = Teller()

    teller.look(1, trouble(0, 0.5), trouble(1))
    teller.look(2, trouble(0, 0.5), trouble(1))

    assert teller.news == [News.BEGAN]


@pytest.mark.parametrize(
    ("rule", "is_told"),
    [
        (Rule(name="x", least=Severity.PROMISE_MISSED), False),
        (Rule(name="x", resources=frozenset({"nfs-07"})), True),
        (Rule(name="x", resources=frozenset({"lun-1"})), False),
        (Rule(name="x", tags=frozenset({"tag=db", "tag=web"})), True),
        (Rule(name="x", tags=frozenset({"tag=web"})), False),
        (Rule(name="x", tags=frozenset()), False),
        (Rule(name="x", tags=frozenset({"tag=db"}), resources=frozenset({"lun-1"})), False),
    ],
)
def test_rule_is_about_what_it_names(rule: Rule, is_told: bool) -> None:
    teller = Teller(rule)

    teller.look(1, trouble(0, tags=frozenset({"tag=db"})))

    assert bool(teller.said) is is_told


def test_end_is_told_to_whom_it_concerned_before() -> None:
    """Who suffers changes while it lasts."""
    teller = Teller(Rule(name="x", tags=frozenset({"tag=db"})))

    teller.look(1, trouble(0, tags=frozenset({"tag=db"})))
    teller.look(2, trouble(0))
    teller.look(9, trouble(0, 8))

    assert teller.news == [News.BEGAN, News.OVER]


def test_one_that_was_over_before_a_look_is_not_told() -> None:
    teller = Teller()

    teller.look(9, trouble(0, 3))

    assert teller.said == []


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (Rule(name=" "), "name"),
        (Rule(name="x", quiet=("at night",)), "at night"),
        (Rule(name="x", tags=frozenset({"db"})), "db"),
        (Rule(name="x", quiet=("Mon 22:00 9h",), zone="Mars"), "Mars"),
    ],
)
def test_rule_that_cannot_be_is_told_why(wrong: Rule, word: str) -> None:
    (problem,) = problems_of_rule(wrong)

    assert word in problem
