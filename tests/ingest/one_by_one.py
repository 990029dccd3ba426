"""Rates read the simplest way: one series and one reading after the other.

What is read of many at once must be equal to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ingest.core.catalogue import CGROUP, CGROUP_PRESSURE, NET, Measurement
from ingest.core.counters import Reading
from ingest.core.overlap import merged
from ingest.core.rates import (
    CGROUP_COUNTERS,
    NET_COUNTERS,
    PRESSURE_COUNTERS,
    CgroupRates,
    NetRates,
    derive_cgroup_rates,
    derive_net_rates,
)
from ingest.many_rates import CgroupKey, InterfaceKey
from ingest.models import Series
from ingest.readings import Span


def net_rates(
    interface: InterfaceKey, *, since: datetime, until: datetime, max_points: int | None
) -> list[NetRates]:
    span = Span(since=since, until=until, max_points=max_points)
    found = []
    for one in _series_ids(*interface, NET):
        readings = span.readings(NET, one, NET_COUNTERS)
        longest_s = span.longest_interval_s(readings)
        found.append(derive_net_rates(readings, longest_interval_s=longest_s).rates)
    return merged(found, since=since, until=until)


def cgroup_rates(
    cgroup: CgroupKey, *, since: datetime, until: datetime, max_points: int | None
) -> list[CgroupRates]:
    host, path, device = cgroup
    span = Span(since=since, until=until, max_points=max_points)
    pressure: list[Reading] = []
    for one in _series_ids(host, path, CGROUP_PRESSURE):
        pressure += span.readings(CGROUP_PRESSURE, one, PRESSURE_COUNTERS)
    found = []
    for one in _series_ids(host, path, CGROUP, tags__device=device):
        readings = span.readings(CGROUP, one, CGROUP_COUNTERS)
        longest_s = span.longest_interval_s(readings)
        found.append(
            derive_cgroup_rates(
                readings, pressure, device=device, longest_interval_s=longest_s
            ).rates
        )
    return merged(found, since=since, until=until)


def _series_ids(host: int, subject: str, measurement: Measurement, **tags: str) -> Sequence[int]:
    rows = Series.objects.filter(
        host=host, measurement=measurement.name, subject=subject, **tags
    ).order_by("-last_sample_at", "-pk")
    return list(rows.values_list("pk", flat=True))
