"""What every allocation of a resource gets right now, in a few queries however many there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from advisor.history.cgroup_device import cgroup_device_numbers
from advisor.history.cgroup_rate import rate_in_unit
from advisor.models import AdapterKind, Allocation, Resource
from ingest.core.counters import Reading, longest_interval_s
from ingest.core.rates import (
    CGROUP_COUNTERS,
    NET_COUNTERS,
    derive_cgroup_rates,
    derive_net_rates,
)
from ingest.models import CgroupSample, NetSample, Series
from ingest.models.samples import Sample

RECENT = timedelta(seconds=60)
"""The mean over this time is shown as what a workload gets."""

_REACH = timedelta(seconds=120)
"""Samples may come half a minute late, and the first rate needs the reading before it."""


def current_rates(
    resource: Resource, allocations: Sequence[Allocation], *, now: datetime
) -> dict[int, float | None]:
    """By allocation, its mean rate over the newest measured minute, in the resource's unit."""
    adapters = {_key(allocation): allocation.pk for allocation in allocations}
    series = _series(allocations, adapters)
    is_net = {
        allocation.pk: allocation.adapter_kind == AdapterKind.VNIC for allocation in allocations
    }
    net = [pk for pk, allocation in series.items() if is_net[allocation]]
    cgroup = [pk for pk, allocation in series.items() if not is_net[allocation]]
    readings = {
        **_readings(NetSample, net, NET_COUNTERS, now),
        **_readings(CgroupSample, cgroup, CGROUP_COUNTERS, now),
    }
    rates: dict[int, float | None] = {allocation.pk: None for allocation in allocations}
    for series_pk, found in readings.items():
        allocation_pk = series[series_pk]
        mean = _net_mean(found) if is_net[allocation_pk] else _cgroup_mean(found, resource.unit)
        rates[allocation_pk] = mean if mean is not None else rates[allocation_pk]
    return rates


Key = tuple[int, str, str]


def _key(allocation: Allocation) -> Key:
    measurement = "net" if allocation.adapter_kind == AdapterKind.VNIC else "cgroup"
    return allocation.host_id, measurement, allocation.adapter


def _series(allocations: Sequence[Allocation], adapters: dict[Key, int]) -> dict[int, int]:
    """The allocation of each series; a cgroup counts on the resource's own device only."""
    if not allocations:
        return {}
    devices = cgroup_device_numbers(allocations)
    rows = Series.objects.filter(
        host__in={allocation.host_id for allocation in allocations},
        measurement__in=("net", "cgroup"),
        subject__in={allocation.adapter for allocation in allocations},
    ).order_by("last_sample_at")
    found = {}
    for pk, host, measurement, subject, tags in rows.values_list(
        "pk", "host_id", "measurement", "subject", "tags"
    ):
        allocation = adapters.get((host, measurement, subject))
        if allocation is not None and (
            measurement == "net" or tags["device"] == devices.get(allocation)
        ):
            found[pk] = allocation
    return found


def _readings(
    model: type[Sample], series: Sequence[int], columns: tuple[str, ...], now: datetime
) -> dict[int, list[Reading]]:
    grouped: dict[int, list[Reading]] = defaultdict(list)
    if not series:
        return grouped
    rows = model.objects.filter(series_id__in=series, time__gt=now - _REACH, time__lte=now)
    for series_pk, at, *counters in rows.order_by("time").values_list(
        "series_id", "time", *columns
    ):
        grouped[series_pk].append(Reading(at=at, counters=tuple(counters)))
    return grouped


def _net_mean(readings: list[Reading]) -> float | None:
    derived = derive_net_rates(readings, longest_interval_s=_longest(readings))
    # What a workload sends is what its vNIC receives on the host's side.
    return _newest_mean(
        [(item.at, item.seconds, item.received_bits_per_s) for item in derived.rates]
    )


def _cgroup_mean(readings: list[Reading], unit: str) -> float | None:
    derived = derive_cgroup_rates(readings, [], device="", longest_interval_s=_longest(readings))
    return _newest_mean(
        [(item.at, item.seconds, rate_in_unit(item, unit)) for item in derived.rates]
    )


def _longest(readings: list[Reading]) -> float:
    return longest_interval_s([reading.at for reading in readings])


def _newest_mean(rates: list[tuple[datetime, float, float]]) -> float | None:
    if not rates:
        return None
    newest = rates[-1][0]
    recent = [(seconds, value) for at, seconds, value in rates if newest - at < RECENT]
    return sum(seconds * value for seconds, value in recent) / sum(
        seconds for seconds, _ in recent
    )
