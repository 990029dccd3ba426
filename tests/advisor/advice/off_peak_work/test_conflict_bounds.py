"""Conflicts on a LUN at the exact value of each rule."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from advisor.advice.off_peak_work.decide import scsi_conflicts
from advisor.advice.off_peak_work.decide.scsi_conflicts import (
    ConflictInputs,
    ConflictWindow,
    OffPeakAdvice,
    OffPeakAnswer,
    advise_off_peak_work,
)
from advisor.core.explanation.answer import InsufficientData, NoChange
from tests.advisor.advice.off_peak_work.conflict_studies import NORMAL_DAYS, START

ByHour = Callable[[int], float]


def advised(
    *,
    before: float,
    after: ByHour,
    commands: ByHour,
    operations: ByHour | None = None,
) -> OffPeakAnswer:
    """Eight days of hourly windows; conflicts are per window, since day four those of `after`.

    `operations` are the administrative ones of each hour; nobody counted them unless stated.
    """
    windows = []
    for index in range(8 * 24):
        day, hour = divmod(index, 24)
        conflicts = before if day < NORMAL_DAYS else after(hour)
        windows.append(
            ConflictWindow(
                at=START + timedelta(hours=index, minutes=30),
                commands=commands(hour) - conflicts,
                conflicts=conflicts,
                operations=operations(hour) if operations else None,
            )
        )
    return advise_off_peak_work(
        ConflictInputs(
            datastore="lun7",
            windows=tuple(windows),
            normal_until=START + timedelta(days=NORMAL_DAYS),
        )
    )


def by_day(hour: int) -> float:
    """100,000 commands and conflicts an hour by day, and 10,000 by night."""
    return 10_000.0 if hour < 6 else 100_000.0


@pytest.mark.parametrize(("after", "has_risen"), [(300.0, True), (299.0, False)])
def test_conflicts_have_risen_from_half_as_many_again_on(after: float, has_risen: bool) -> None:
    # 200 in 100,000 in each hour of the day before, and 300 afterwards.
    answer = advised(
        before=200.0, after=lambda hour: after, commands=lambda hour: 100_000.0 + hour
    )

    assert ("have not risen" not in answer.summary) is has_risen


@pytest.mark.parametrize(("after", "has_risen"), [(100.0, True), (99.0, False)])
def test_conflicts_have_risen_from_one_in_a_thousand_on(after: float, has_risen: bool) -> None:
    answer = advised(before=1.0, after=lambda hour: after, commands=lambda hour: 100_000.0)

    assert ("have not risen" not in answer.summary) is has_risen


def nine_to_eleven(hour: int) -> float:
    return 10_000.0 if 9 <= hour < 11 else 0.0


@pytest.mark.parametrize(("quiet", "is_worth_it"), [(719.0, True), (721.0, False)])
def test_other_hours_must_have_less_than_four_fifths_of_the_load(
    quiet: float, is_worth_it: bool
) -> None:
    # 90,000 commands beside 10,000 conflicts from nine to eleven; four fifths are 72,000.
    answer = advised(
        before=0.0,
        after=nine_to_eleven,
        commands=lambda hour: 100_000.0 if 9 <= hour < 11 else 100.0 * quiet,
    )

    assert isinstance(answer, OffPeakAdvice) is is_worth_it
    assert isinstance(answer, OffPeakAdvice) or "spread its hosts" in answer.summary


def test_other_hours_must_have_less_than_the_part_that_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 96,000 commands in every hour: just as many elsewhere as asked.
    monkeypatch.setattr(scsi_conflicts, "WORTH_MOVING", 1.0)

    answer = advised(
        before=0.0,
        after=nine_to_eleven,
        commands=lambda hour: 96_000.0 + nine_to_eleven(hour),
    )

    assert "spread its hosts" in answer.summary


@pytest.mark.parametrize(("first", "hour"), [(10_900.0, 0), (11_100.0, 1)])
def test_hours_that_differ_by_a_tenth_are_equally_quiet(first: float, hour: int) -> None:
    # The hours 2 and 3 have 10,000. Two hours from 1 on have half of each.
    def commands(at: int) -> float:
        return first if at < 2 else 10_000.0 if at < 4 else 100_000.0

    answer = advised(before=0.0, after=nine_to_eleven, commands=commands)

    assert isinstance(answer, OffPeakAdvice)
    assert answer.from_hour_utc == hour


def test_load_that_meets_a_lock_is_told_against_the_mean_of_the_day() -> None:
    answer = advised(before=0.0, after=nine_to_eleven, commands=by_day)

    # Commands are 6 · 10,000 + 16 · 100,000 + 2 · 90,000 in 24 hours, 76,667 on the mean.
    assert isinstance(answer, OffPeakAdvice)
    (effect,) = answer.effects
    assert effect.before == pytest.approx(90_000 / (1_840_000 / 24))
    assert effect.after == pytest.approx(10_000 / (1_840_000 / 24))
    # 20,000 of 1,860,000 a day.
    assert answer.recent_ratio == pytest.approx(20_000 / 1_860_000)
    assert answer.normal_ratio == 0.0


def few(normal: int, recent: int, *, hours_apart: float = 2.0) -> OffPeakAnswer:
    """So many windows before and after, evenly apart."""
    split = START + timedelta(hours=hours_apart) * normal
    windows = tuple(
        ConflictWindow(
            at=START + timedelta(hours=hours_apart) * (place + 1),
            commands=1000.0,
            conflicts=0.0 if place < normal else 100.0,
        )
        for place in range(normal + recent)
    )
    return advise_off_peak_work(
        ConflictInputs(datastore="lun7", windows=windows, normal_until=split)
    )


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        (few(30, 30), []),
        (few(29, 30), ["normal windows"]),
        (few(30, 29), ["recent windows"]),
        # 60 windows of 48 minutes end in the third day, those of 47 minutes before it.
        (few(30, 30, hours_apart=0.8), []),
        (few(30, 30, hours_apart=0.79), ["days"]),
    ],
    ids=["enough", "normal", "recent", "three days", "two days"],
)
def test_thirty_windows_on_either_side_over_three_days_are_enough(
    answer: OffPeakAnswer, missing: list[str]
) -> None:
    found = answer.missing if isinstance(answer, InsufficientData) else ()

    assert [one.what for one in found] == missing


def test_confidence_follows_from_the_windows_and_from_what_operations_explain() -> None:
    answer = advised(
        before=0.0,
        after=lambda hour: 10_000.0 if 9 <= hour < 11 else 0.0,
        commands=by_day,
        operations=nine_to_eleven,
    )

    assert isinstance(answer, OffPeakAdvice)
    # 96 recent windows; all conflicts fall into those with operations.
    assert [(part.name, part.value) for part in answer.confidence.parts] == [
        ("windows", 1.0),
        ("cause", 1.0),
    ]


def test_operations_cause_the_part_of_conflicts_that_ends_when_they_pause() -> None:
    # From nine to eleven 20,000 of 100,000 commands meet a lock, else 1,250 of 50,000 as ever.
    answer = advised(
        before=1250.0,
        after=lambda hour: 20_000.0 if 9 <= hour < 11 else 1250.0,
        commands=lambda hour: 100_000.0 if 9 <= hour < 11 else 50_000.0,
        operations=nine_to_eleven,
    )

    assert isinstance(answer, OffPeakAdvice)
    cause = answer.confidence.parts[1]
    # 1 - 0.025 / 0.2.
    assert (cause.name, cause.value) == ("cause", 0.875)
    assert cause.how == "20.00% of commands while work is done, 2.50% while none is"


def test_work_that_meets_no_conflict_causes_none() -> None:
    answer = advised(
        before=0.0, after=nine_to_eleven, commands=by_day, operations=lambda hour: hour == 20
    )

    assert isinstance(answer, OffPeakAdvice)
    assert (answer.confidence.parts[1].name, answer.confidence.value) == ("cause", 0.0)


def test_work_may_take_the_whole_day_and_takes_two_hours_unless_stated() -> None:
    plain = ConflictInputs(datastore="lun7", windows=(), normal_until=START)
    whole = ConflictInputs(datastore="lun7", windows=(), normal_until=START, work_hours=24)

    assert (plain.work_hours, whole.work_hours) == (2, 24)
    assert not isinstance(advise_off_peak_work(plain), NoChange)


def test_rise_began_with_the_first_window_that_a_tenth_of_the_level_does_not_explain() -> None:
    # 0.2 % of commands met a lock; then 8 % more did by night and in the morning, which is more
    # than half of a spread of a tenth, and three times as many from noon on.
    answer = advised(
        before=200.0,
        after=lambda hour: 108.0 if hour < 6 else 216.0 if hour < 12 else 600.0,
        commands=lambda hour: 50_000.0 if hour < 6 else 100_000.0,
    )

    assert isinstance(answer, OffPeakAdvice)
    assert answer.conflicts_began_at == START + timedelta(days=NORMAL_DAYS, minutes=30)
