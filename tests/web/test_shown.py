"""Numbers as pages show them."""

from __future__ import annotations

import pytest

from web.templatetags.shown import percent, percent_number


@pytest.mark.parametrize(
    ("ratio", "text"), [(-0.004, "0"), (0.004, "0"), (-0.006, "-1"), (0.256, "26"), (1.0, "100")]
)
def test_part_is_a_whole_number_and_nothing_has_no_sign(ratio: float, text: str) -> None:
    assert percent(ratio) == f"{text}\N{NO-BREAK SPACE}%"
    assert percent_number(ratio) == text
