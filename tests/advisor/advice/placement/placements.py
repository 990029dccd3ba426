"""Datastores and virtual disks for the tests of placement, and a move that is worth making."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import strategies as st

from advisor.advice.placement.decide.disk_inputs import (
    DatastoreState,
    PlacementInputs,
    PlacementRules,
    VdiskState,
)

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


names = [f"ds{index}" for index in range(4)]
random_inputs = st.builds(
    PlacementInputs,
    datastores=st.tuples(
        *[
            st.builds(
                datastore,
                st.just(name),
                intercept=st.floats(0.1, 5),
                slope=st.floats(0.01, 1),
                used=st.floats(0, 900).map(lambda gb: gb * GB),
                disks=st.sampled_from(["", "", "a"]),
                auto_tiered=st.sampled_from([False, False, False, True]),
            )
            for name in names
        ]
    ),
    vdisks=st.lists(
        st.builds(
            vdisk,
            st.sampled_from([f"v{index}" for index in range(8)]),
            st.sampled_from(names),
            outstanding_io=st.floats(0, 100),
            iops=st.floats(0, 10_000),
            size=st.floats(0, 300).map(lambda gb: gb * GB),
            workload=st.sampled_from(["db", "web", "batch"]),
            movable=st.sampled_from([True, True, True, False]),
        ),
        max_size=8,
        unique_by=lambda one: one.vdisk,
    ).map(tuple),
    rules=st.builds(
        PlacementRules,
        vdisks_together=st.sampled_from([(), (("v0", "v1"),), (("v0", "v1"), ("v1", "v2"))]),
        vdisks_apart=st.sampled_from([(), (("v3", "v4"),)]),
        workloads_apart=st.sampled_from([(), (("db", "web"),)]),
    ),
    now=st.just(NOW),
    threshold_ms=st.floats(1, 20),
    samples=st.integers(0, 400),
)
