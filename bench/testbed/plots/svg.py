"""A sheet as one SVG file: read on light and dark ground, and by screen readers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap
from xml.etree import ElementTree as ET

from bench.testbed.plots.scale import Scale
from bench.testbed.plots.sheet import NOT_RUN, Bar, Course, Panel, Sheet, number

WIDTH, EDGE = 980.0, 20.0
BARS_FROM, BARS_TO = 200.0, 640.0
NUMBERS_AT = 652.0
LINE, BAR, BAR_GAP, COURSE = 16.0, 11.0, 10.0, 140.0
LETTERS = 150
"""As many of the small ones fit a line."""
STYLE = """
svg { --ground: #ffffff; --text: #17212b; --muted: #55626f; --line: #dde2e7; --ours: #0b5c8f;
  --study: #75828e; --mark: #b03606; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { svg { --ground: #11161c; --text: #e4e9ee; --muted: #9eabb7;
  --line: #2b343e; --ours: #74b9ea; --study: #8b98a5; --mark: #ff9266; } }
text { font: 12px system-ui, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif;
  fill: var(--text); }
.sheet { font-size: 19px; font-weight: 600; } .panel { font-size: 14px; font-weight: 600; }
.small { font-size: 11px; fill: var(--muted); } .end { text-anchor: end; }
.middle { text-anchor: middle; } .ground { fill: var(--ground); }
.axis { stroke: var(--line); } .ours { fill: var(--ours); stroke: var(--ours); }
.study { fill: var(--study); fill-opacity: 0.35; stroke: var(--study); }
.mark { stroke: var(--mark); stroke-width: 2.5; }
.bound { stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 6 3; }
.course { fill: none; stroke: var(--ours); stroke-width: 1.5; }
"""
# XML knows no other characters, and an error's text may have them.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def draw(sheet: Sheet) -> str:
    """The whole file; the same sheet gives the same text."""
    svg = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", role="img")
    svg.set("aria-labelledby", "title desc")
    ET.SubElement(svg, "title", id="title").text = _legal(f"{sheet.title}: measured beside it")
    ET.SubElement(svg, "desc", id="desc").text = _legal(" ".join(_said(sheet)))
    ET.SubElement(svg, "style").text = STYLE
    ET.SubElement(svg, "rect", {"class": "ground", "width": "100%", "height": "100%"})
    y = EDGE + LINE
    _text(svg, EDGE, y, sheet.title, "sheet")
    for panel in sheet.panels:
        y = _panel(svg, panel, y + 2 * LINE)
    height = f"{y + EDGE:g}"
    svg.set("width", f"{WIDTH:g}")
    svg.set("height", height)
    svg.set("viewBox", f"0 0 {WIDTH:g} {height}")
    return ET.tostring(svg, encoding="unicode") + "\n"


def _said(sheet: Sheet) -> Iterator[str]:
    """All numbers in words."""
    for panel in sheet.panels:
        yield f"{panel.title}; {panel.unit}."
        for bar in panel.bars:
            mark = "" if bar.mark is None else f", {panel.mark_text} {number(bar.mark)}"
            yield f"{bar.label}: study {bar.study_text}, ours {bar.ours_text}{mark}."
        if panel.course:
            yield f"{panel.course.title}: {_course_text(panel.course)}."


def _panel(svg: ET.Element, panel: Panel, y: float) -> float:
    """Draws from this height on; where the next one may begin."""
    _text(svg, EDGE, y, panel.title, "panel")
    for line in wrap(f"Study: {panel.source}", LETTERS):
        y += LINE
        _text(svg, EDGE, y, line, "small")
    if panel.bars:
        y = _bars(svg, panel, y + LINE)
    if panel.course:
        y = _course(svg, panel.course, y + LINE)
    for note in panel.notes:
        for line in wrap(_legal(note), LETTERS):
            y += LINE
            _text(svg, EDGE, y, line, "small")
    return y


def _bars(svg: ET.Element, panel: Panel, y: float) -> float:
    scale = _scale(panel)
    y = _legend(svg, panel, y)
    height = len(panel.bars) * (2 * BAR + BAR_GAP)
    for tick in scale.ticks():
        x = scale.at(tick)
        _line(svg, "axis", (x, y), (x, y + height))
        _text(svg, x, y + height + LINE - 3, number(tick), "small middle")
    _text(svg, NUMBERS_AT, y + height + LINE - 3, panel.unit, "small")
    for bar in panel.bars:
        _bar(svg, bar, scale, y + BAR_GAP / 2, panel.mark_text)
        y += 2 * BAR + BAR_GAP
    return y + LINE


def _scale(panel: Panel) -> Scale:
    values = [
        value
        for bar in panel.bars
        for value in (bar.study, bar.ours, bar.mark)
        if value is not None
    ]
    return Scale.over(values, start=BARS_FROM, end=BARS_TO, is_logarithmic=panel.is_logarithmic)


def _legend(svg: ET.Element, panel: Panel, y: float) -> float:
    x = BARS_FROM
    for kind, word in (("study", "study"), ("ours", "ours")):
        _rect(svg, kind, (x, y - 8), (18, 8))
        _text(svg, x + 24, y, word, "small")
        x += 80
    if panel.mark_text:
        _line(svg, "mark", (x, y - 10), (x, y + 2))
        _text(svg, x + 8, y, panel.mark_text, "small")
    return y + LINE / 2


def _bar(svg: ET.Element, bar: Bar, scale: Scale, y: float, mark_text: str) -> None:
    _text(svg, BARS_FROM - 8, y + BAR + 4, bar.label, "end")
    rows = (("study", bar.study, bar.study_text), ("ours", bar.ours, bar.ours_text))
    for place, (kind, value, said) in enumerate(rows):
        top = y + place * BAR
        if value is not None:
            low, high = sorted((scale.base, scale.at(value)))
            drawn = _rect(svg, kind, (low, top + 1), (high - low, BAR - 2))
            ET.SubElement(drawn, "title").text = _legal(f"{bar.label}, {kind}: {said}")
        mark = f"; {mark_text} {number(bar.mark)}" if place and bar.mark is not None else ""
        _text(svg, NUMBERS_AT, top + BAR - 1, f"{kind}: {said}{mark}", "small")
    if bar.mark is not None:
        x = scale.at(bar.mark)
        _line(svg, "mark", (x, y - 2), (x, y + 2 * BAR + 2))


def _course(svg: ET.Element, course: Course, y: float) -> float:
    _text(svg, EDGE, y, f"{course.title} ({course.unit})")
    top, bottom = y + LINE / 2, y + LINE / 2 + COURSE
    known = [value for value in course.values if value is not None]
    scale = Scale.over([*known, course.bound], start=bottom, end=top, is_logarithmic=False)
    for tick in scale.ticks():
        _line(svg, "axis", (EDGE + 50, scale.at(tick)), (NUMBERS_AT, scale.at(tick)))
        _text(svg, EDGE + 44, scale.at(tick) + 4, number(tick), "small end")
    bound = scale.at(course.bound)
    _line(svg, "bound", (EDGE + 50, bound), (NUMBERS_AT, bound))
    _text(svg, NUMBERS_AT + 8, bound + 4, f"{course.bound_text} {number(course.bound)}", "small")
    step = (NUMBERS_AT - EDGE - 50) / max(1, len(course.values) - 1)
    for points in _pieces(course.values):
        places = " ".join(f"{EDGE + 50 + x * step:.1f},{scale.at(v):.1f}" for x, v in points)
        ET.SubElement(svg, "polyline", {"class": "course", "points": places})
    _text(svg, NUMBERS_AT + 8, bottom, _course_text(course), "small")
    _text(svg, EDGE + 50, bottom + LINE - 3, "intervals of a second, one after the other", "small")
    return bottom + LINE


def _course_text(course: Course) -> str:
    """How many intervals there are, and those with the least and the most."""
    known = [value for value in course.values if value is not None]
    if not known:
        return NOT_RUN
    return f"{len(known)} intervals, {number(min(known))} to {number(max(known))}"


def _pieces(values: Sequence[float | None]) -> Iterator[list[tuple[int, float]]]:
    """The points between gaps, each with its place."""
    piece: list[tuple[int, float]] = []
    for place, value in enumerate([*values, None]):
        if value is not None:
            piece.append((place, value))
        elif piece:
            # A point alone is drawn as a dash.
            yield piece if len(piece) > 1 else [*piece, (piece[0][0] + 1, piece[0][1])]
            piece = []


def _legal(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


def _text(svg: ET.Element, x: float, y: float, text: str, kind: str = "") -> None:
    made = ET.SubElement(svg, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}"})
    if kind:
        made.set("class", kind)
    made.text = _legal(text)


def _rect(
    svg: ET.Element, kind: str, corner: tuple[float, float], size: tuple[float, float]
) -> ET.Element:
    numbers = zip(("x", "y", "width", "height"), (*corner, *size), strict=True)
    places = {name: f"{value:.1f}" for name, value in numbers}
    return ET.SubElement(svg, "rect", {"class": kind, **places})


def _line(
    svg: ET.Element, kind: str, start: tuple[float, float], end: tuple[float, float]
) -> None:
    places = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    ET.SubElement(
        svg, "line", {"class": kind, **{name: f"{value:.1f}" for name, value in places.items()}}
    )
