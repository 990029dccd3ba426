"""How counters grow between two readings: wraps, resets, gaps, counters that were not sent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ingest.core.figures import INTERFACE, FigureKind
from ingest.core.grid import NOT_SENT, WRAP_32, Integers, gaps, growth_between
from ingest.core.no_rate import why_no_rate

Sent = tuple[int | None, ...]
RESET, INCOMPLETE = "reset", "incomplete"
HALF_32 = 2**31
"""The kernel's 32-bit counters may wrap; half of their range tells a wrap from a reset."""


def table(rows: list[Sent]) -> Integers:
    sent = [[NOT_SENT if one is None else one for one in row] for row in rows]
    return np.array(sent, dtype=np.int64)


def growths(*sent: Sent, wide: int | None = None) -> list[tuple[int, ...] | str]:
    values = table(list(sent))
    grown, is_reset, is_incomplete = growth_between(values[:-1], values[1:], wide=wide)
    return [
        INCOMPLETE if lacks else RESET if reset else tuple(row)
        for row, reset, lacks in zip(
            grown.tolist(), is_reset.tolist(), is_incomplete.tolist(), strict=True
        )
    ]


GROWTHS = st.lists(
    st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)), min_size=1, max_size=20
)


@given(GROWTHS, st.integers(0, 2**62), st.integers(0, WRAP_32 - 1))
def test_growth_is_recovered_through_wraps(
    grown: list[tuple[int, int]], start_wide: int, start_narrow: int
) -> None:
    # A 64-bit counter beside a 32-bit one, as the kernel prints them.
    wide, narrow, sent = start_wide, start_narrow, [(start_wide, start_narrow)]
    for more_wide, more_narrow in grown:
        wide, narrow = wide + more_wide, (narrow + more_narrow) % WRAP_32
        sent.append((wide, narrow))

    assert growths(*sent, wide=1) == grown


@given(
    st.lists(st.integers(1, 10**6), min_size=1, max_size=10),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=10),
)
def test_growth_around_a_reset_is_what_was_counted_on_either_side(
    before: list[int], after: list[int]
) -> None:
    assume(after[0] < sum(before))
    values = [0, *np.cumsum(before).tolist(), *np.cumsum(after).tolist()]

    found = growths(*((value, value) for value in values))

    assert found.count(RESET) == 1
    # The first growth after the reset began at an unknown time, so it is in no interval.
    counted = sum(growth[0] for growth in found if isinstance(growth, tuple))
    assert counted == sum(before) + sum(after[1:])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param((100, 200), (150, 200), (50, 0), id="growth"),
        pytest.param((100, 200), (0, 0), RESET, id="reset to zero"),
        pytest.param((100, 200), (3, 5), RESET, id="reset and counting again"),
        pytest.param((100, 200), (150, 5), RESET, id="one counter already beyond"),
        pytest.param((100, 200), (150, 199), RESET, id="a step back of one"),
        # 2^32 - 16 + 16 + 84 = 84 beyond the wrap
        pytest.param((WRAP_32 - 16, 200), (84, 300), (100, 100), id="32-bit wrap"),
        # From 2^31 down to 0 is a growth of 2^31, half of what a wrap takes.
        pytest.param((HALF_32, 200), (0, 300), RESET, id="half a wrap"),
        pytest.param((HALF_32 + 1, 200), (0, 300), (HALF_32 - 1, 100), id="less than half a wrap"),
        pytest.param((WRAP_32, 200), (84, 300), RESET, id="beyond 32 bits"),
        pytest.param((2**63 - 1, 200), (84, 300), RESET, id="no wrap at 63 bits"),
        pytest.param((5, None), (6, 1), INCOMPLETE, id="a counter not sent"),
        pytest.param((5, 1), (6, None), INCOMPLETE, id="a counter sent no more"),
        pytest.param((5, 5), (1, None), INCOMPLETE, id="not sent after a reset"),
        pytest.param((0, 0), (0, 0), (0, 0), id="nothing happened"),
        pytest.param((0, 0), (7, 0), (7, 0), id="first activity"),
    ],
)
def test_two_readings_give_a_growth_or_a_reason(
    before: Sent, after: Sent, expected: tuple[int, int] | str
) -> None:
    assert growths(before, after) == [expected]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        # From 2^31 + 1 to 0 is 2^31 - 1 through the wrap: less than half of the range.
        (HALF_32 + 1, (2, HALF_32 - 1)),
        # From 2^31 to 0 is exactly half.
        (HALF_32, RESET),
        # A counter beyond 2^32 is 64 bits wide, so a wrap cannot explain that it went down.
        (WRAP_32, RESET),
        (WRAP_32 - 1, (2, 1)),
    ],
)
def test_counter_that_went_down_wrapped_if_it_grew_by_less_than_half_its_range(
    before: int, expected: tuple[int, ...] | str
) -> None:
    # A 64-bit counter beside a 32-bit one.
    assert growths((10, before), (12, 0), wide=1) == [expected]


@pytest.mark.parametrize("wide", [1, 2])
def test_narrow_counter_wraps_while_wide_ones_count_on(wide: int) -> None:
    # read_time of diskstats: 32-bit milliseconds, 50 ms before its wrap and 30 ms after it.
    assert growths((10, WRAP_32 - 50), (12, 30), wide=wide) == [(2, 80)]


def test_counter_that_never_counted_anything_does_not_hide_that_others_start_again() -> None:
    # The first grew by 80 as if at a wrap, but nothing else tells that its subject went on.
    assert growths((WRAP_32 - 50, 0), (30, 0)) == [RESET]
    assert growths((WRAP_32 - 50, 1), (30, 1)) == [(80, 0)]


def test_narrow_counters_do_not_hide_that_the_wide_ones_start_again() -> None:
    # 32-bit milliseconds grew by 5, but all 64-bit counters went down, as if at a wrap.
    sent = ((WRAP_32 - 50, 10), (30, 15))

    assert growths(*sent, wide=1) == [RESET]
    assert growths(*sent, wide=2) == [(80, 5)]


@pytest.mark.parametrize(
    ("length_s", "before_s", "step_s", "expected"),
    [
        pytest.param(60, 1, 0, False, id="a minute is sure"),
        pytest.param(61, 10, 0, True, id="a pause of a frequent host"),
        pytest.param(61, 0, 0, True, id="nothing before"),
        pytest.param(180, 60, 0, False, id="three times the one before"),
        pytest.param(181, 60, 0, True, id="more than three times"),
        pytest.param(900, 600, 0, False, id="a quarter of an hour"),
        pytest.param(901, 900, 0, True, id="longer than any interval"),
        pytest.param(10_800, 3600, 3600, False, id="asked for hourly"),
        pytest.param(10_801, 3600, 3600, True, id="longer than three steps"),
    ],
)
def test_gap_is_longer_than_a_minute_and_three_times_the_one_before(
    length_s: int, before_s: int, step_s: float, expected: bool
) -> None:
    length_us, before_us = (np.array([one * 1_000_000]) for one in (length_s, before_s))

    assert gaps(length_us, before_us, step_s=step_s).tolist() == [expected]


def why(*rows: tuple[float, Sent], kind: FigureKind = INTERFACE) -> str | None:
    at_us = np.array([round(at_s * 1e6) for at_s, _ in rows], dtype=np.int64)
    return why_no_rate(kind, at_us, table([sent for _, sent in rows]))


class TestWhyNoRate:
    SENT = (7,) * 8
    MORE = (9,) * 8

    def test_readings_that_make_a_rate_have_no_reason(self) -> None:
        assert why((0, self.SENT), (10, self.MORE)) is None

    def test_counters_that_lack_are_named(self) -> None:
        assert why((0, self.SENT), (10, (*self.MORE[:7], None))) == "they lack err_out"

    def test_counters_that_lacked_before(self) -> None:
        lacking = (*self.SENT[:7], None)
        assert why((0, lacking), (10, self.MORE)) == "the one before lacks counters"

    @pytest.mark.parametrize("before", [[], [(-901.0, (7,) * 8)]], ids=["first", "rare"])
    def test_one_reading_alone_makes_no_rate(self, before: list[tuple[float, Sent]]) -> None:
        text = "none came in the 15 min before, and a rate needs two"
        assert why(*before, (0, self.SENT)) == text

    def test_one_reading_a_quarter_of_an_hour_before_is_one_too_far_apart(self) -> None:
        assert why((-900, self.SENT), (0, self.MORE)) == "they are too far apart"
        # A host that sends every ten minutes is not late.
        assert why((-1500, self.SENT), (-900, self.SENT), (0, self.MORE)) is None

    def test_pause_of_a_frequent_host(self) -> None:
        rows = [(0, self.SENT), (10, self.SENT), (100, self.MORE)]
        assert why(*rows) == "they are too far apart"
        # A host that sends every 90 s is not late.
        assert why((-80, self.SENT), *rows[1:]) is None

    def test_counters_that_started_again(self) -> None:
        assert why((0, self.MORE), (10, self.SENT)) == "the counters have started again"

    def test_only_the_newest_interval_counts(self) -> None:
        assert why((0, self.MORE), (10, self.SENT), (20, self.MORE)) is None
