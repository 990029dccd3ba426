"""The growth of a cgroup's I/O beside that of its pressure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingest.core.grid import Integers
from ingest.core.growth_columns import GrowthColumns, growth_columns
from ingest.core.rates import PRESSURE_COUNTERS, UNKNOWN


def with_pressure(
    growth: GrowthColumns, pressure: Sequence[tuple[Integers, Integers]], *, longest_s: float
) -> GrowthColumns:
    """Each interval with the pressure of the same one, from the readings of several series.

    Both come from the same gather, so they belong together when their times are equal. Of
    several readings at one time the last one given counts.
    """
    waits = np.full((len(growth.at_us), len(PRESSURE_COUNTERS)), UNKNOWN, dtype=np.int64)
    if pressure:
        found = growth_columns(*_together(pressure), longest_s=longest_s)
        _, own, other = np.intersect1d(
            growth.at_us, found.at_us, assume_unique=True, return_indices=True
        )
        same = growth.interval_us[own] == found.interval_us[other]
        waits[own[same]] = found.growth[other[same]]
    return growth.beside(waits)


def _together(readings: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """The readings of several series in order of time; of those at one time the last one given."""
    at_us = np.concatenate([times for times, _ in readings])
    order = np.argsort(at_us, kind="stable")
    order = order[np.append(np.diff(at_us[order]) > 0, True)]
    return at_us[order], np.concatenate([counters for _, counters in readings])[order]
