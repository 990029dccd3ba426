"""One incident on one axis of time: how slow it was, who loaded it, and what was done when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Values = tuple[float | None, ...]

MEDIAN, HIGH = 50, 95


class Moment(StrEnum):
    """What is marked on the axis, in the order in which it usually happens."""

    STARTED = "started"
    DETECTED = "detected"
    RECOMMENDED = "recommended"
    APPROVED = "approved"
    EFFECTIVE = "effective"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedMoment:
    """A moment and when it was; without a time `words` says why, with one what is to add."""

    moment: Moment
    at: datetime | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineLoad:
    """What one workload got in each cell, in the unit of the resource; None was not measured."""

    workload: str
    values: Values


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentTimeline:
    """Cells of `step_s`, which end at `ends_s`; all columns are (cells).

    Half of the judged windows of a cell were at most `median`, 95 % at most `high`, in the unit of
    the level of this `kind` of resource. `threshold` is that of its last window. `culprits` are
    those above their entitlement, the worst first, and `others` is what all else got.
    """

    kind: str
    unit: str
    since: datetime
    until: datetime
    step_s: int
    ends_s: tuple[int, ...]
    median: Values
    high: Values
    threshold: Values
    culprits: tuple[TimelineLoad, ...]
    others: Values
    moments: tuple[MarkedMoment, ...]

    @property
    def has_level(self) -> bool:
        """Whether any window of it has a value."""
        return any(value is not None for value in self.high)

    @property
    def has_load(self) -> bool:
        """Whether any rate was measured."""
        loads = [self.others, *(one.values for one in self.culprits)]
        return any(value is not None for values in loads for value in values)


def quantiles_of_cells(places: Integers, values: Floats, *, cells: int) -> tuple[Values, Values]:
    """The median and the 95th percentile of each cell, as PostgreSQL's percentile_disc.

    `places` are the cells of the values, both (windows), in order; -1 is outside, NaN not known.
    """
    median: list[float | None] = [None] * cells
    high: list[float | None] = [None] * cells
    known = (places >= 0) & ~np.isnan(values)
    found, begins = np.unique(places[known], return_index=True)
    for cell, own in zip(found.tolist(), np.split(values[known], begins[1:]), strict=False):
        low, top = np.percentile(own, [MEDIAN, HIGH], method="inverted_cdf")
        median[cell], high[cell] = float(low), float(top)
    return tuple(median), tuple(high)


def last_of_cells(places: Integers, values: Floats, *, cells: int) -> Values:
    """The newest value of each cell that is known."""
    found: list[float | None] = [None] * cells
    for cell, value in zip(places.tolist(), values.tolist(), strict=True):
        if cell >= 0 and value == value:
            found[cell] = value
    return tuple(found)


def rest_of(total: Sequence[float | None], parts: Sequence[Values]) -> Values:
    """What is left of the total in each cell; None where that was not measured."""
    return tuple(
        None if whole is None else max(0.0, whole - sum(values[place] or 0.0 for values in parts))
        for place, whole in enumerate(total)
    )
