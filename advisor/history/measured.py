"""What counters grew by on a grid of windows, each subject read once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.core.figures import FigureKind, FiguresT
from ingest.core.grid import Grid, GridGrowth
from ingest.grid_reader import SeriesOfSubjects, Subject, read_growths


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """What was read of subjects of several kinds, each subject once, on one grid."""

    grid: Grid
    places: Mapping[FigureKind[Any], Mapping[Subject, int]]
    growth: Mapping[FigureKind[Any], GridGrowth]

    def figures(self, kind: FigureKind[FiguresT], subjects: Sequence[Subject]) -> FiguresT:
        """Those of the subjects, which were all read, a column for each in the order given."""
        places = self.places[kind]
        return kind.figures(self.growth[kind].chosen([places[one] for one in subjects]))


def read_measured(
    wanted: Mapping[FigureKind[Any], Collection[Subject]],
    grid: Grid,
    *,
    known: SeriesOfSubjects | None = None,
) -> Measured:
    """What each subject did in each window; one that is wanted twice is read once.

    `known` are the series of just these subjects, none of which is wanted twice.
    """
    once = {kind: list(dict.fromkeys(subjects)) for kind, subjects in wanted.items()}
    return Measured(
        grid=grid,
        places={kind: {one: at for at, one in enumerate(own)} for kind, own in once.items()},
        growth=read_growths(once, grid, known=known),
    )
