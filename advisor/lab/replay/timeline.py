"""A replay as a page plays it: what changed over time, panel by panel, on one clock."""

from dataclasses import dataclass

from advisor.lab.replay.experiment import Replay
from advisor.lab.replay.figure import Figure, FigureKind, Mark, Phase, Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart; `times_s` are the ends of the buckets of time that the values belong to."""

    name: str
    title: str
    unit: str
    times_s: tuple[float, ...]
    series: tuple[Series, ...]
    marks: tuple[Mark, ...]
    phases: tuple[Phase, ...]
    is_logarithmic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """An experiment's panels, to be played from 0 to `duration_s`; none if nothing changes."""

    experiment: str
    study: str
    title: str
    duration_s: float
    panels: tuple[Panel, ...]


def timeline_of(replay: Replay) -> Timeline:
    """The figures over time of a replay, as panels."""
    panels = tuple(_panel(figure) for figure in replay.figures if _is_over_time(figure))
    ends = [panel.times_s[-1] for panel in panels if panel.times_s]
    return Timeline(
        experiment=replay.experiment,
        study=replay.study,
        title=replay.title,
        duration_s=max(ends, default=0.0),
        panels=panels,
    )


def _is_over_time(figure: Figure) -> bool:
    return figure.kind is FigureKind.OVER_TIME


def _panel(figure: Figure) -> Panel:
    return Panel(
        name=figure.name,
        title=figure.title,
        unit=figure.y_label,
        times_s=tuple(float(time) for time in figure.x),
        series=figure.series,
        marks=figure.marks,
        phases=figure.phases,
        is_logarithmic=figure.is_logarithmic,
    )
