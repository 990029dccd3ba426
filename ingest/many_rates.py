"""Rates of many interfaces or cgroups over one range, in a few queries however many there are.

What is found of each is what would be found if it were read alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

import numpy as np

from ingest.core.catalogue import CGROUP, CGROUP_PRESSURE, NET, Measurement
from ingest.core.cgroup_columns import WIDTH, cgroup_rates, with_pressure
from ingest.core.counters import Reading, longest_interval_s
from ingest.core.growth_columns import (
    NOT_SENT,
    GrowthColumns,
    Integers,
    growth_columns,
    longest_interval_of,
    merged_columns,
)
from ingest.core.microseconds import microseconds, moment
from ingest.core.overlap import merged
from ingest.core.rates import (
    CGROUP_COUNTERS,
    NET_COUNTERS,
    PRESSURE_COUNTERS,
    CgroupRates,
    NetRates,
    derive_net_rates,
)
from ingest.many_readings import ManySpan, Row
from ingest.models import Series

InterfaceKey = tuple[int, str]
"""A host's key and the name of one of its interfaces."""
CgroupKey = tuple[int, str, str]
"""A host's key, the path of a cgroup, and the number (`major:minor`) of a device."""
KeyT = TypeVar("KeyT", InterfaceKey, CgroupKey)


def net_rates_of(
    interfaces: Collection[InterfaceKey],
    *,
    since: datetime,
    until: datetime,
    max_points: int | None = None,
) -> dict[InterfaceKey, list[NetRates]]:
    """Rates of each interface with `since < at <= until`, about `max_points` at most."""
    span = ManySpan(since=since, until=until, max_points=max_points)
    plan = _net_plan(interfaces, span)
    found = _readings(span.rows(NET, plan.steps_s, NET_COUNTERS))
    return {
        key: merged(
            (
                derive_net_rates(
                    found[one], longest_interval_s=_longest_s(found[one], plan.steps_s[one])
                ).rates
                for one in ids
            ),
            since=since,
            until=until,
        )
        for key, ids in plan.series.items()
    }


def cgroup_rates_of(
    cgroups: Collection[CgroupKey],
    *,
    since: datetime,
    until: datetime,
    max_points: int | None = None,
) -> dict[CgroupKey, list[CgroupRates]]:
    """Rates of each cgroup on its device with `since < at <= until`, with their pressure."""
    span = ManySpan(since=since, until=until, max_points=max_points)
    plan = _cgroup_plan(cgroups, span)
    pressure = _columns(
        span.rows(CGROUP_PRESSURE, plan.steps_of(plan.pressure), PRESSURE_COUNTERS),
        width=len(PRESSURE_COUNTERS),
    )
    found = _columns(
        span.rows(CGROUP, plan.steps_of(plan.series), CGROUP_COUNTERS), width=len(CGROUP_COUNTERS)
    )
    rates = {}
    for key, ids in plan.series.items():
        waits = [pressure[one] for one in plan.pressure[key] if one in pressure]
        parts = []
        for one in ids:
            if one in found:
                at_us, counters = found[one]
                longest_s = longest_interval_of(at_us, step_s=plan.steps_s[one])
                growth = growth_columns(at_us, counters, longest_s=longest_s)
                parts.append(with_pressure(growth, waits, longest_s=longest_s))
        rates[key] = cgroup_rates(_merged(parts, span, width=WIDTH), device=key[2])
    return rates


def net_growth_of(
    interfaces: Collection[InterfaceKey],
    *,
    since: datetime,
    until: datetime,
    max_points: int | None = None,
) -> dict[InterfaceKey, GrowthColumns]:
    """What `net_rates_of` is made of, in columns: the growth of `NET_COUNTERS`."""
    span = ManySpan(since=since, until=until, max_points=max_points)
    plan = _net_plan(interfaces, span)
    rows = span.rows(NET, plan.steps_s, NET_COUNTERS)
    return _growth(plan, rows, span, width=len(NET_COUNTERS))


def cgroup_growth_of(
    cgroups: Collection[CgroupKey],
    *,
    since: datetime,
    until: datetime,
    max_points: int | None = None,
) -> dict[CgroupKey, GrowthColumns]:
    """What `cgroup_rates_of` is made of, in columns: the growth of `CGROUP_COUNTERS`."""
    span = ManySpan(since=since, until=until, max_points=max_points)
    plan = _cgroup_plan(cgroups, span)
    rows = span.rows(CGROUP, plan.steps_of(plan.series), CGROUP_COUNTERS)
    return _growth(plan, rows, span, width=len(CGROUP_COUNTERS))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan(Generic[KeyT]):
    """The series of each subject, the one heard of last first, and how densely they are read."""

    series: Mapping[KeyT, list[int]]
    pressure: Mapping[KeyT, list[int]]
    steps_s: Mapping[int, int]

    def steps_of(self, series: Mapping[KeyT, list[int]]) -> dict[int, int]:
        return {pk: self.steps_s[pk] for ids in series.values() for pk in ids}


def _net_plan(interfaces: Collection[InterfaceKey], span: ManySpan) -> _Plan[InterfaceKey]:
    rows = _series_rows(interfaces, (NET,))
    series = {key: [pk for pk, _ in rows[NET.name, *key]] for key in interfaces}
    steps_s = span.steps_s([(NET, pk) for pk in ids] for ids in series.values())
    return _Plan(series=series, pressure={}, steps_s=steps_s)


def _cgroup_plan(cgroups: Collection[CgroupKey], span: ManySpan) -> _Plan[CgroupKey]:
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
    return _Plan(series=series, pressure=pressure, steps_s=steps_s)


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


def _readings(rows: Iterable[Row]) -> dict[int, list[Reading]]:
    found: dict[int, list[Reading]] = defaultdict(list)
    for row in rows:
        counters: tuple[int | None, ...] = row[2:]
        if NOT_SENT in counters:
            counters = tuple(None if one == NOT_SENT else one for one in counters)
        found[row[0]].append(Reading(at=moment(row[1]), counters=counters))
    return found


def _longest_s(readings: Sequence[Reading], step_s: int) -> float:
    return longest_interval_s([reading.at for reading in readings], step_s=step_s)


def _growth(
    plan: _Plan[KeyT], rows: list[Row], span: ManySpan, *, width: int
) -> dict[KeyT, GrowthColumns]:
    found = {
        series: growth_columns(
            at_us,
            counters,
            longest_s=longest_interval_of(at_us, step_s=plan.steps_s[series]),
        )
        for series, (at_us, counters) in _columns(rows, width=width).items()
    }
    return {
        key: _merged([found[one] for one in ids if one in found], span, width=width)
        for key, ids in plan.series.items()
    }


def _merged(parts: Sequence[GrowthColumns], span: ManySpan, *, width: int) -> GrowthColumns:
    since_us, until_us = microseconds(span.since), microseconds(span.until)
    return merged_columns(parts, since_us=since_us, until_us=until_us, width=width)


def _columns(rows: list[Row], *, width: int) -> dict[int, tuple[Integers, Integers]]:
    """By series the times of its readings, in order, and their counters."""
    table = np.array(rows, dtype=np.int64).reshape(-1, 2 + width)
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    series, begins = np.unique(table[:, 0], return_index=True)
    parts = np.split(table, begins[1:])
    return {int(one): (part[:, 1], part[:, 2:]) for one, part in zip(series, parts, strict=False)}
