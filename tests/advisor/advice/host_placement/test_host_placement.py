"""Placement of workloads for network reservations: admission, moves, and the three-step case."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.host_placement.decide.host_inputs import (
    CarriedSource,
    HostPlacementAdvice,
    HostPlacementInputs,
    HostUplinks,
    NetworkWorkload,
)
from advisor.advice.host_placement.decide.host_placement import advise_hosts
from advisor.advice.host_placement.decide.host_why import LINE_RATE_ONLY
from advisor.core import canonical
from advisor.core.explanation.answer import InsufficientData, NoChange

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
GBIT = 1e9


def host(name, *uplinks, **kwargs):
    rates = tuple(one * GBIT for one in uplinks or (10,))
    return HostUplinks(host=name, uplink_bits_per_s=rates, **kwargs)


def workload(name, on, reservation=0.0, **kwargs):
    return NetworkWorkload(
        workload=name, host=on, reservation_bits_per_s=reservation * GBIT, **kwargs
    )


def cluster(*workloads, hosts=("h1", "h2"), **kwargs):
    return HostPlacementInputs(
        hosts=tuple(host(one, carries_bits_per_s=9.4 * GBIT) for one in hosts),
        workloads=workloads,
        now=NOW,
        **kwargs,
    )


random_clusters = st.builds(
    HostPlacementInputs,
    hosts=st.lists(st.sampled_from([(10,), (25, 10), (1,), ()]), min_size=1, max_size=4).map(
        lambda rows: tuple(
            HostUplinks(host=f"h{i}", uplink_bits_per_s=tuple(one * GBIT for one in row))
            for i, row in enumerate(rows)
        )
    ),
    workloads=st.lists(
        st.builds(
            workload,
            st.sampled_from([f"w{i}" for i in range(8)]),
            st.sampled_from([None, "h0"]),
            st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.5, 3.0, 4.5, 7.5]),
            promised=st.booleans(),
            movable=st.sampled_from([True, True, False]),
        ),
        max_size=8,
        unique_by=lambda one: one.workload,
    ).map(tuple),
    now=st.just(NOW),
)


def placed(inputs, result):
    """Host and reservation of each workload once the advice has been followed."""
    refused = {one.workload for one in getattr(result, "refused", ())}
    target = {one.workload: one.target for one in getattr(result, "moves", ())}
    return {
        one.workload: (
            target.get(one.workload, one.host),
            0.0 if one.workload in refused else one.reservation_bits_per_s,
        )
        for one in inputs.workloads
    }


@given(random_clusters)
def test_followed_advice_leaves_no_host_over_three_quarters_of_its_smallest_uplink(inputs):
    where = placed(inputs, advise_hosts(inputs))

    for one in inputs.hosts:
        reserved = sum(amount for there, amount in where.values() if there == one.host)
        assert reserved <= 0.75 * min(one.uplink_bits_per_s, default=0.0) * (1 + 1e-9)


@given(random_clusters)
def test_what_may_not_move_stays_and_what_cannot_be_placed_is_refused(inputs):
    result = advise_hosts(inputs)

    where = placed(inputs, result)
    refused = {one.workload for one in getattr(result, "refused", ())}
    for one in inputs.workloads:
        there, _ = where[one.workload]
        if one.host is not None and not one.movable:
            assert there == one.host
        assert there is not None or one.workload in refused


@given(random_clusters, st.randoms(use_true_random=False))
def test_advice_does_not_depend_on_order_and_repeats_to_the_byte(inputs, random):
    hosts, workloads = list(inputs.hosts), list(inputs.workloads)
    random.shuffle(hosts)
    random.shuffle(workloads)
    shuffled = replace(inputs, hosts=tuple(hosts), workloads=tuple(workloads))

    stored = canonical.loads(HostPlacementInputs, canonical.dumps(shuffled))

    assert canonical.dumps(advise_hosts(stored)) == canonical.dumps(advise_hosts(inputs))


@given(random_clusters)
def test_a_cluster_that_followed_the_advice_is_left_alone(inputs):
    where = placed(inputs, advise_hosts(inputs))
    followed = tuple(
        replace(one, host=where[one.workload][0], reservation_bits_per_s=where[one.workload][1])
        for one in inputs.workloads
        if where[one.workload][0] is not None
    )

    assert isinstance(advise_hosts(replace(inputs, workloads=followed)), NoChange)


def test_the_three_reservation_steps_agree_with_the_reference(placement_vector):
    on = dict(placement_vector["steps"][0]["on"])
    for step in placement_vector["steps"]:
        rows = [workload(name, on[name], step["res"].get(name, 0.0)) for name in sorted(on)]
        result = advise_hosts(cluster(*rows, pool_bits_per_s=placement_vector["pool"] * GBIT))
        assert isinstance(result, HostPlacementAdvice) == step["fault"]
        if step["fault"]:
            (move,) = result.moves
            assert f"{move.workload}->{move.target}" == step["move"]
            assert move.due_at == NOW + timedelta(minutes=5)
            on[move.workload] = move.target
            rates = {one.quantity.removeprefix("rate of "): one.after for one in result.effects}
            wanted = {name: rate * GBIT for name, rate in step["alloc_SUM"].items()}
            assert rates == pytest.approx(wanted, abs=1e5)


def test_a_full_pool_refuses_the_next_tenth():
    # 7.5 + 4.5 + 3.0 = 15 of 2 · 0.75 · 10.
    rows = [workload("VM1", "h1", 7.5), workload("VM2", "h2", 4.5), workload("VM3", "h2", 3.0)]
    next_one = workload("VM4", "h1", 0.1, promised=False)

    result = advise_hosts(cluster(*rows, next_one))

    (refused,) = result.refused
    assert (refused.workload, refused.reason) == (
        "VM4",
        "the pool of 15.0 Gbit/s is fully reserved",
    )
    assert result.moves == ()


def test_the_smallest_workload_that_ends_the_violation_is_moved():
    # 8.5 of 7.5: a move of 1.0 is enough, one of 0.5 is not.
    rows = [
        workload(name, "h1", size) for name, size in [("a", 5), ("b", 2), ("c", 1), ("d", 0.5)]
    ]

    result = advise_hosts(cluster(*rows))

    assert [one.workload for one in result.moves] == ["c"]


def test_a_violation_is_to_be_mended_within_five_minutes_of_its_beginning():
    began = NOW - timedelta(minutes=2)
    inputs = cluster(workload("a", "h1", 7), workload("b", "h1", 3))
    hosts = tuple(replace(one, violated_since=began) for one in inputs.hosts)

    (move,) = advise_hosts(replace(inputs, hosts=hosts)).moves

    assert move.due_at == began + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("busy", "target"),
    [
        ({"h1": {"cpu_ratio": 0.9}}, "h2"),
        ({"h2": {"memory_ratio": 0.9}}, "h1"),
        ({"h1": {"tx_bits_per_s": 8.5 * GBIT}, "h2": {"cpu_ratio": 0.95}}, "h2"),
        ({"h1": {"tx_bits_per_s": 8.5 * GBIT}, "h2": {"tx_bits_per_s": 9 * GBIT}}, "h1"),
    ],
    ids=["cpu", "memory", "a busy uplink is worse", "the less busy of two"],
)
def test_a_workload_starts_where_there_is_room_and_least_is_used(busy, target):
    hosts = tuple(host(name, **busy.get(name, {})) for name in ("h1", "h2"))
    inputs = HostPlacementInputs(hosts=hosts, workloads=(workload("new", None, 1),), now=NOW)

    (start,) = advise_hosts(inputs).moves

    assert (start.source, start.target) == (None, target)


def test_the_smallest_uplink_of_a_host_decides():
    # 0.75 · min(25, 10) = 7.5, so 8 has no place there.
    inputs = HostPlacementInputs(
        hosts=(host("h1", 25, 10),), workloads=(workload("new", None, 8),), now=NOW
    )

    (refused,) = advise_hosts(inputs).refused

    assert refused.reason == "no host has so much left of what may be reserved"


@pytest.mark.parametrize(
    ("facts", "value", "how"),
    [
        (
            {"carries_bits_per_s": 9.4 * GBIT, "carries_source": CarriedSource.STATED},
            1.0,
            "what the uplinks of h1 and h2 carry was stated",
        ),
        (
            {"carries_bits_per_s": 9.4 * GBIT, "carries_source": CarriedSource.ASSUMED},
            LINE_RATE_ONLY,
            "what the uplinks of h1 and h2 carry is assumed from their line rate",
        ),
        (
            {},
            LINE_RATE_ONLY,
            "what the uplinks of h1 and h2 carry is not known: their line rate counts",
        ),
    ],
    ids=["stated", "assumed", "unknown"],
)
def test_confidence_says_where_it_is_known_from_what_the_uplinks_carry(facts, value, how):
    inputs = replace(
        cluster(workload("a", "h1", 7.5), workload("b", "h1", 4.5)),
        hosts=tuple(host(name, **facts) for name in ("h1", "h2")),
    )

    confidence = advise_hosts(inputs).confidence

    rates = next(one for one in confidence.parts if one.name == "rates")
    assert (rates.value, rates.how) == (value, how)


def test_confidence_tells_hosts_apart_by_where_their_rates_are_known_from():
    hosts = (
        host("h1", carries_bits_per_s=9.4 * GBIT),
        host("h2", carries_bits_per_s=9.4 * GBIT, carries_source=CarriedSource.ASSUMED),
    )
    inputs = replace(cluster(workload("a", "h1", 7.5), workload("b", "h1", 4.5)), hosts=hosts)

    confidence = advise_hosts(inputs).confidence

    rates = next(one for one in confidence.parts if one.name == "rates")
    assert rates.how == (
        "what the uplinks of h1 carry was stated; "
        "what the uplinks of h2 carry is assumed from their line rate"
    )
    assert rates.value == LINE_RATE_ONLY


def test_what_cannot_be_moved_away_is_refused_by_name():
    rows = [workload("a", "h1", 5, movable=False), workload("b", "h1", 4, movable=False)]

    result = advise_hosts(cluster(*rows))

    assert [one.workload for one in result.refused] == ["b"]
    assert "nothing more can be moved away" in result.refused[0].reason


def test_a_cluster_without_hosts_is_insufficient():
    result = advise_hosts(HostPlacementInputs(hosts=(), workloads=(), now=NOW))

    assert isinstance(result, InsufficientData)


@pytest.mark.parametrize(
    ("workloads", "complaint"),
    [
        ((workload("a", "h1"), workload("a", "h2")), 'workload "a" is given twice'),
        ((workload("a", "h9"),), 'workload "a": no host "h9" is given'),
    ],
    ids=["twice", "unknown host"],
)
def test_inputs_that_contradict_each_other_are_refused(workloads, complaint):
    with pytest.raises(ValueError, match=f"^{complaint}"):
        cluster(*workloads)
