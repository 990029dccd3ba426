"""Rates of cgroups in the unit of their resource, and rates that workloads sent."""

from __future__ import annotations

from advisor.models import Unit
from ingest.core.grid import Floats
from ingest.core.growth_columns import GrowthColumns
from ingest.core.rates import CGROUP_COUNTERS, NET_COUNTERS, CgroupRates


def rate_in_unit(rates: CgroupRates, unit: str) -> float:
    """Reads and writes in sum: I/Os per second on a resource in IOPS, else bytes per second."""
    if unit == Unit.IOPS:
        return rates.read_iops + rates.write_iops
    return rates.read_bytes_per_s + rates.write_bytes_per_s


def growth_in_unit(growth: GrowthColumns, unit: str) -> Floats:
    """`rate_in_unit` for columns of `CGROUP_COUNTERS`; the result is (intervals)."""
    names = ("rios", "wios") if unit == Unit.IOPS else ("rbytes", "wbytes")
    read, written = (growth.per_s(CGROUP_COUNTERS.index(name)) for name in names)
    return read + written


def growth_of_received(growth: GrowthColumns) -> Floats:
    """Received bits per second, from columns of `NET_COUNTERS`; the result is (intervals)."""
    return 8 * growth.per_s(NET_COUNTERS.index("bytes_recv"))
