"""A picture keeps to its box, and says in words what it shows."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advisor.advice.shared.picture import Axis, Column, Level, Line, Picture
from web.drawing.picture import HEIGHT, drawing_of
from web.drawing.scale import WIDTH

AMOUNT = st.floats(min_value=0, max_value=1e9, allow_nan=False)


def picture(**parts: object) -> Picture:
    return Picture(title="t", said="s", x=Axis(label="x"), y=Axis(label="y"), **parts)


@given(st.lists(st.tuples(AMOUNT, AMOUNT), min_size=1, max_size=20), AMOUNT)
@example([(0.0, 5e-324)], 0.0)
def test_everything_lies_in_the_box(points: list[tuple[float, float]], level: float) -> None:
    drawn = drawing_of(
        picture(
            dots=tuple(points),
            lines=(Line(label="l", points=tuple(points)),),
            levels=(Level(value=level, text="level"),),
        )
    )

    for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", drawn.dots + drawn.lines[0].path):
        assert 0 <= float(x) <= WIDTH
        assert 0 <= float(y) <= HEIGHT
    assert all(0 <= tick.percent <= 100 for tick in (*drawn.x_ticks, *drawn.y_ticks))
    assert 0 <= drawn.levels[0].percent <= 100


def test_ticks_are_round_numbers_from_zero() -> None:
    drawn = drawing_of(picture(dots=((32.0, 10.0),)))

    # 32 in at most five steps of 1, 2 or 5 times a power of ten: steps of 10
    assert [tick.text for tick in drawn.x_ticks] == ["0", "10", "20", "30"]
    assert [tick.percent for tick in drawn.x_ticks] == pytest.approx([0, 31.25, 62.5, 93.75])


def test_columns_that_are_chosen_are_drawn_apart() -> None:
    columns = tuple(Column(at=float(at), value=1.0, is_after=at == 1) for at in range(4))

    drawn = drawing_of(picture(columns=columns))

    assert (drawn.columns.count("M"), drawn.columns_after.count("M")) == (3, 1)


def test_line_is_lifted_at_a_gap() -> None:
    line = Line(label="l", points=((0.0, 1.0), (1.0, 1.0), None, (3.0, 1.0), (4.0, 1.0)))

    drawn = drawing_of(picture(lines=(line,)))

    assert [part[0] for part in re.findall(r"[ML]", drawn.lines[0].path)] == ["M", "L", "M", "L"]
