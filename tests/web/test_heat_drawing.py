"""The strips of the overview: heights that show calm and congestion alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.queries.heat import COLUMNS, LEVELS, Level, Strip
from advisor.queries.resources import ResourceLine
from web.drawing.heat import HEIGHT, THRESHOLD_Y, heat_row
from web.drawing.sparkline import HEIGHT as SPARK_HEIGHT
from web.drawing.sparkline import WIDTH as SPARK_WIDTH
from web.drawing.sparkline import sparkline

LINE = ResourceLine(
    pk=1, name="gold-01", kind="datastore", unit="iops", capacity=None, state="clear",
    shown_state="clear", is_stale=False, state_since=None, value=2.0, threshold=30.0, reason="",
    looked_at=None, advice_gap="",
)  # fmt: skip


def strip_of(columns: Sequence[tuple[Level | None, float]]) -> Strip:
    """Each column's level and ratio to a threshold of 30."""
    ratio = np.array([ratio for _, ratio in columns])
    return Strip(
        since=datetime(2026, 11, 20, tzinfo=UTC),
        levels=np.array([LEVELS.index(level) for level, _ in columns], dtype=np.uint8),
        ratio=ratio,
        value=ratio * 30,
    )


def height(ratio: float) -> int:
    ((_, path),) = heat_row(LINE, strip_of([(Level.CALM, ratio)] * COLUMNS)).paths
    found = re.match(r"M0 \d+v-(\d+)", path)
    assert found
    return int(found[1])


def test_two_of_thirty_milliseconds_are_seen() -> None:
    # 16 of height are the threshold: 16 × (1 + log10(2/30) / 2) = 6.6.
    assert height(2 / 30) == 7


@pytest.mark.parametrize(
    ("ratio", "wanted"),
    [(1.0, HEIGHT - THRESHOLD_Y), (0.1, 8), (10.0, HEIGHT), (0.001, 2), (0.0, 2), (99.0, HEIGHT)],
    ids=["threshold", "a tenth", "ten times", "next to nothing", "nothing", "beyond"],
)
def test_height_is_logarithmic(ratio: float, wanted: int) -> None:
    assert height(ratio) == wanted


@given(one=st.floats(0, 100), other=st.floats(0, 100))
def test_more_is_never_lower(one: float, other: float) -> None:
    low, high = sorted((one, other))

    assert height(low) <= height(high) <= HEIGHT


def test_bars_of_one_level_and_height_are_drawn_as_one() -> None:
    nothing, stalled = (None, float("nan")), (Level.STALLED, float("nan"))
    strip = strip_of(
        [
            (Level.CALM, 0.1),
            (Level.CALM, 0.1),
            (Level.CALM, 1.0),
            nothing,
            stalled,
            (Level.CALM, 1),
        ]
    )

    drawn = heat_row(LINE, strip)

    # A tenth of the threshold is 8 high, the threshold 16; what stalled is as high as can be.
    assert dict(drawn.paths) == {
        "calm": "M0 24v-8h2v8zM2 24v-16h1v16zM5 24v-16h1v16z",
        "missing": "M3 24v-2h1v2z",
        "stalled": "M4 24v-24h1v24z",
    }
    assert drawn.values == "c3.00,c3.00,c30.0,,s,c30.0"


VALUES = st.lists(st.none() | st.floats(0, 1e12), min_size=1, max_size=60)


@given(values=VALUES)
def test_sparkline_stays_in_its_box_and_has_a_gap_per_gap(values: list[float | None]) -> None:
    drawn = sparkline(values, said="x")

    known = [value is not None for value in values]
    if not any(known):
        assert drawn is None
        return
    assert drawn is not None
    runs = sum(1 for at, here in enumerate(known) if here and (at == 0 or not known[at - 1]))
    assert drawn.path.count("M") == runs
    for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", drawn.path):
        assert 0 <= float(x) <= SPARK_WIDTH
        assert 0 <= float(y) <= SPARK_HEIGHT


def test_level_far_above_a_sparkline_does_not_flatten_it() -> None:
    assert sparkline([1.0, 2.0], said="x", level=5.0).level_y is None  # type: ignore[union-attr]
    assert sparkline([1.0, 2.0], said="x", level=4.0).level_y == 1.5  # type: ignore[union-attr]
