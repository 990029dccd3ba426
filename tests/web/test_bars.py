"""Bars of one unit share a scale, and the longest has nearly all the room."""

from __future__ import annotations

import pytest

from advisor.core.explanation.effect import Effect
from web.drawing.bars import effect_rows
from web.drawing.scale import WIDTH, LengthScale, bar_scale


def effect(before: float | None, after: float | None, unit: str) -> Effect:
    return Effect(quantity="q", before=before, after=after, unit=unit, how="h")


def test_longest_bar_leaves_two_percent_of_room() -> None:
    # 1000 / 1.02 = 980.4
    assert [bar_scale([51.0, None, 102.0]).bar(value) for value in (102.0, 51.0, 0.0)] == [
        980, 490, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("values", [[], [None], [0.0]], ids=["none", "unknown", "zero"])
def test_bars_of_nothing_have_no_length(values: list[float | None]) -> None:
    assert bar_scale(values).bar(0.0) == 0


def test_what_is_below_zero_is_as_long_as_above() -> None:
    assert bar_scale([-51.0, 102.0]).bar(-51.0) == 490


def test_largest_lies_at_the_end() -> None:
    assert (LengthScale(largest=8.0).at(8.0), LengthScale(largest=8.0, length=30).at(2.0)) == (
        WIDTH, 7.5,
    )  # fmt: skip


def test_effects_of_one_unit_share_a_scale_and_others_do_not() -> None:
    rows = effect_rows(
        [effect(102.0, 51.0, "ms"), effect(None, 25.5, "ms"), effect(3.0, 0.0, "ratio")]
    )

    assert [(row.before_width, row.after_width) for row in rows] == [
        (980, 490), (None, 245), (980, 0),
    ]  # fmt: skip
