"""Rates of devices, interfaces or cgroups over one range, in a few queries however many there are.

What is found of each is what would be found if it were read alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from ingest.core.catalogue import CGROUP, CGROUP_PRESSURE, Measurement
from ingest.core.cgroup_columns import with_pressure
from ingest.core.grid import Integers
from ingest.core.growth_columns import (
    GrowthColumns,
    growth_columns,
    longest_interval_of,
    merged_columns,
)
from ingest.core.microseconds import microseconds
from ingest.core.rates import (
    CGROUP_COUNTERS,
    PRESSURE_COUNTERS,
    CgroupRates,
    RateKind,
    RatesT,
    cgroup_rates,
)
from ingest.models import Series
from ingest.readings import Row, Span

SubjectKey = tuple[int, str]
"""A host's key and the name of one of its devices or interfaces."""
CgroupKey = tuple[int, str, str]
"""A host's key, the path of a cgroup, and the number (`major:minor`) of a device."""
Readings = tuple[Integers, Integers]
"""The times of one series' readings, in order, and a row of counters for each."""


def rates_of(
    kind: RateKind[RatesT],
    subjects: Collection[SubjectKey],
    *,
    since: datetime,
    until: datetime,
    max_points: int | None = None,
) -> dict[SubjectKey, list[RatesT]]:
    """Rates of each subject with `since < at <= until`, about `max_points` at most."""
    found = growth_of(kind, subjects, since=since, until=until, max_points=max_points)
    return {key: kind.rates(growth) for key, growth in found.items()}


def growth_of(
    kind: RateKind[RatesT],
    subjects: Collection[SubjectKey],
    *,
    since: datetime,
    until: datetime,
    max_points: int | None = None,
) -> dict[SubjectKey, GrowthColumns]:
    """What `rates_of` is made of, in columns."""
    span = Span(since=since, until=until, max_points=max_points)
    name, rows = kind.measurement.name, _series_rows(subjects, (kind.measurement,))
    series = {
        (host, subject): [pk for pk, _ in rows[name, host, subject]] for host, subject in subjects
    }
    steps_s = span.steps_s([(kind.measurement, pk) for pk in ids] for ids in series.values())
    growth = {
        pk: kind.growth(*found, longest_s=longest_interval_of(found[0], step_s=steps_s[pk]))
        for pk, found in readings_of(span, kind.measurement, steps_s, kind.columns).items()
    }
    return {
        key: _merged([growth[pk] for pk in ids if pk in growth], span, width=kind.width)
        for key, ids in series.items()
    }


def cgroup_rates_of(
    cgroups: Collection[CgroupKey],
    *,
    since: datetime,
    until: datetime,
    max_points: int | None = None,
) -> dict[CgroupKey, list[CgroupRates]]:
    """Rates of each cgroup on its device with `since < at <= until`, with their pressure."""
    span = Span(since=since, until=until, max_points=max_points)
    plan = _cgroup_plan(cgroups, span)
    steps_s = plan.steps_of(plan.pressure)
    pressure = readings_of(span, CGROUP_PRESSURE, steps_s, PRESSURE_COUNTERS)
    growth = _cgroup_growth(plan, span, pressure)
    return {key: cgroup_rates(found, device=key[2]) for key, found in growth.items()}


def cgroup_growth_of(
    cgroups: Collection[CgroupKey],
    *,
    since: datetime,
    until: datetime,
    max_points: int | None = None,
) -> dict[CgroupKey, GrowthColumns]:
    """What `cgroup_rates_of` is made of, in columns, with no pressure known."""
    span = Span(since=since, until=until, max_points=max_points)
    return _cgroup_growth(_cgroup_plan(cgroups, span), span, {})


def readings_of(
    span: Span, measurement: Measurement, steps_s: Mapping[int, int], columns: tuple[str, ...]
) -> dict[int, Readings]:
    """By series its readings; one that has none is left out."""
    return _by_series(span.rows(measurement, steps_s, columns), width=len(columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class _CgroupPlan:
    """The series of each cgroup, the one heard of last first, and how densely they are read."""

    series: Mapping[CgroupKey, list[int]]
    pressure: Mapping[CgroupKey, list[int]]
    steps_s: Mapping[int, int]

    def steps_of(self, series: Mapping[CgroupKey, list[int]]) -> dict[int, int]:
        return {pk: self.steps_s[pk] for ids in series.values() for pk in ids}


def _cgroup_plan(cgroups: Collection[CgroupKey], span: Span) -> _CgroupPlan:
    rows = _series_rows([(host, path) for host, path, _ in cgroups], (CGROUP, CGROUP_PRESSURE))
    series, pressure = {}, {}
    for key in cgroups:
        host, path, device = key
        series[key] = [pk for pk, number in rows[CGROUP.name, host, path] if number == device]
        pressure[key] = [pk for pk, _ in rows[CGROUP_PRESSURE.name, host, path]]
    steps_s = span.steps_s(
        [*((CGROUP_PRESSURE, pk) for pk in pressure[key]), *((CGROUP, pk) for pk in ids)]
        for key, ids in series.items()
    )
    return _CgroupPlan(series=series, pressure=pressure, steps_s=steps_s)


def _cgroup_growth(
    plan: _CgroupPlan, span: Span, pressure: Mapping[int, Readings]
) -> dict[CgroupKey, GrowthColumns]:
    readings = readings_of(span, CGROUP, plan.steps_of(plan.series), CGROUP_COUNTERS)
    found = {}
    for key, ids in plan.series.items():
        waits = [pressure[pk] for pk in plan.pressure[key] if pk in pressure]
        parts = []
        for pk in ids:
            if pk in readings:
                longest_s = longest_interval_of(readings[pk][0], step_s=plan.steps_s[pk])
                growth = growth_columns(*readings[pk], longest_s=longest_s)
                parts.append(with_pressure(growth, waits, longest_s=longest_s))
        width = len(CGROUP_COUNTERS) + len(PRESSURE_COUNTERS)
        found[key] = _merged(parts, span, width=width)
    return found


def _series_rows(
    subjects: Collection[tuple[int, str]], measurements: Iterable[Measurement]
) -> dict[tuple[str, int, str], list[tuple[int, str | None]]]:
    """Key and device of the series of each measurement, host and subject, last heard of first."""
    rows: dict[tuple[str, int, str], list[tuple[int, str | None]]] = defaultdict(list)
    if not subjects:
        return rows
    found = Series.objects.filter(
        host__in={host for host, _ in subjects},
        measurement__in=[measurement.name for measurement in measurements],
        subject__in={subject for _, subject in subjects},
    ).order_by("-last_sample_at", "-pk")
    for pk, measurement, host, subject, tags in found.values_list(
        "pk", "measurement", "host_id", "subject", "tags"
    ):
        rows[measurement, host, subject].append((pk, tags.get("device")))
    return rows


def _merged(parts: Sequence[GrowthColumns], span: Span, *, width: int) -> GrowthColumns:
    since_us, until_us = microseconds(span.since), microseconds(span.until)
    return merged_columns(parts, since_us=since_us, until_us=until_us, width=width)


def _by_series(rows: list[Row], *, width: int) -> dict[int, Readings]:
    table = np.array(rows, dtype=np.int64).reshape(-1, 2 + width)
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    series, begins = np.unique(table[:, 0], return_index=True)
    parts = np.split(table, begins[1:])
    return {int(one): (part[:, 1], part[:, 2:]) for one, part in zip(series, parts, strict=False)}
