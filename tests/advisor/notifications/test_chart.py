"""The chart of a message, as text and as a picture that another program reads."""

from __future__ import annotations

from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from advisor.notifications.chart import (
    CALM,
    CONGESTED,
    HEIGHT_PX,
    PAPER,
    THRESHOLD,
    WIDTH_PX,
    Course,
    chart_png,
    shorter,
)

values = st.lists(st.none() | st.floats(0, 1e12), max_size=200)


def picture(course: Course) -> Image.Image:
    image = Image.open(BytesIO(chart_png(course)))
    image.load()
    return image


def colours(image: Image.Image, at_px: int) -> list[int]:
    """Of a column, from the bottom."""
    return [int(image.getpixel((at_px, row))) for row in reversed(range(HEIGHT_PX))]  # type: ignore[arg-type]  # Of a palette.


@given(found=values, threshold=st.none() | st.floats(0, 1e12))
def test_every_course_is_a_picture_of_one_size_and_a_line_of_text(
    found: list[float | None], threshold: float | None
) -> None:
    course = Course(values=tuple(found), threshold=threshold, words="load")

    image = picture(course)

    assert (image.format, image.mode, image.size) == ("PNG", "P", (WIDTH_PX, HEIGHT_PX))
    assert len(course.bars) <= 30
    assert len(chart_png(course)) < 8000


@given(found=values, most=st.integers(1, 60))
def test_shortened_course_keeps_what_is_highest(found: list[float | None], most: int) -> None:
    short = shorter(found, most)

    known = [value for value in found if value is not None]
    assert len(short) <= most
    assert max((one for one in short if one is not None), default=None) == max(known, default=None)


def test_bars_are_as_high_as_their_values_and_gaps_are_empty() -> None:
    image = picture(Course(values=(10.0, None, 5.0, 20.0), threshold=None, words=""))

    heights = [
        sum(one != PAPER for one in colours(image, at * WIDTH_PX // 4 + 60)) for at in range(4)
    ]

    # The highest has 1 / 1.15 of the height.
    highest = round(HEIGHT_PX / 1.15)
    assert heights == [round(highest / 2), 0, round(highest / 4), highest]


def test_what_is_above_the_threshold_has_another_colour() -> None:
    image = picture(Course(values=(10.0, 20.0), threshold=15.0, words=""))

    assert colours(image, 123)[0] == CALM
    assert colours(image, 363)[0] == CONGESTED
    dashed = [THRESHOLD in colours(image, at) for at in range(24)]
    assert dashed == ([True] * 6 + [False] * 6) * 2
    assert image.getpalette()[:3] == [255, 255, 255]  # type: ignore[index]  # It has one.


def test_text_has_a_space_where_nothing_was_measured() -> None:
    course = Course(values=(0.0, 4.0, None, 8.0), threshold=None, words="")

    assert course.bars == "▁▅ █"
