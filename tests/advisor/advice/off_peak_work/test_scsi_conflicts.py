"""Conflicts on a shared LUN: when they call for other hours, and which."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.off_peak_work.decide.scsi_conflicts import (
    ConflictInputs,
    ConflictWindow,
    OffPeakAdvice,
    advise_off_peak_work,
)
from advisor.core import canonical
from advisor.core.explanation.answer import AdviceOutcome, InsufficientData, NoChange
from tests.advisor.advice.off_peak_work.conflict_studies import (
    NORMAL_DAYS,
    START,
    day_and_night,
    snapshots_by_day,
    study,
)

windows = st.lists(
    st.builds(
        ConflictWindow,
        at=st.integers(0, 10 * 24 * 60).map(lambda minutes: START + timedelta(minutes=minutes)),
        commands=st.floats(0, 1e9),
        conflicts=st.floats(0, 1e9),
        operations=st.none() | st.floats(0, 100),
    ),
    max_size=120,
)


@given(windows, st.integers(1, 24))
def test_the_advised_hours_are_no_busier_than_those_of_the_conflicts(rows, work_hours):
    inputs = ConflictInputs(
        datastore="lun7",
        windows=tuple(rows),
        normal_until=START + timedelta(days=5),
        work_hours=work_hours,
    )

    result = advise_off_peak_work(inputs)

    canonical.dumps(result)  # Refuses NaN and infinity.
    if isinstance(result, OffPeakAdvice):
        (effect,) = result.effects
        assert effect.after <= effect.before
        assert result.recent_ratio >= result.normal_ratio
        assert 0 <= result.from_hour_utc < 24


@given(st.randoms(use_true_random=False))
def test_the_order_of_windows_does_not_matter(random):
    inputs = study(conflicts=snapshots_by_day)
    shuffled = list(inputs.windows)
    random.shuffle(shuffled)

    result = advise_off_peak_work(replace(inputs, windows=tuple(shuffled)))

    assert result == advise_off_peak_work(inputs)


def test_work_at_peak_is_moved_into_the_night():
    # By day 1000 of a mean of (6 · 100 + 18 · 1000) / 24 = 775 is 129 %, by night 100 is 13 %.
    result = advise_off_peak_work(study(conflicts=snapshots_by_day))

    (effect,) = result.effects
    assert result.outcome is AdviceOutcome.RECOMMENDATION
    assert (result.from_hour_utc, result.work_hours) == (0, 2)
    assert effect.before == pytest.approx(1000 / 775, rel=0.01)
    assert effect.after == pytest.approx(100 / 775, rel=0.01)
    # The first window of day four after nine o'clock.
    assert result.conflicts_began_at == START + timedelta(days=NORMAL_DAYS, hours=9, minutes=30)


@pytest.mark.parametrize(
    ("conflicts", "reason"),
    [
        (lambda day, hour: 0.00001, "have not risen"),
        (lambda day, hour: 0.1 if 9 <= hour < 11 else 0.00001, "have not risen"),
        (
            lambda day, hour: 0.1 if day >= NORMAL_DAYS and hour < 2 else 0.00001,
            "already fall into its quiet hours",
        ),
    ],
    ids=["none", "as ever", "at night"],
)
def test_conflicts_that_call_for_nothing_are_left_alone(conflicts, reason):
    result = advise_off_peak_work(study(conflicts=conflicts))

    assert isinstance(result, NoChange)
    assert reason in result.summary


def test_counted_operations_raise_confidence():
    blind = advise_off_peak_work(study(conflicts=snapshots_by_day))
    counted = advise_off_peak_work(study(conflicts=snapshots_by_day, counted=True))

    assert blind.confidence.value == 0.5
    # 0.1 / 1.1 of commands with work, 0.00001 without: nearly all of it is caused by work.
    assert counted.confidence.value > 0.99


def test_a_thin_history_is_not_advised_on():
    inputs = study(conflicts=snapshots_by_day)

    result = advise_off_peak_work(replace(inputs, windows=inputs.windows[:48]))

    assert isinstance(result, InsufficientData)
    assert [(one.what, one.have) for one in result.missing] == [("recent windows", 0), ("days", 2)]


@pytest.mark.parametrize("work_hours", [0, 25])
def test_work_that_does_not_fit_a_day_is_refused(work_hours):
    with pytest.raises(ValueError, match=r"^work_hours is "):
        ConflictInputs(datastore="lun7", windows=(), normal_until=START, work_hours=work_hours)


def test_noise_between_quiet_hours_moves_no_schedule():
    def noisy(hour):
        return 95.0 if hour == 4 else day_and_night(hour)

    plain = advise_off_peak_work(study(conflicts=snapshots_by_day))
    other = advise_off_peak_work(study(conflicts=snapshots_by_day, load=noisy))

    # Hours 3 to 5 are quieter by a fortieth only, so the first quiet hour stays.
    assert (plain.from_hour_utc, other.from_hour_utc) == (0, 0)


def test_a_lun_that_answers_nothing_but_conflicts_has_no_quiet_hours():
    inputs = study(conflicts=snapshots_by_day)
    locked = tuple(
        replace(one, commands=0.0, conflicts=5.0) if one.at > inputs.normal_until else one
        for one in inputs.windows
    )

    result = advise_off_peak_work(replace(inputs, windows=locked))

    assert isinstance(result, NoChange)
    assert "100.00% of commands" in result.summary
