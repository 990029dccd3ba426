"""Rows of the capacity that the service sees of a disk under load, beside what fio measures."""

from __future__ import annotations

from advisor.core.device.seen_capacity import seen_capacity
from advisor.resource_kinds.registry import traits_of
from bench.fleet.rows import Row
from bench.testbed.bounds import within
from tests.testbed.programs import kernel_file
from tests.testbed.storage.disk_kinds import KINDS
from tests.testbed.storage.guest import StorageGuest

WITHIN = 0.10


def seen_capacity_rows(guest: StorageGuest) -> list[Row]:
    """One row for each kind of disk, by the counters that Telegraf sends."""
    return [_row(guest, kind) for kind in KINDS]


def _row(guest: StorageGuest, kind: str) -> Row:
    said = guest.run(
        "tests.testbed.storage.seen_under_load",
        kind=kind,
        modules=str(kernel_file(guest.kernel.name, "disks")),
    )
    seen = seen_capacity(
        said["iops"], said["latency_ms"], threshold=traits_of("datastore").threshold
    )
    if seen is None:
        raise RuntimeError(f"{kind} did nothing")
    return within(
        f"capacity seen under load, {kind}",
        "of what fio measures",
        wanted=1.0,
        tolerance_ratio=WITHIN,
        measured=seen.value / said["fio_iops"],
        note=f"{seen.value:.0f} and {said['fio_iops']:.0f} IOPS"
        + ("; below the latency threshold, so `at least`" if seen.is_bound else ""),
    )
