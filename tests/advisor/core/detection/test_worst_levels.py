"""A drawn day shows the worst window of every five minutes, whatever was kept of them."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.worst_levels import (
    CONGESTED_WINDOW,
    STALLED_WINDOW,
    DamagedEntriesError,
    WorstWindows,
    columns_of,
    entry_of,
    has_value,
    joined_entries,
    worst_windows,
)
from advisor.core.level_records import HOUR_US, PART_US, Record, Saying, Window, keep, part_of

STEP_US = 10_000_000
NOON_US = 1_763_640_000_000_000
DAY_COLUMNS = 24

ALARMS = {"congested": CONGESTED_WINDOW, "stalled": STALLED_WINDOW}

Cell = tuple[float | None, float | None, int]

says = st.tuples(
    st.sampled_from(["clear", "clear", "congested", "stalled", "unknown"]),
    st.sampled_from([None, None, 2.0, 9.0, 45.0]),
    st.sampled_from([30.0, 30.0, None, 0.0]),
)


@st.composite
def judged(draw: st.DrawFn) -> list[Window]:
    """Windows in the hour from noon on; stretches say the same, and some are far from the next."""
    windows: list[Window] = []
    at_us = NOON_US + STEP_US * draw(st.integers(0, 60))
    stretches = st.tuples(says, st.integers(1, 70), st.sampled_from([1, 1, 1, 7, 45]))
    for (state, value, threshold), length, gap in draw(st.lists(stretches, max_size=8)):
        saying = Saying(state=state, since_us=NOON_US, reason="", signals="")
        for _ in range(length):
            at_us += STEP_US
            windows.append(Window(at_us, saying, (value, threshold, None, None)))
        at_us += STEP_US * (gap - 1)
    return windows


def brute(windows: list[Window]) -> list[Cell]:
    """The worst of each column, window by window."""
    cells: list[Cell] = []
    for column in range(DAY_COLUMNS):
        own = [one for one in windows if part_of(one.at_us) == NOON_US + column * PART_US]
        shown = [one for one in own if one.figures[0] is not None or one.saying.state == "stalled"]
        values = [one.figures[0] for one in shown if one.figures[0] is not None]
        ratios = [
            one.figures[0] / one.figures[1]
            for one in shown
            if one.figures[0] is not None and one.figures[1]
        ]
        alarms = [ALARMS.get(one.saying.state, 0) for one in shown]
        cell = (max(ratios, default=None), max(values, default=None), max(alarms, default=0))
        cells.append(cell)
    return cells


def drawn(
    windows: list[Window], *, since_us: int = NOON_US, step_us: int = STEP_US
) -> WorstWindows:
    kept = keep(windows, run=None, last=None, step_us=step_us)
    entries = b""
    for _, own in groupby(kept.records, key=lambda one: part_of(one.window.at_us)):
        entry = b""
        for record in own:
            entry = entry_of([record], before=entry)
        entries += entry[1:]
    # Beside a resource of which nothing is known.
    return worst_windows([b"", entries], [[], kept.runs], since_us=since_us, columns=DAY_COLUMNS)


def cells_of(worst: WorstWindows, place: int) -> list[Cell]:
    return [
        (None if math.isnan(ratio) else ratio, None if math.isnan(value) else value, alarm)
        for ratio, value, alarm in zip(
            worst.ratio[place].tolist(),
            worst.value[place].tolist(),
            worst.alarm[place].tolist(),
            strict=True,
        )
    ]


@given(judged())
def test_drawn_day_is_that_of_all_windows(windows: list[Window]) -> None:
    worst = drawn(windows)

    assert cells_of(worst, 1) == brute(windows)
    assert cells_of(worst, 0) == [(None, None, 0)] * DAY_COLUMNS


@pytest.mark.parametrize(
    ("first_us", "columns"),
    [
        # Thirty windows later, at the edge of a column: that is still the column before.
        (STEP_US, 1),
        # A microsecond later the last window is in the next column, which has no record.
        (STEP_US + 1, 2),
    ],
    ids=["ends at the edge", "ends behind it"],
)
def test_column_without_a_record_is_drawn_if_a_window_ends_in_it(
    first_us: int, columns: int
) -> None:
    saying = Saying(state="clear", since_us=NOON_US, reason="", signals="")
    windows = [
        Window(NOON_US + first_us + place * STEP_US, saying, (3.0, 30.0, None, None))
        for place in range(30)
    ]

    worst = drawn(windows)

    shown: list[Cell] = [(0.1, 3.0, 0)] * columns
    assert cells_of(worst, 1) == shown + [(None, None, 0)] * (DAY_COLUMNS - columns)


GOLDEN = Path(__file__).parents[1] / "golden"


def golden_records() -> list[Record]:
    """A congested window and a calm one, in the part of five minutes that begins at noon."""
    congested = Saying(state="congested", since_us=NOON_US, reason="", signals="")
    windows = [
        Window(NOON_US + STEP_US, congested, (45.0, 30.0, None, None)),
        Window(NOON_US + 2 * STEP_US, CALM, (3.0, 30.0, None, None)),
    ]
    return keep(windows, run=None, last=None, step_us=STEP_US).records


def test_layout_of_entries_stays_as_it_is_stored() -> None:
    # The part of five minutes since 1970; alarm, part of the threshold and value of the worst
    # window; the same of the last one.
    entry = struct.pack("<IBddBdd", 1_763_640_000 // 300, 1, 1.5, 45.0, 0, 0.1, 3.0)

    assert entry_of(golden_records(), before=b"") == b"\x01" + entry
    assert (GOLDEN / "worst-1.entries").read_bytes() == b"\x01" + entry
    assert (GOLDEN / "worst-0.entries").read_bytes() == entry


@pytest.mark.parametrize("version", [0, 1], ids=["before there was a version", "version 1"])
def test_entries_of_each_version_stay_readable(version: int) -> None:
    row = (GOLDEN / f"worst-{version}.entries").read_bytes()
    later = Window(NOON_US + 3 * STEP_US, CALM, (6.0, 30.0, None, None))

    assert columns_of(row) == [1_763_640_000 // 300]
    assert has_value(row)
    # What was worst stays so; the last one is another.
    entry = struct.pack("<IBddBdd", 1_763_640_000 // 300, 1, 1.5, 45.0, 0, 0.2, 6.0)
    assert entry_of([Record(window=later, carried=None)], before=row) == b"\x01" + entry
    assert columns_of(joined_entries([row, row])) == 2 * columns_of(row)


@pytest.mark.parametrize(
    ("change", "damage"),
    [
        (lambda row: b"\x02" + row[1:], "version 2 of worst windows is not known here"),
        (lambda row: row + b"\x00", "40 bytes are not whole entries"),
        (lambda row: row[:-2], "37 bytes are not whole entries"),
    ],
    ids=["later version", "too long", "cut"],
)
def test_entries_that_were_not_written_here_are_refused(
    change: Callable[[bytes], bytes], damage: str
) -> None:
    row = change((GOLDEN / "worst-1.entries").read_bytes())

    with pytest.raises(DamagedEntriesError, match=damage):
        columns_of(row)


CALM = Saying(state="clear", since_us=NOON_US, reason="", signals="")
SEEN: Cell = (0.1, 3.0, 0)
NOTHING: Cell = (None, None, 0)


def calm_at(*ends_us: int) -> list[Window]:
    return [Window(at_us, CALM, (3.0, 30.0, None, None)) for at_us in ends_us]


@pytest.mark.parametrize(
    ("until", "first_column"),
    [(60, SEEN), (30, NOTHING)],
    ids=["goes on in it", "ends before it"],
)
def test_day_that_begins_within_an_hour_goes_on_with_what_was_before(
    until: int, first_column: Cell
) -> None:
    windows = calm_at(*(NOON_US + place * STEP_US for place in range(1, until + 1)))

    worst = drawn(windows, since_us=NOON_US + PART_US)

    assert cells_of(worst, 1) == [first_column] + [NOTHING] * (DAY_COLUMNS - 1)


def test_column_between_two_runs_is_empty() -> None:
    first = [NOON_US + STEP_US, NOON_US + 2 * STEP_US]
    # A microsecond earlier it would end in the column before.
    second = NOON_US + 2 * PART_US + 1

    worst = drawn(calm_at(*first, second, second + STEP_US))

    assert cells_of(worst, 1)[:4] == [SEEN, NOTHING, SEEN, NOTHING]


def test_windows_as_long_as_a_column_are_all_drawn() -> None:
    windows = calm_at(*(NOON_US + place * PART_US for place in range(1, 5)))

    worst = drawn(windows, step_us=PART_US)

    assert cells_of(worst, 1) == [SEEN] * 4 + [NOTHING] * (DAY_COLUMNS - 4)


def test_calm_hours_are_drawn_from_a_record_an_hour() -> None:
    saying = Saying(state="clear", since_us=NOON_US, reason="", signals="")
    hours = 2
    windows = [
        Window(NOON_US + place * STEP_US, saying, (3.0, 30.0, None, None))
        for place in range(1, hours * HOUR_US // STEP_US + 1)
    ]

    worst = drawn(windows)

    assert cells_of(worst, 1) == [(0.1, 3.0, 0)] * DAY_COLUMNS
