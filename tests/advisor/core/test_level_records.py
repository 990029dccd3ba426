"""Stored windows are those that were judged, and damaged bytes are refused."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advisor.core.level_records import (
    HOUR_US,
    DamagedLevelsError,
    Kept,
    Records,
    Run,
    Saying,
    Window,
    hour_of,
    joined,
    keep,
    pack,
    recorded_ends,
    records_of,
    unpack,
)

GOLDEN = Path(__file__).parent / "golden"
STEP_US = 10_000_000
NOON_US = 1_763_640_000_000_000
CALM = Saying(state="clear", since_us=NOON_US, reason="idle", signals="")
SLOW = Saying(state="congested", since_us=NOON_US + 5, reason="30 ms für 3", signals='[{"a":1}]')
NOTHING = (None, 30.0, 0.0, None)
BUSY = (12.3456789, 30.0, 1e12, -0.0)

sayings = st.sampled_from([CALM, SLOW, CALM._replace(state="unknown", reason="")])
figures = st.sampled_from([NOTHING, BUSY, (0.1, None, None, 3.0)])
steps = st.sampled_from([STEP_US, STEP_US, STEP_US, STEP_US, 70_000_000, 600_000_000, HOUR_US])


@st.composite
def judged(draw: st.DrawFn) -> list[Window]:
    """Windows of ten seconds with gaps, from a little before the end of an hour."""
    gaps = draw(st.lists(steps, max_size=40))
    ends = accumulate(gaps, initial=NOON_US - 12 * STEP_US)
    says = st.tuples(sayings, figures)
    # Many say what the one before them says.
    said = draw(says)
    windows = []
    for at_us in ends:
        said = draw(says) if draw(st.booleans()) else said
        windows.append(Window(at_us, *said))
    return windows


def golden_windows() -> list[Window]:
    return [
        Window(NOON_US + STEP_US, CALM, NOTHING),
        Window(NOON_US + 2 * STEP_US, SLOW, BUSY),
        Window(NOON_US + 40 * STEP_US, CALM, (0.1, None, None, 3.0)),
    ]


def read(kept: Kept) -> list[Window]:
    """The windows that runs and records stand for."""
    records = [one.window for one in kept.records]
    found = []
    for run in kept.runs:
        for at_us in run.ends(0, NOON_US + 100 * HOUR_US).tolist():
            newest = [one for one in records if one.at_us <= at_us][-1]
            found.append(newest._replace(at_us=at_us))
    return found


def same(one: Records, other: Records) -> bool:
    return [one.window(place) for place in range(len(one.at_us))] == [
        other.window(place) for place in range(len(other.at_us))
    ]


@given(judged())
def test_kept_windows_are_those_that_were_judged(windows: list[Window]) -> None:
    kept = keep(windows, run=None, last=None, step_us=STEP_US)

    assert read(kept) == windows


@given(judged(), st.integers(0, 40))
def test_windows_judged_in_two_goes_are_kept_as_in_one(windows: list[Window], cut: int) -> None:
    first = keep(windows[:cut], run=None, last=None, step_us=STEP_US)
    then = keep(
        windows[cut:],
        run=first.runs[-1] if first.runs else None,
        last=first.records[-1].window if first.records else None,
        step_us=STEP_US,
    )

    both = Kept(
        runs=first.runs[:-1] + then.runs if first.runs else then.runs,
        records=first.records + then.records,
    )
    assert both == keep(windows, run=None, last=None, step_us=STEP_US)


@given(judged())
def test_first_window_of_each_run_and_hour_has_a_record(windows: list[Window]) -> None:
    kept = keep(windows, run=None, last=None, step_us=STEP_US)

    found = recorded_ends(kept.runs, since_us=0)

    recorded = {one.window.at_us for one in kept.records}
    firsts = {run.first_us for run in kept.runs}
    hours = {(one.at_us - 1) // HOUR_US for one in windows}
    assert firsts <= found <= recorded
    assert {(at_us - 1) // HOUR_US for at_us in found} == hours


FOUR = Run(
    state="clear",
    since_us=NOON_US,
    first_us=NOON_US + STEP_US,
    until_us=NOON_US + 4 * STEP_US,
    step_us=STEP_US,
    reason="idle",
)


@pytest.mark.parametrize(
    ("since_us", "until_us", "windows"),
    [
        (0, HOUR_US, []),
        (0, NOON_US + HOUR_US, [1, 2, 3, 4]),
        # A window that ends when the time begins is out, one that ends with it is in.
        (NOON_US + STEP_US, NOON_US + 3 * STEP_US, [2, 3]),
        (NOON_US + STEP_US - 1, NOON_US + 3 * STEP_US - 1, [1, 2]),
        (NOON_US + STEP_US + 1, NOON_US + 3 * STEP_US + 1, [2, 3]),
        (NOON_US + 4 * STEP_US, NOON_US + HOUR_US, []),
    ],
)
def test_windows_of_a_run_are_those_that_end_in_the_time(
    since_us: int, until_us: int, windows: list[int]
) -> None:
    ends = [NOON_US + place * STEP_US for place in windows]

    assert FOUR.ends(since_us, until_us).tolist() == ends


@pytest.mark.parametrize(
    ("at_us", "before", "after"),
    [
        (NOON_US + 2 * STEP_US - 1, 1, 2),
        (NOON_US + 2 * STEP_US, 2, 3),
        (NOON_US + 2 * STEP_US + 1, 2, 3),
    ],
)
def test_run_is_cut_after_the_window_that_ends_by_then(
    at_us: int, before: int, after: int
) -> None:
    assert FOUR.up_to(at_us) == FOUR._replace(until_us=NOON_US + before * STEP_US)
    assert FOUR.beyond(at_us) == FOUR._replace(first_us=NOON_US + after * STEP_US)


def test_cut_outside_of_a_run_leaves_it_as_it_is() -> None:
    assert FOUR.up_to(NOON_US + HOUR_US) == FOUR
    assert FOUR.beyond(NOON_US - HOUR_US) == FOUR


def test_run_goes_on_with_the_next_windows_of_its_state_alone() -> None:
    rest = FOUR._replace(first_us=NOON_US + 5 * STEP_US, until_us=NOON_US + 6 * STEP_US)

    assert FOUR.goes_on_with(rest)
    assert not FOUR.goes_on_with(rest._replace(state="congested"))
    assert not FOUR.goes_on_with(rest._replace(first_us=NOON_US + 6 * STEP_US))
    assert not FOUR.goes_on_with(rest._replace(step_us=2 * STEP_US))


@given(judged())
def test_nobody_looks_further_back_than_to_the_begin_of_the_hour(windows: list[Window]) -> None:
    kept = keep(windows, run=None, last=None, step_us=STEP_US)

    hours = {hour_of(one.window.at_us) for one in kept.records}
    assert {hour_of(one.at_us) for one in windows} == hours


def test_idle_device_has_a_record_an_hour() -> None:
    day = [Window(NOON_US + place * STEP_US, CALM, NOTHING) for place in range(1, 8641)]

    kept = keep(day, run=None, last=None, step_us=STEP_US)

    assert len(kept.runs) == 1
    assert [one.window.at_us for one in kept.records] == [
        NOON_US + hour * HOUR_US + STEP_US for hour in range(24)
    ]


@example(golden_windows())
@given(judged().filter(bool))
def test_records_are_read_as_they_were_packed(windows: list[Window]) -> None:
    records = unpack(pack(records_of(windows)))

    assert [records.window(place) for place in range(len(windows))] == windows
    assert np.signbit(records.figures).tolist() == np.signbit(records_of(windows).figures).tolist()


@given(judged().filter(bool), judged().filter(bool))
def test_joined_records_are_those_of_both(first: list[Window], second: list[Window]) -> None:
    both = joined([records_of(first), records_of(second)])

    assert same(both, records_of(first + second))
    assert len(both.sayings) == len(set(both.sayings))


def test_layout_of_version_1_stays_readable() -> None:
    assert same(unpack((GOLDEN / "levels-1.records").read_bytes()), records_of(golden_windows()))


@pytest.mark.parametrize("place", range(0, 60, 7))
def test_changed_byte_is_refused(place: int) -> None:
    data = bytearray(pack(records_of(golden_windows())))
    data[place] ^= 4

    with pytest.raises(DamagedLevelsError):
        unpack(bytes(data))


@pytest.mark.parametrize("length", [0, 11, 12, 40])
def test_cut_bytes_are_refused(length: int) -> None:
    with pytest.raises(DamagedLevelsError):
        unpack(pack(records_of(golden_windows()))[:length])


def test_later_version_is_refused_by_its_number() -> None:
    data = b"\x02" + pack(records_of(golden_windows()))[1:]

    with pytest.raises(DamagedLevelsError, match="version 2"):
        unpack(data)
