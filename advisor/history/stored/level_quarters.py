"""Quarters of resources: the level that was compared with the threshold, and the load."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from accounts.models import Organisation
from advisor.core.stored_hour import QUARTERS, Floats, QuarterValues
from advisor.history.levels import Levels, read_levels
from advisor.history.stored.quarter_rows import QUARTER, write_quarters
from advisor.models import Resource, Track
from ingest.core.canonical_figures import RESOURCE
from ingest.core.grid import Grid, grid_of
from ingest.open_hours import HOUR

READ_TOGETHER = 200


def write_level_quarters(organisation: Organisation, hour: datetime) -> None:
    """Write the quarters of this hour from the windows that were evaluated; safe to repeat."""
    every = list(Resource.objects.filter(organisation=organisation).order_by("pk"))
    for begin in range(0, len(every), READ_TOGETHER):
        resources = every[begin : begin + READ_TOGETHER]
        found = read_levels(resources, since=hour, until=hour + HOUR)
        judged = {key: levels for key, levels in found.items() if len(levels.at_us)}
        tracks = _tracks(organisation, list(judged))
        grid = grid_of(hour, hour + HOUR, QUARTER.total_seconds())
        keys = sorted(judged)
        values = _quarters([judged[key] for key in keys], grid)
        write_quarters(organisation.pk, hour, [tracks[key] for key in keys], values)


def _tracks(organisation: Organisation, resources: Sequence[int]) -> dict[int, int]:
    """The track of each resource by its key; what is missing is made."""
    rows = Track.objects.filter(resource__in=resources)
    known = set(rows.values_list("resource", flat=True))
    missing = [
        Track(organisation=organisation, resource_id=key, kind=RESOURCE)
        for key in resources
        if key not in known
    ]
    Track.objects.bulk_create(missing, ignore_conflicts=True)
    return dict(rows.values_list("resource", "pk"))


def _quarters(judged: Sequence[Levels], grid: Grid) -> QuarterValues:
    """Of the level and of the load of each resource."""
    shape = (2, QUARTERS, len(judged))
    mean, maximum = np.full(shape, np.nan), np.full(shape, np.nan)
    for column, levels in enumerate(judged):
        quarters = levels.places(grid)
        for figure, values in enumerate((levels.value, levels.load)):
            for quarter in range(QUARTERS):
                known = _known(values[quarters == quarter])
                if len(known):
                    mean[figure, quarter, column] = known.mean()
                    maximum[figure, quarter, column] = known.max()
    return QuarterValues(mean=mean, maximum=maximum)


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]
