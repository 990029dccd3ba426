"""Datastores and virtual disks for the tests of placement, and a move that is worth making."""

from dataclasses import replace
from datetime import UTC, datetime

from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs, VdiskState

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
GB = 1e9


def datastore(name, *, intercept=1.0, slope=0.2, used=100 * GB, **kwargs):
    return DatastoreState(
        datastore=name,
        intercept_ms=intercept,
        slope_ms=slope,
        capacity_bytes=1000 * GB,
        used_bytes=used,
        copy_bytes_per_s=100e6,
        **kwargs,
    )


def vdisk(name, on, *, outstanding_io, iops=1000.0, size=10 * GB, workload=None, **kwargs):
    return VdiskState(
        vdisk=name,
        workload=workload or name,
        datastore=on,
        size_bytes=size,
        outstanding_io=outstanding_io,
        iops=iops,
        **kwargs,
    )


# ds1 answers in 1 + 0.2 · (80 + 20) = 21 ms; ds2, twice as fast, is empty and answers in 1 ms.
BUSY = PlacementInputs(
    datastores=(datastore("ds1"), datastore("ds2", slope=0.1)),
    vdisks=(
        vdisk("big", "ds1", outstanding_io=80, iops=4000),
        vdisk("small", "ds1", outstanding_io=20, iops=1000),
    ),
    now=NOW,
    samples=192,
)


def with_datastore(name, **changes):
    return tuple(
        replace(one, **changes) if one.datastore == name else one for one in BUSY.datastores
    )


def with_vdisks(**changes):
    return tuple(replace(one, **changes) for one in BUSY.vdisks)
