"""What workloads get at present, or got at a moment of the past."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from advisor.history.history import numbers
from advisor.history.inventory import cgroup_device_numbers
from advisor.history.measured import read_fine_rates
from advisor.history.subjects import rate_subjects
from advisor.models import Allocation
from ingest.core.grid import Floats, Grid, grid_of

RECENT = timedelta(seconds=60)
"""The mean over this time is shown as what a workload gets."""
RECENT_STEP_S = 10.0

REACH = timedelta(seconds=120)
"""Samples may come half a minute late."""


def current_rates(allocations: Sequence[Allocation], *, now: datetime) -> dict[int, float | None]:
    """By allocation, its mean rate over the newest measured minute, in its resource's unit."""
    (rates,) = rates_at(allocations, [now])
    return rates


def rates_at(
    allocations: Sequence[Allocation], moments: Sequence[datetime]
) -> list[dict[int, float | None]]:
    """The same as of each of these moments."""
    subjects = rate_subjects(allocations, cgroup_device_numbers(allocations))
    found = []
    for moment in moments:
        rate, seconds = read_fine_rates(subjects, recent_grid(moment))
        means = numbers(recent_means(rate, seconds))
        found.append({row.pk: mean for row, mean in zip(allocations, means, strict=True)})
    return found


def recent_grid(now: datetime) -> Grid:
    """The windows that the newest measured minute is taken from."""
    return grid_of(now - REACH, now, RECENT_STEP_S)


def recent_means(rate: Floats, seconds: Floats) -> Floats:
    """The mean of each column over its newest measured minute; NaN where nothing is known.

    `rate` and the `seconds` that it is known for are (windows, columns) on `recent_grid`.
    """
    place = np.arange(len(rate))[:, None]
    known = seconds > 0
    newest = np.where(known, place, -1).max(axis=0, initial=-1)
    recent = known & (place > newest - RECENT.total_seconds() / RECENT_STEP_S)
    covered = np.where(recent, seconds, 0.0).sum(axis=0)
    grown = np.where(recent, rate * seconds, 0.0).sum(axis=0)
    means: Floats = grown / np.where(covered > 0, covered, np.nan)
    return means
