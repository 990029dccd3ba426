"""Enormous and tiny inputs of placement give answers without NaN; impossible ones are refused."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.advice.host_placement.decide.host_inputs import (
    HostPlacementInputs,
    HostUplinks,
    NetworkWorkload,
)
from advisor.advice.host_placement.decide.host_placement import advise_hosts
from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs, VdiskState
from advisor.advice.placement.decide.disk_placement import advise_placement
from advisor.core import canonical
from tests.advisor.advice.placement.placements import NOW, datastore, vdisk

amounts = st.sampled_from([0.0, 5e-324, 1e-300, 1.0, 1e18, 1e300]) | st.floats(0, 1e18)
positives = amounts.filter(lambda one: one > 0)


def stores(name):
    return st.builds(
        DatastoreState,
        datastore=st.just(name),
        intercept_ms=st.none() | positives,
        slope_ms=st.none() | positives,
        capacity_bytes=positives,
        used_bytes=amounts,
        copy_bytes_per_s=positives,
        other_outstanding_io=amounts,
        other_iops=amounts,
    )


disks = st.builds(
    VdiskState,
    vdisk=st.sampled_from(["a", "b", "c", "d"]),
    workload=st.just("w"),
    datastore=st.sampled_from(["ds1", "ds2", "ds3"]),
    size_bytes=amounts,
    outstanding_io=amounts,
    iops=amounts,
    mean_io_bytes=amounts,
    read_ratio=st.floats(0, 1),
)


@settings(max_examples=200)
@given(
    st.tuples(*map(stores, ("ds1", "ds2", "ds3"))),
    st.lists(disks, max_size=4, unique_by=lambda one: one.vdisk),
    amounts,
    amounts,
)
def test_disk_placement_answers_with_numbers_only(datastores, vdisks, threshold_ms, horizon_s):
    inputs = PlacementInputs(
        datastores=datastores,
        vdisks=tuple(vdisks),
        now=NOW,
        threshold_ms=threshold_ms,
        horizon_s=horizon_s,
    )

    text = canonical.dumps(advise_placement(inputs))

    # The text refuses what is no finite number, so that it exists says it.
    assert "NaN" not in text


@settings(max_examples=200)
@given(
    st.lists(st.lists(positives, max_size=2), min_size=1, max_size=3),
    st.lists(st.tuples(amounts, st.sampled_from([None, 0])), max_size=4),
)
def test_host_placement_answers_with_numbers_only(uplinks, rows):
    inputs = HostPlacementInputs(
        hosts=tuple(
            HostUplinks(host=f"h{number}", uplink_bits_per_s=tuple(rates))
            for number, rates in enumerate(uplinks)
        ),
        workloads=tuple(
            NetworkWorkload(
                workload=f"w{number}",
                host=None if place is None else f"h{place}",
                reservation_bits_per_s=amount,
            )
            for number, (amount, place) in enumerate(rows)
        ),
        now=NOW,
    )

    assert "NaN" not in canonical.dumps(advise_hosts(inputs))


@pytest.mark.parametrize("value", [math.nan, -1.0, math.inf])
@pytest.mark.parametrize("field", ["used", "slope"])
def test_impossible_numbers_of_a_datastore_are_refused_by_name(field, value):
    with pytest.raises(ValueError, match=r"of ds1 is .*; it must be a finite number"):
        datastore("ds1", **{field: value})


@pytest.mark.parametrize("value", [math.nan, -1.0, math.inf])
@pytest.mark.parametrize("field", ["outstanding_io", "iops", "size"])
def test_impossible_numbers_of_a_virtual_disk_are_refused_by_name(field, value):
    numbers = {"outstanding_io": 1.0} | {field: value}

    with pytest.raises(ValueError, match=r"of a is .*; it must be a finite number"):
        vdisk("a", "ds1", **numbers)
