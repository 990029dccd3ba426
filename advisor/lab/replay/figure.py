"""A figure of an experiment, drawn from our numbers: lines over time or a scale, or bars."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class FigureKind(StrEnum):
    """How a figure is read."""

    OVER_TIME = "over time"
    LINES = "lines"
    BARS = "bars"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line or one colour of bars; None where there was nothing to measure.

    What `is_printed` comes from the study, and stands beside the series of ours before it.
    """

    label: str
    values: tuple[float | None, ...]
    is_printed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A number printed beside the experiment, drawn as a labelled level."""

    label: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """From when on something else happens in a figure over time."""

    at_s: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`name` says which figure of the study it redraws; `x` holds seconds, numbers or words.

    `is_logarithmic` is about the scale of the values.
    """

    name: str
    title: str
    kind: FigureKind
    x_label: str
    y_label: str
    x: tuple[float | str, ...]
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()
    phases: tuple[Phase, ...] = ()
    is_logarithmic: bool = False

    def __post_init__(self) -> None:
        for one in self.series:
            if len(one.values) != len(self.x):
                raise ValueError(
                    f"{self.name}, {one.label}: {len(one.values)} values for {len(self.x)} places"
                )


def bars(
    name: str,
    title: str,
    y_label: str,
    *,
    places: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    printed: Mapping[str, Sequence[float | None]] | None = None,
    marks: Mapping[str, float] | None = None,
) -> Figure:
    """Bars, one group per place; `printed` holds the study's values by the label of ours."""
    return Figure(
        name=name,
        title=title,
        kind=FigureKind.BARS,
        x_label="",
        y_label=y_label,
        x=tuple(places),
        series=tuple(_beside_printed(series, printed or {})),
        marks=_marks(marks),
    )


def lines(
    name: str,
    title: str,
    *,
    x_label: str,
    y_label: str,
    x: Sequence[float],
    series: Mapping[str, Sequence[float | None]],
    marks: Mapping[str, float] | None = None,
) -> Figure:
    """Lines over a scale that is not time."""
    return Figure(
        name=name,
        title=title,
        kind=FigureKind.LINES,
        x_label=x_label,
        y_label=y_label,
        x=tuple(x),
        series=_series(series),
        marks=_marks(marks),
    )


def over_time(
    name: str,
    title: str,
    y_label: str,
    *,
    times_s: Sequence[float],
    series: Mapping[str, Sequence[float | None]],
    printed: Mapping[str, Sequence[float | None]] | None = None,
    marks: Mapping[str, float] | None = None,
    phases: Mapping[float, str] | None = None,
    is_logarithmic: bool = False,
) -> Figure:
    """Lines over simulated time; each value is that of the bucket ending then.

    `printed` holds the study's values by the label of ours, None where it prints none.
    """
    return Figure(
        name=name,
        title=title,
        kind=FigureKind.OVER_TIME,
        x_label="time (s)",
        y_label=y_label,
        x=tuple(times_s),
        series=tuple(_beside_printed(series, printed or {})),
        marks=_marks(marks),
        phases=tuple(
            Phase(at_s=at_s, label=label) for at_s, label in sorted((phases or {}).items())
        ),
        is_logarithmic=is_logarithmic,
    )


def _beside_printed(
    series: Mapping[str, Sequence[float | None]], printed: Mapping[str, Sequence[float | None]]
) -> Iterator[Series]:
    for ours in _series(series):
        yield ours
        if ours.label in printed:
            label = f"{ours.label}, study" if len(series) > 1 else "study"
            yield Series(label=label, values=tuple(printed[ours.label]), is_printed=True)


def _series(series: Mapping[str, Sequence[float | None]]) -> tuple[Series, ...]:
    return tuple(Series(label=label, values=tuple(values)) for label, values in series.items())


def _marks(marks: Mapping[str, float] | None) -> tuple[Mark, ...]:
    return tuple(Mark(label=label, value=value) for label, value in (marks or {}).items())
