"""What QEMU counts of its guests' disks (`query-blockstats`), which the agent's reader asks."""

from __future__ import annotations

from ingest.core.mapping import Head, Place, Source, Tags, gauges, host_of, required
from ingest.core.qemu_counters import disk_counters

NAME = "qemu"
_MEASUREMENT = "qemu_block"
_QUANTILE_END = "_ms"


def _head(measurement: str, tags: Tags) -> Head:
    host = host_of(tags)
    guest = required(tags, "workload", of=measurement)
    disk = required(tags, "disk", of=measurement)
    own = {"host": host, "workload": guest, "device": disk}
    counted = disk_counters(host, guest, disk, source=NAME)
    quantile = gauges(host, f"{guest}/{disk}", own, source=NAME)

    def place(field: str) -> Place:
        return quantile(field) if field.endswith(_QUANTILE_END) else counted(field)

    return Head(host=host, place=place)


SOURCE = Source(name=NAME, measurements=frozenset({_MEASUREMENT}), head=_head)
