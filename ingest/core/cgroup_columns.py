"""Rates of a cgroup from columns: what `derive_cgroup_rates` tells, of very many readings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingest.core.growth_columns import GrowthColumns, Integers, growth_columns
from ingest.core.microseconds import moment
from ingest.core.rates import CGROUP_COUNTERS, PRESSURE_COUNTERS, CgroupRates

WIDTH = len(CGROUP_COUNTERS) + len(PRESSURE_COUNTERS)
"""I/O and pressure in one row."""
UNKNOWN = -1
"""Stands for a growth of pressure that is not known; a growth is never negative."""


def with_pressure(
    growth: GrowthColumns, pressure: Sequence[tuple[Integers, Integers]], *, longest_s: float
) -> GrowthColumns:
    """Each interval with the pressure of the same one, from the readings of several series.

    Of several readings at one time the last one given counts.
    """
    waits = np.full((len(growth.at_us), len(PRESSURE_COUNTERS)), UNKNOWN, dtype=np.int64)
    if pressure:
        found = growth_columns(*_together(pressure), longest_s=longest_s)
        _, own, other = np.intersect1d(
            growth.at_us, found.at_us, assume_unique=True, return_indices=True
        )
        same = growth.interval_us[own] == found.interval_us[other]
        waits[own[same]] = found.growth[other[same]]
    return GrowthColumns(
        at_us=growth.at_us,
        interval_us=growth.interval_us,
        growth=np.concatenate([growth.growth, waits], axis=1),
    )


def _together(readings: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """The readings of several series in order of time; of those at one time the last one given."""
    at_us = np.concatenate([times for times, _ in readings])
    order = np.argsort(at_us, kind="stable")
    order = order[np.append(np.diff(at_us[order]) > 0, True)]
    return at_us[order], np.concatenate([counters for _, counters in readings])[order]


def cgroup_rates(growth: GrowthColumns, *, device: str) -> list[CgroupRates]:
    """One object per interval, of growth `with_pressure`."""
    seconds = growth.seconds
    done = [growth.per_s(counter).tolist() for counter in range(len(CGROUP_COUNTERS))]
    pressures = []
    for counter in range(len(CGROUP_COUNTERS), WIDTH):
        waited_us = growth.growth[:, counter]
        ratios = np.minimum(1.0, waited_us / 1e6 / seconds).tolist()
        known = (waited_us != UNKNOWN).tolist()
        pressures.append(
            [one if is_known else None for one, is_known in zip(ratios, known, strict=True)]
        )
    return [
        CgroupRates(
            at=moment(at_us),
            seconds=length,
            device=device,
            read_iops=reads,
            write_iops=writes,
            read_bytes_per_s=read_bytes,
            write_bytes_per_s=write_bytes,
            some_pressure_ratio=some,
            full_pressure_ratio=full,
        )
        for at_us, length, reads, writes, read_bytes, write_bytes, some, full in zip(
            growth.at_us.tolist(), seconds.tolist(), *done, *pressures, strict=True
        )
    ]
