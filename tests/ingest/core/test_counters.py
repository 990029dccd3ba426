from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ingest.core.counters import (
    WRAP_32,
    NoRate,
    NoRateReason,
    Reading,
    Step,
    longest_interval_s,
    steps,
)

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NEVER = float("inf")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def readings(*values: tuple[int | None, ...], every_s: float = 10) -> list[Reading]:
    return [Reading(at=at(i * every_s), counters=counters) for i, counters in enumerate(values)]


def growths(
    given: list[Reading], *, wide: int = 2, longest: float = NEVER
) -> list[tuple[int, ...] | NoRateReason]:
    return [
        step.growth if isinstance(step, Step) else step.reason
        for step in steps(given, wide=wide, longest_interval_s=longest)
    ]


GROWTHS = st.lists(
    st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)), min_size=1, max_size=20
)


@given(GROWTHS, st.integers(0, 2**62), st.integers(0, WRAP_32 - 1), st.randoms())
def test_growth_is_recovered_through_wraps_duplicates_and_disorder(
    grown: list[tuple[int, int]], start_wide: int, start_narrow: int, random: object
) -> None:
    # A 64-bit counter beside a 32-bit one, as the kernel prints them.
    wide, narrow, sent = start_wide, start_narrow, [(start_wide, start_narrow)]
    for more_wide, more_narrow in grown:
        wide, narrow = wide + more_wide, (narrow + more_narrow) % WRAP_32
        sent.append((wide, narrow))
    shuffled = readings(*sent) + readings(*sent)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert growths(shuffled, wide=1) == grown


@given(
    st.lists(st.integers(1, 10**6), min_size=1, max_size=10),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=10),
)
def test_growth_around_a_reset_is_what_was_counted_on_either_side(
    before: list[int], after: list[int]
) -> None:
    def counting(grown: list[int]) -> list[int]:
        return [sum(grown[:count]) for count in range(1, len(grown) + 1)]

    assume(after[0] < sum(before))
    values = [0, *counting(before), *counting(after)]

    found = growths(readings(*((value, value) for value in values)))

    assert found.count(NoRateReason.RESET) == 1
    # The first growth after the reset began at an unknown time, so it is in no interval.
    counted = sum(growth[0] for growth in found if isinstance(growth, tuple))
    assert counted == sum(before) + sum(after[1:])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param((100, 200), (150, 200), (50, 0), id="growth"),
        pytest.param((100, 200), (0, 0), NoRateReason.RESET, id="reset to zero"),
        pytest.param((100, 200), (3, 5), NoRateReason.RESET, id="reset and counting again"),
        pytest.param((100, 200), (150, 5), NoRateReason.RESET, id="one counter already beyond"),
        pytest.param((100, 200), (150, 199), NoRateReason.RESET, id="a step back of one"),
        # 2^32 - 16 + 16 + 84 = 84 beyond the wrap
        pytest.param((WRAP_32 - 16, 200), (84, 300), (100, 100), id="32-bit wrap"),
        pytest.param((2**64 - 16, 200), (84, 300), (100, 100), id="64-bit wrap"),
        pytest.param((5, None), (6, 1), NoRateReason.INCOMPLETE, id="a counter not sent"),
        pytest.param((0, 0), (0, 0), (0, 0), id="nothing happened"),
        pytest.param((0, 0), (7, 0), (7, 0), id="first activity"),
    ],
)
def test_two_readings_give_a_growth_or_a_reason(
    before: tuple[int, int],
    after: tuple[int, int],
    expected: tuple[int, int] | NoRateReason,
) -> None:
    assert growths(readings(before, after)) == [expected]


def test_narrow_counter_wraps_while_wide_ones_count_on() -> None:
    # read_time of diskstats: 32-bit milliseconds, 50 ms before its wrap and 30 ms after it.
    assert growths(readings((10, WRAP_32 - 50), (12, 30)), wide=1) == [(2, 80)]


def test_gap_gives_no_growth_but_its_length() -> None:
    given = [Reading(at=at(s), counters=(s, s)) for s in (0, 10, 50, 60)]

    found = list(steps(given, wide=2, longest_interval_s=30))

    assert found == [
        Step(at=at(10), seconds=10, growth=(10, 10)),
        NoRate(at=at(50), seconds=40, reason=NoRateReason.GAP),
        Step(at=at(60), seconds=10, growth=(10, 10)),
    ]


@pytest.mark.parametrize(
    ("seconds", "step_s", "expected"),
    [
        pytest.param([0, 10, 20, 31], 0, 30, id="three typical intervals"),
        pytest.param([0, 10, 20, 620, 630], 0, 30, id="a gap does not count as typical"),
        pytest.param([0, 7200], 0, 900, id="two readings far apart"),
        pytest.param([0], 0, 900, id="one reading"),
        pytest.param([0, 3600, 7200], 3600, 10800, id="asked for hourly"),
    ],
)
def test_longest_interval_is_three_typical_ones(
    seconds: list[int], step_s: float, expected: float
) -> None:
    assert longest_interval_s([at(s) for s in seconds], step_s=step_s) == expected
