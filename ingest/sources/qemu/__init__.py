"""What QEMU counts of its guests' disks (`query-blockstats`), which the agent's reader asks."""

from __future__ import annotations

from ingest.core.catalogue import CGROUP, VDISK
from ingest.core.mapping import (
    Head,
    Place,
    Source,
    Tags,
    all_of,
    columns,
    gauges,
    host_of,
    required,
    series,
)

NAME = "qemu"
_MEASUREMENT = "qemu_block"
_TRANSFERS = {
    "rd_operations": "rios",
    "wr_operations": "wios",
    "rd_bytes": "rbytes",
    "wr_bytes": "wbytes",
}
_TIMES = {
    "rd_operations": "reads",
    "wr_operations": "writes",
    "rd_total_time_ns": "read_time",
    "wr_total_time_ns": "write_time",
    "flush_operations": "flushes",
    "flush_total_time_ns": "flush_time",
}
_QUANTILE_END = "_ms"


def _head(measurement: str, tags: Tags) -> Head:
    host = host_of(tags)
    guest = required(tags, "workload", of=measurement)
    disk = required(tags, "disk", of=measurement)
    own = {"host": host, "workload": guest, "device": disk}
    counted = all_of(
        columns(series(CGROUP, host, guest, own, source=NAME), _TRANSFERS),
        columns(series(VDISK, host, guest, own, source=NAME), _TIMES),
    )
    quantile = gauges(host, f"{guest}/{disk}", own, source=NAME)

    def place(field: str) -> Place:
        return quantile(field) if field.endswith(_QUANTILE_END) else counted(field)

    return Head(host=host, place=place)


SOURCE = Source(name=NAME, measurements=frozenset({_MEASUREMENT}), head=_head)
