"""Grouping: one cause is one incident, from the uplink below to the workload above."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.correlation import (
    HEAD_START_S,
    CongestedResource,
    CorrelationKind,
    SlowWorkload,
    correlate,
)

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


def minute(value):
    return None if value is None else START + timedelta(minutes=value)


def datastore(name, begin=0, end=10, **kwargs):
    return CongestedResource(
        resource=name,
        began_at=minute(begin),
        ended_at=minute(end),
        **kwargs,
    )


def uplink(name, begin=0, end=10):
    return CongestedResource(
        resource=name, began_at=minute(begin), ended_at=minute(end), carries_others=True
    )


def slow(name, on="ds1", begin=1, end=9):
    return SlowWorkload(workload=name, resource=on, began_at=minute(begin), ended_at=minute(end))


spans = st.tuples(st.integers(0, 100), st.none() | st.integers(0, 50)).map(
    lambda span: (span[0], None if span[1] is None else span[0] + span[1])
)
resources = st.one_of(
    st.builds(
        lambda name, span, via, disks: datastore(name, *span, reached_by=via, disks=disks),
        st.sampled_from(["ds1", "ds2", "ds3"]),
        spans,
        st.sampled_from([(), ("up0",), ("up0", "up1")]),
        st.sampled_from(["", "a"]),
    ),
    st.builds(lambda name, span: uplink(name, *span), st.sampled_from(["up0", "up1"]), spans),
)
workloads = st.builds(
    lambda name, on, span: slow(name, on, *span),
    st.sampled_from([f"w{i}" for i in range(6)]),
    st.sampled_from(["ds1", "ds2", "ds9"]),
    spans,
)


@given(
    st.lists(resources, max_size=6),
    st.lists(workloads, max_size=10),
    st.randoms(use_true_random=False),
)
def test_everything_belongs_to_an_incident_whatever_the_order(congested, slowness, random):
    shuffled, others = list(congested), list(slowness)
    random.shuffle(shuffled)
    random.shuffle(others)

    correlated = correlate(congested, slowness)

    assert {name for one in correlated for name in one.workloads} == {
        one.workload for one in slowness
    }
    assert {one.resource for one in congested} <= {
        name for one in correlated for name in one.resources
    }
    assert len(correlated) <= len(congested) + len(slowness)
    assert all(one.ended_at is None or one.began_at <= one.ended_at for one in correlated)
    assert sorted(map(str, correlate(shuffled, others))) == sorted(map(str, correlated))


def test_one_slow_datastore_with_thirty_workloads_is_one_incident():
    thirty = [slow(f"vm{index:02}", begin=index % 5, end=9) for index in range(30)]

    (incident,) = correlate([datastore("ds1")], thirty)

    assert (incident.kind, incident.name) == (CorrelationKind.RESOURCE, "ds1")
    assert len(incident.workloads) == 30


def test_a_congested_uplink_explains_the_datastores_reached_through_it():
    nfs = datastore("nfs1", begin=1, reached_by=("up0",))
    local = datastore("local", begin=1)

    correlated = correlate([nfs, uplink("up0"), local], [slow("db", on="nfs1")])

    assert [(one.kind, one.name) for one in correlated] == [
        (CorrelationKind.RESOURCE, "up0"),
        (CorrelationKind.RESOURCE, "local"),
    ]
    assert correlated[0].resources == ("up0", "nfs1")
    assert correlated[0].workloads == ("db",)
    assert correlated[0].reason == "up0 was congested, and nfs1 reached through it"


def test_of_many_datastores_behind_an_uplink_three_are_named():
    many = [datastore(f"nfs{index}", begin=1, reached_by=("up0",)) for index in range(1, 6)]

    (correlated,) = correlate([*many, uplink("up0")], [])

    assert len(correlated.resources) == 6
    assert (
        correlated.reason == "up0 was congested, and nfs1, nfs2, nfs3 +2 more reached through it"
    )


def test_an_uplink_that_was_congested_later_explains_nothing():
    nfs = datastore("nfs1", begin=0, end=30, reached_by=("up0",))

    correlated = correlate([nfs, uplink("up0", begin=5, end=20)], [])

    assert {one.name for one in correlated} == {"nfs1", "up0"}


@pytest.mark.parametrize(
    ("later_s", "names"),
    [(HEAD_START_S, ["up0"]), (HEAD_START_S + 1, ["up0", "nfs1"])],
    ids=["at the bound", "beyond it"],
)
def test_effect_may_be_seen_a_head_start_before_its_uplink(later_s, names):
    nfs = datastore("nfs1", begin=0, end=30, reached_by=("up0",))

    correlated = correlate([nfs, uplink("up0", begin=later_s / 60, end=20)], [])

    assert {one.name for one in correlated} == set(names)


def test_two_congested_uplinks_are_two_incidents():
    correlated = correlate([uplink("up0"), uplink("up1")], [])

    assert [one.resources for one in correlated] == [("up0",), ("up1",)]


def test_datastores_on_the_same_disks_are_one_incident():
    pair = [datastore("ds1", disks="array-7"), datastore("ds2", begin=2, disks="array-7")]

    (incident,) = correlate(pair, [slow("a"), slow("b", on="ds2", begin=3)])

    assert incident.resources == ("ds1", "ds2")
    assert incident.workloads == ("a", "b")
    assert "on the same disks array-7" in incident.reason


def test_three_slow_workloads_point_at_a_datastore_that_was_not_seen_congested():
    (incident,) = correlate([], [slow("a"), slow("b", begin=2), slow("c", begin=4)])

    assert (incident.kind, incident.name) == (CorrelationKind.RESOURCE, "ds1")
    assert "though it was not seen congested" in incident.reason


def test_a_workload_that_is_slow_alone_is_an_incident_of_its_own():
    correlated = correlate([datastore("ds2")], [slow("a"), slow("b", begin=50, end=60)])

    alone = [one for one in correlated if one.kind is CorrelationKind.WORKLOAD]
    assert [one.name for one in alone] == ["a", "b"]
    assert "and its own limit" in alone[0].reason


def test_slowness_after_the_congestion_was_over_is_another_incident():
    correlated = correlate([datastore("ds1", end=10)], [slow("a", begin=20, end=30)])

    assert [one.kind for one in correlated] == [
        CorrelationKind.RESOURCE,
        CorrelationKind.WORKLOAD,
    ]


def test_an_incident_goes_on_while_one_of_its_parts_does():
    (incident,) = correlate([datastore("ds1", end=10)], [slow("a", begin=5, end=None)])

    assert incident.ended_at is None


@pytest.mark.parametrize("build", [datastore, slow], ids=["resource", "workload"])
def test_an_end_before_the_beginning_is_refused(build):
    with pytest.raises(ValueError, match="lies before began_at"):
        build("x", begin=5, end=4)
