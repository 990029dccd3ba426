"""What QEMU counts of a disk of its guest (`query-blockstats`), under the names that it gives.

Proxmox VE hands the same on, so several sources send it.
"""

from __future__ import annotations

from collections.abc import Callable

from ingest.core.catalogue import CGROUP, VDISK
from ingest.core.mapping import Place, Tags, all_of, columns, series

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


def disk_counters(host: str, guest: str, device: str, *, source: str) -> Callable[[str], Place]:
    """Where a counter of the guest's disk is kept: what was carried, and how long it took."""
    own: Tags = {"host": host, "workload": guest, "device": device}
    return all_of(
        columns(series(CGROUP, host, guest, own, source=source), _TRANSFERS),
        columns(series(VDISK, host, guest, own, source=source), _TIMES),
    )
