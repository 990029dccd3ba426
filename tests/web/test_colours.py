"""Colours of series can be told apart, in both themes."""

from __future__ import annotations

import math
import re
from itertools import combinations
from pathlib import Path

import pytest

STYLES = Path(__file__).parents[2] / "web/static"
FILES = {"light": "sluice.css", "dark": "dark.css"}
LEAST_DISTANCE = 0.11
"""In Oklab, where 0.02 is just noticeable side by side (Ottosson 2020)."""
LEAST_CONTRAST = 3.0
"""Of graphics against their ground (WCAG 2.2, 1.4.11)."""


def colours(theme: str) -> dict[str, str]:
    style = (STYLES / FILES[theme]).read_text()
    own = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)[0]
    return dict(re.findall(r"--(series-\d|surface): (#[0-9a-f]{6});", own))


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def oklab(colour: str) -> tuple[float, float, float]:
    red, green, blue = linear(colour)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_eight_series_and_the_rest_are_told_apart(theme: str) -> None:
    found = colours(theme)
    series = [colour for name, colour in found.items() if name.startswith("series")]

    assert len(series) == 9
    nearest = min(
        (math.dist(oklab(one), oklab(other)), one, other) for one, other in combinations(series, 2)
    )
    assert nearest[0] >= LEAST_DISTANCE, nearest


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_series_stand_out_from_their_ground(theme: str) -> None:
    found = colours(theme)
    ground = luminance(found.pop("surface"))

    for colour in found.values():
        light, dark = sorted((luminance(colour), ground), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= LEAST_CONTRAST, colour


def test_distance_knows_two_pinks_from_a_pink_and_a_green() -> None:
    """The two colours that could not be told apart in a stack of seven."""
    assert math.dist(oklab("#b0549a"), oklab("#c05577")) < LEAST_DISTANCE
    assert math.dist(oklab("#b0549a"), oklab("#15806b")) > LEAST_DISTANCE
