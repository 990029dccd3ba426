"""The timeline of an incident as paths: its level above, who loaded it below, on one axis.

Drawings are stretched to the width of the page, so that text and marks stand at percentages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from advisor.core.duration import duration_text
from advisor.core.reporting.incident_timeline import IncidentTimeline, MarkedMoment, Values
from advisor.core.standing import workload_words
from web.drawing.scale import WIDTH, LengthScale
from web.formatting import Scale, level_scale, rate_scale

HEIGHT = 200
HEADROOM = 1.1
MOST_TICKS = 4
WANTED_TICKS = 6
TICK_STEPS_MIN = (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080)
NEAR_PERCENT = 6.5
"""Numbers of moments that are nearer would cover each other on a phone: they stand in rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneTick:
    """A label at so many percent from the top."""

    percent: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeTick:
    percent: float
    at: datetime
    form: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A part of the stack; `place` is its colour, 0 that of all others."""

    name: str
    path: str
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnMoment:
    """A moment with its number; without a place it has no time, or one outside of the drawing.

    `row` counts from 0, where numbers stand below each other.
    """

    number: int
    moment: str
    at: datetime | None
    later: str
    words: str
    percent: float | None
    row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnTimeline:
    """All that the template writes; texts of `said` are for who cannot see it."""

    timeline: IncidentTimeline
    level_label: str
    median: str
    high: str
    threshold: str
    level_ticks: tuple[PaneTick, ...]
    level_grid: str
    level_said: str
    load_label: str
    areas: tuple[Area, ...]
    load_ticks: tuple[PaneTick, ...]
    load_grid: str
    load_said: str
    time_ticks: tuple[TimeTick, ...]
    moments: tuple[DrawnMoment, ...]
    rows: int
    congested: tuple[float, float]
    """Where the incident lies, as begin and width of WIDTH."""


def drawn_timeline(timeline: IncidentTimeline) -> DrawnTimeline:
    """The timeline, drawn; panes without any value have empty paths."""
    level_top = _top([timeline.high, timeline.threshold])
    stacked = _stacked(timeline)
    load_top = _top([values for _, values, _ in stacked[-1:]])
    scale = level_scale(timeline.kind)
    loads = rate_scale(timeline.unit, load_top)
    moments = _moments(timeline)
    level_ticks, load_ticks = _ticks(level_top, scale), _ticks(load_top, loads)
    return DrawnTimeline(
        timeline=timeline,
        level_label=scale.label,
        median=_line(timeline, timeline.median, level_top),
        high=_line(timeline, timeline.high, level_top),
        threshold=_line(timeline, timeline.threshold, level_top),
        level_ticks=level_ticks,
        level_grid=_grid(level_ticks),
        level_said=_level_said(timeline, scale),
        load_label=loads.label,
        areas=tuple(_areas(timeline, stacked, load_top)),
        load_ticks=load_ticks,
        load_grid=_grid(load_ticks),
        load_said=_load_said(timeline, loads),
        time_ticks=_time_ticks(timeline),
        moments=moments,
        rows=1 + max(one.row for one in moments),
        congested=_congested(timeline),
    )


def _top(columns: Sequence[Values]) -> float:
    known = [value for values in columns for value in values if value is not None]
    return max(known, default=0.0) * HEADROOM or 1.0


def _x(timeline: IncidentTimeline, at_s: float) -> float:
    since = timeline.since.timestamp()
    length = timeline.until.timestamp() - since
    return round(min(max((at_s - since) / length, 0.0), 1.0) * WIDTH, 1)


def _y(value: float, top: float) -> float:
    return round(HEIGHT - LengthScale(largest=top, length=HEIGHT).at(value), 1)


def _line(timeline: IncidentTimeline, values: Values, top: float) -> str:
    """A step over each cell, lifted where nothing is known."""
    parts: list[str] = []
    for end_s, value in zip(timeline.ends_s, values, strict=True):
        if value is None:
            continue
        begin, end = _x(timeline, end_s - timeline.step_s), _x(timeline, end_s)
        joined = parts and parts[-1].endswith(f"H{begin}")
        parts.append(f"{'L' if joined else 'M'}{begin} {_y(value, top)}H{end}")
    return "".join(parts)


def _stacked(timeline: IncidentTimeline) -> list[tuple[str, Values, int]]:
    """The parts from below, each with the sum of itself and those below."""
    parts = [
        (workload_words(one.workload), one.values, place)
        for place, one in enumerate(timeline.culprits, start=1)
    ]
    name = "everybody else" if parts else "all workloads"
    below: list[float | None] = [None] * len(timeline.ends_s)
    found = []
    for label, values, place in [*parts, (name, timeline.others, 0)]:
        below = [
            value if under is None else under + (value or 0.0)
            for under, value in zip(below, values, strict=True)
        ]
        found.append((label, tuple(below), place))
    return found


def _areas(
    timeline: IncidentTimeline, stacked: Sequence[tuple[str, Values, int]], top: float
) -> list[Area]:
    """The highest first, so that each lies before the one that is a part of its sum."""
    areas = []
    for name, values, place in stacked:
        steps = [
            f"M{_x(timeline, end_s - timeline.step_s)} {HEIGHT}"
            f"V{_y(value, top)}H{_x(timeline, end_s)}V{HEIGHT}z"
            for end_s, value in zip(timeline.ends_s, values, strict=True)
            if value is not None
        ]
        areas.append(Area(name=name, path="".join(steps), place=place))
    return areas[::-1]


def _ticks(top: float, scale: Scale) -> tuple[PaneTick, ...]:
    """Round numbers in the written unit, from 0 on."""
    most = top / scale.factor
    magnitude = 10.0 ** math.floor(math.log10(most / MOST_TICKS))
    step = next(
        magnitude * factor for factor in (1, 2, 5, 10) if most / (magnitude * factor) <= MOST_TICKS
    )
    return tuple(
        PaneTick(
            percent=100 * (1 - place * step / most), text=scale.text(place * step * scale.factor)
        )
        for place in range(math.floor(most / step) + 1)
    )


def _grid(ticks: Sequence[PaneTick]) -> str:
    return "".join(f"M0 {round(one.percent / 100 * HEIGHT, 1)}H{WIDTH}" for one in ticks)


def _time_ticks(timeline: IncidentTimeline) -> tuple[TimeTick, ...]:
    """At round times of UTC, at most so many that labels stay apart."""
    length = timeline.until - timeline.since
    wanted_min = length.total_seconds() / 60 / WANTED_TICKS
    step_min = next((one for one in TICK_STEPS_MIN if one >= wanted_min), TICK_STEPS_MIN[-1])
    step = timedelta(minutes=step_min)
    midnight = timeline.since.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    at = midnight + math.ceil((timeline.since - midnight) / step) * step
    form = "%H:%M" if length < timedelta(days=1) else "%m-%d %H:%M"
    found = []
    while at <= timeline.until:
        found.append(
            TimeTick(percent=_x(timeline, at.timestamp()) / WIDTH * 100, at=at, form=form)
        )
        at += step
    return tuple(found)


def _moments(timeline: IncidentTimeline) -> tuple[DrawnMoment, ...]:
    started = timeline.moments[0].at
    last_of_row: list[float] = []
    found = []
    for number, one in enumerate(timeline.moments, start=1):
        percent = _place(timeline, one)
        row = 0
        if percent is not None:
            row = next(
                (
                    row
                    for row, last in enumerate(last_of_row)
                    if abs(percent - last) >= NEAR_PERCENT
                ),
                len(last_of_row),
            )
            last_of_row[row:] = [percent, *last_of_row[row + 1 :]]
        found.append(
            DrawnMoment(
                number=number,
                moment=one.moment,
                at=one.at,
                later=_later(started, one),
                words=one.words,
                percent=percent,
                row=row,
            )
        )
    return tuple(found)


def _place(timeline: IncidentTimeline, one: MarkedMoment) -> float | None:
    if one.at is None or not timeline.since <= one.at <= timeline.until:
        return None
    return _x(timeline, one.at.timestamp()) / WIDTH * 100


def _later(started: datetime | None, one: MarkedMoment) -> str:
    """How long after the begin."""
    if started is None or one.at is None or one.at == started:
        return ""
    apart = duration_text(abs(one.at - started))
    return f"{apart} later" if one.at > started else f"{apart} before"


def _congested(timeline: IncidentTimeline) -> tuple[float, float]:
    begin, end = timeline.moments[0].at, timeline.moments[-1].at
    left = _x(timeline, (begin or timeline.since).timestamp())
    return left, round(_x(timeline, (end or timeline.until).timestamp()) - left, 1)


def _level_said(timeline: IncidentTimeline, scale: Scale) -> str:
    median = [value for value in timeline.median if value is not None]
    high = [value for value in timeline.high if value is not None]
    thresholds = [value for value in timeline.threshold if value is not None]
    if not high:
        return "no value in this time"
    said = f"up to {scale.with_unit(max(high))} in 95 % of windows, {scale.with_unit(max(median))}"
    said += " in half of them"
    return f"{said}; threshold {scale.with_unit(thresholds[-1])}" if thresholds else said


def _load_said(timeline: IncidentTimeline, scale: Scale) -> str:
    parts = [(workload_words(one.workload), one.values) for one in timeline.culprits]
    parts.append(("everybody else" if parts else "all workloads", timeline.others))
    said = []
    for name, values in parts:
        known = [value for value in values if value is not None]
        said.append(f"{name} up to {scale.with_unit(max(known))}" if known else f"{name} unknown")
    return ", ".join(said)
