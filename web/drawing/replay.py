"""A replayed experiment as its page shows it: bars, tables of values, findings with bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.lab.replay.figure import FigureKind
from advisor.lab.replay.finding import Kind
from web.drawing.scale import LengthScale, bar_scale

MOST_ROWS = 40
"""A table of values shows so many moments; more say little that the chart does not."""


def number_text(value: float | None) -> str | None:
    """Four digits, whole numbers from 10,000 on in groups of three; None stays None."""
    if value is None:
        return None
    if abs(value) < 1e4:
        return f"{value:.4g}"
    whole = value if abs(value) < 1e7 else float(f"{value:.4g}")
    return f"{whole:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFinding:
    """One statement of a study beside ours; widths are on a scale of the two.

    `in_words` is the number that stands for a statement without a printed one.
    """

    quantity: str
    unit: str
    study: str | None
    in_words: str | None
    ours: str | None
    tolerance: str | None
    verdict: str
    why: str
    study_width: int
    ours_width: int


def shown_findings(document: Mapping[str, Any]) -> list[ShownFinding]:
    """In the order of the experiment."""
    return [_shown(finding) for finding in document["findings"]]


def _shown(finding: Mapping[str, Any]) -> ShownFinding:
    study, ours = finding["study_value"], finding["value"]
    is_printed = finding["kind"] != Kind.NO_NUMBER
    scale = bar_scale([study, ours])
    return ShownFinding(
        quantity=finding["quantity"],
        unit=finding["unit"],
        study=number_text(study) if is_printed else None,
        in_words=None if is_printed else number_text(study),
        ours=number_text(ours),
        tolerance=number_text(finding["tolerance"]),
        verdict=finding["verdict"],
        why=finding["why"],
        study_width=scale.bar(study or 0.0),
        ours_width=scale.bar(ours or 0.0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar with its colour's place from 1; None is what was not measured.

    What the study prints has the colour of ours before it.
    """

    label: str
    is_printed: bool
    colour: int
    text: str | None
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BarFigure:
    """A figure of bars, one group per place, and the levels that the study prints beside it."""

    name: str
    title: str
    unit: str
    groups: tuple[tuple[str, tuple[Bar, ...]], ...]
    marks: tuple[tuple[str, str], ...]


def bar_figures(document: Mapping[str, Any]) -> list[BarFigure]:
    """The figures of bars, each on a scale of its own."""
    return [
        _bar_figure(figure) for figure in document["figures"] if figure["kind"] == FigureKind.BARS
    ]


def _bar_figure(figure: Mapping[str, Any]) -> BarFigure:
    scale = bar_scale(value for one in figure["series"] for value in one["values"])
    return BarFigure(
        name=figure["name"],
        title=figure["title"],
        unit=figure["y_label"],
        groups=tuple(
            (str(place), tuple(_bars(figure["series"], index, scale)))
            for index, place in enumerate(figure["x"])
        ),
        marks=tuple((one["label"], number_text(one["value"]) or "") for one in figure["marks"]),
    )


def _bars(series: Sequence[Mapping[str, Any]], index: int, scale: LengthScale) -> list[Bar]:
    found: list[Bar] = []
    colour = 0
    for one in series:
        value = one["values"][index]
        colour += not one["is_printed"]
        found.append(
            Bar(
                label=one["label"],
                is_printed=one["is_printed"],
                colour=colour,
                text=number_text(value),
                width=scale.bar(value or 0.0),
            )
        )
    return found


def line_figures(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The figures of lines over a scale that is not time, for the page's script."""
    return [figure for figure in document["figures"] if figure["kind"] == FigureKind.LINES]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTable:
    """The values of one chart for those who cannot see it."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


def value_tables(document: Mapping[str, Any]) -> list[ValueTable]:
    """One per panel, then one per figure of lines; evenly spaced rows of long ones."""
    panels = [
        _table("time (s)", panel["times_s"], panel["series"]) for panel in document["panels"]
    ]
    return panels + [
        _table(figure["x_label"], figure["x"], figure["series"])
        for figure in line_figures(document)
    ]


def _table(head: str, places: Sequence[float], series: Sequence[Mapping[str, Any]]) -> ValueTable:
    step = -(-len(places) // MOST_ROWS) or 1
    return ValueTable(
        heads=(head, *(one["label"] for one in series)),
        rows=tuple(
            (number_text(place), *(number_text(one["values"][index]) for one in series))
            for index, place in enumerate(places)
            if index % step == 0 or index == len(places) - 1
        ),
    )
