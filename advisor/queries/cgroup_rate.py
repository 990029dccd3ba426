"""What a cgroup did, in the unit of the resource it did it on."""

from __future__ import annotations

from advisor.models import Unit
from ingest.core.rates import CgroupRates


def rate_in_unit(rates: CgroupRates, unit: str) -> float:
    """Reads and writes in sum: I/Os per second on a resource in IOPS, else bytes per second."""
    if unit == Unit.IOPS:
        return rates.read_iops + rates.write_iops
    return rates.read_bytes_per_s + rates.write_bytes_per_s
