"""What a plot shows, before anything is drawn: sheets of panels, each of bars and courses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NOT_RUN = "not run"
NOT_PRINTED = "no number printed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One class: the study's number, ours, and a mark beside both; None is not there.

    `printed` is how the study says its number, or why it has none.
    """

    label: str
    study: float | None = None
    printed: str = ""
    ours: float | None = None
    mark: float | None = None

    @property
    def study_text(self) -> str:
        """For instance `at most 1.15`."""
        if self.study is None:
            return self.printed or NOT_PRINTED
        return f"{self.printed} {number(self.study)}".strip()

    @property
    def ours_text(self) -> str:
        """The number, or that there is none."""
        return NOT_RUN if self.ours is None else number(self.ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A number over the intervals of a run with its bound; None in an interval without one.

    Without `values` it was not run.
    """

    title: str
    unit: str
    values: Sequence[float | None]
    bound: float
    bound_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One experiment: `notes` say what was asked and measured, or why nothing was."""

    title: str
    unit: str
    source: str
    bars: Sequence[Bar]
    mark_text: str = ""
    notes: Sequence[str] = ()
    course: Course | None = None
    is_logarithmic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One study, one file of this name."""

    name: str
    title: str
    panels: Sequence[Panel]


def number(value: float) -> str:
    """Three digits, whole from 1,000 on."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
