"""The tag schedulers against the closed form, recorded runs, and the traps of the papers' tags."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from advisor.core.allocation import (
    Allocation,
    Node,
    ReservationMode,
    entitlements,
    entitlements_tree,
)
from advisor.core.iosize import counted_ios
from advisor.core.scheduling_model import LATE_SERVICES, Phase, TagScheduler
from advisor.core.scheduling_run import Source, rates, run

FLOOR, ADDITIVE = ReservationMode
VECTOR_KEY = {FLOOR: "MAX_closed", ADDITIVE: "SUM_closed"}
TREE_KEY = {FLOOR: "MAX", ADDITIVE: "SUM"}


def flat(*clients):
    """A device with clients c0, c1, … given as fields of their node."""
    children = tuple(Node(name=f"c{i}", **fields) for i, fields in enumerate(clients))
    return Node(name="dev", children=children)


def serve(root, *, capacity, mode=FLOOR, seconds=6.0, since=0.0, burst=0.0, sources=None):
    scheduler = TagScheduler(root, capacity=capacity, mode=mode, burst=burst)
    if sources is None:
        sources = [Source(path=f"/dev/{child.name}") for child in root.children]
    return run(scheduler, sources, capacity=capacity, until=seconds, since=since)


def rate_list(served, seconds):
    return list(rates(served, seconds=seconds).values())


@pytest.mark.parametrize("mode", ReservationMode)
def test_tags_agree_with_the_closed_form(sim_vector, mode):
    root = flat(
        *(
            {"reservation": e["r"], "limit": e["l"], "shares": e["s"]}
            for e in sim_vector["entities"]
        )
    )

    served = serve(root, capacity=sim_vector["capacity"], mode=mode)

    # Within two requests of 6 s and 0.1 %.
    expected = sim_vector[VECTOR_KEY[mode]]
    assert rate_list(served, 6.0) == pytest.approx(expected, rel=1e-3, abs=2 / 6)


def node_of(row, factor):
    return Node(
        name=row["name"],
        reservation=row.get("r", 0.0) * factor,
        limit=row["l"] * factor if "l" in row else None,
        shares=row.get("s", 1.0),
        children=tuple(node_of(child, factor) for child in row.get("children", [])),
    )


def leaves(row, above=""):
    path = f"{above}/{row['name']}"
    if not row.get("children"):
        yield path, row.get("d")
    for child in row.get("children", []):
        yield from leaves(child, path)


@pytest.mark.parametrize("mode", ReservationMode)
def test_hierarchical_tags_agree_with_the_closed_form(tree_vector, mode):
    # In units in which the capacity is about 1,000 requests a second.
    factor = 100 if tree_vector["capacity"] < 100 else 1
    capacity = tree_vector["capacity"] * factor
    scheduler = TagScheduler(node_of(tree_vector["tree"], factor), capacity=capacity, mode=mode)
    sources = [
        Source(path=path, per_second=None if demand is None else demand * factor)
        for path, demand in leaves(tree_vector["tree"])
    ]

    served = run(scheduler, sources, capacity=capacity, until=6.0)

    for path, rate in rates(served, seconds=6.0).items():
        expected = tree_vector[TREE_KEY[mode]][path] * factor
        assert rate == pytest.approx(expected, rel=2e-3, abs=2 / 6)


@pytest.mark.parametrize("mode", ReservationMode)
def test_the_reservation_of_an_idle_client_counts_for_nothing_in_its_class(mode):
    # Only 100 of the 200 reserved in class a are wanted; b has nine times the shares.
    idle = Node(name="idle", reservation=100, demand=0)
    a = Node(name="a", children=(Node(name="busy", reservation=100), idle))
    root = Node(name="dev", children=(a, Node(name="b", shares=9)))
    scheduler = TagScheduler(root, capacity=1000.0, mode=mode)
    sources = [Source(path="/dev/a/busy"), Source(path="/dev/b")]

    served = run(scheduler, sources, capacity=1000.0, until=3.0)

    expected = entitlements_tree(1000.0, root, mode)
    assert rates(served, seconds=3.0) == pytest.approx(
        {path: expected[path] for path in ("/dev/a/busy", "/dev/b")}, abs=1
    )


def test_a_limit_just_below_the_share_is_still_reached():
    # By shares c2 would get 142 of 200; 137 is its limit and the other 53 are for c3.
    root = flat({"limit": 5}, {"limit": 5}, {"limit": 137, "shares": 3}, {"reservation": 15})

    served = serve(root, capacity=200.0, seconds=8.0)

    assert rate_list(served, 8.0) == pytest.approx([5, 5, 137, 53], abs=0.5)


allocation_fields = st.fixed_dictionaries(
    {
        "reservation": st.just(0.0) | st.floats(1, 60),
        "limit": st.none() | st.floats(5, 200),
        "shares": st.floats(0.5, 8),
    }
)


@settings(max_examples=15)
@given(st.lists(allocation_fields, min_size=1, max_size=4), st.sampled_from(ReservationMode))
@example([{"limit": 7.0}, {"limit": 7.0}, {"limit": 150.5}], FLOOR)
def test_tags_agree_with_the_solver_on_any_allocations(clients, mode):
    seconds, capacity = 8.0, 200.0
    allocations = [Allocation(**fields) for fields in clients]

    served = serve(flat(*clients), capacity=capacity, mode=mode, seconds=seconds)

    expected = entitlements(capacity, allocations, mode)
    assert rate_list(served, seconds) == pytest.approx(expected, rel=0.02, abs=3 / seconds)


@settings(max_examples=15)
@given(st.lists(allocation_fields, min_size=1, max_size=4), st.sampled_from(ReservationMode))
def test_a_limit_is_never_exceeded_in_any_second(clients, mode):
    served = serve(flat(*clients), capacity=200.0, mode=mode, seconds=5.0)

    for fields, one in zip(clients, served.values(), strict=True):
        if fields["limit"] is not None:
            # A request that straddles the second, one period, and what late turns make up for.
            extra = 2 + LATE_SERVICES * fields["limit"] / 200.0
            assert all(bucket <= fields["limit"] + extra for bucket in one.buckets)


@settings(max_examples=15)
@given(st.lists(st.floats(0.5, 8), min_size=1, max_size=4), st.sampled_from(ReservationMode))
def test_the_device_is_never_idle_while_an_unlimited_client_waits(shares, mode):
    served = serve(flat(*({"shares": s} for s in shares)), capacity=100.0, mode=mode, seconds=5.0)

    assert sum(rate_list(served, 5.0)) == pytest.approx(100.0, abs=1)


def test_shares_order_single_pulls():
    # Shares 1:2, six pulls: 2 and 4.
    scheduler = TagScheduler(flat({"shares": 1}, {"shares": 2}), capacity=1.0, mode=FLOOR)
    for _ in range(6):
        scheduler.enqueue("/dev/c0", cost=1, now=0.0)
        scheduler.enqueue("/dev/c1", cost=1, now=0.0)

    pulls = [scheduler.dequeue(0.0).path for _ in range(6)]

    assert (pulls.count("/dev/c0"), pulls.count("/dev/c1")) == (2, 4)


def test_overdue_reservations_are_served_in_proportion():
    # Reservations 2:1, all long due, six pulls: 4 and 2.
    scheduler = TagScheduler(
        flat({"reservation": 2.0}, {"reservation": 1.0}), capacity=100.0, mode=FLOOR
    )
    for _ in range(6):
        scheduler.enqueue("/dev/c0", cost=1, now=0.0)
        scheduler.enqueue("/dev/c1", cost=1, now=0.0)

    pulls = [scheduler.dequeue(100.0) for _ in range(6)]

    assert [pull.path for pull in pulls].count("/dev/c0") == 4
    assert {pull.phase for pull in pulls} == {Phase.RESERVATION}


def test_reserved_service_is_the_reservation_s_part_of_the_total():
    # The recorded run of another mClock: 39 / 19.5 / 9.75 and 26 / 26 / 10 % reserved.
    tiers = [(10, 4)] * 2 + [(5, 2)] * 4 + [(1, 1)] * 2
    root = flat(*({"reservation": r, "shares": w} for r, w in tiers))

    served = serve(root, capacity=175.5, seconds=20.0)

    got = rate_list(served, 20.0)
    assert got == pytest.approx([39] * 2 + [19.5] * 4 + [9.75] * 2, rel=0.01)
    reserved = [
        one.by_phase[Phase.RESERVATION] / sum(one.by_phase.values()) for one in served.values()
    ]
    assert reserved == pytest.approx(
        [r / x for (r, _), x in zip(tiers, got, strict=True)], abs=0.01
    )


def test_reservations_that_do_not_fit_are_scaled_in_proportion():
    # Plain mClock gives 39.5 / 39.5 / 20 here, by order of arrival.
    root = flat({"reservation": 120}, {"reservation": 60}, {"reservation": 20})

    served = serve(root, capacity=100.0, seconds=10.0)

    assert rate_list(served, 10.0) == pytest.approx([60, 30, 10], abs=0.2)


def test_a_client_held_at_its_limit_cannot_save_up_shares():
    # c1 has 40 of 156 for 10 s; then two more join. At once 28 : 28, not 16 : 40 for 14 s.
    root = flat({}, {"limit": 40}, {"shares": 2, "limit": 50}, {"shares": 2, "limit": 50})
    sources = [Source(path=f"/dev/c{i}", starts_at=10.0 if i > 1 else 0.0) for i in range(4)]

    served = serve(root, capacity=156.0, seconds=15.0, sources=sources)

    early = [served[f"/dev/c{i}"].buckets[11] for i in range(4)]
    assert early == pytest.approx([28, 28, 50, 50], abs=2)


@pytest.mark.parametrize(("burst", "ahead"), [(0.0, 0), (20.0, 20)], ids=["none", "20 requests"])
def test_a_client_that_was_idle_gets_ahead_by_its_burst_only(burst, ahead):
    sources = [Source(path="/dev/c0"), Source(path="/dev/c1", starts_at=5.0)]

    served = serve(flat({}, {}), capacity=100.0, seconds=8.0, burst=burst, sources=sources)

    # In the first second after it comes: half each, and what it may take ahead.
    assert served["/dev/c1"].buckets[5] == pytest.approx(50 + ahead / 2, abs=2)
    assert served["/dev/c1"].buckets[7] == pytest.approx(50, abs=2)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("rivals", [0, 3])
def test_a_limit_holds_for_any_number_of_workers_and_rivals(workers, rivals):
    # Two virtual disks of one workload with 200 each, as in seed 004: 400 together.
    root = flat({"limit": 200}, {"limit": 200}, *({} for _ in range(rivals)))
    sources = [Source(path=f"/dev/c{i}", outstanding=workers) for i in range(2 + rivals)]

    served = serve(root, capacity=2000.0, seconds=2.0, sources=sources)

    # Within 1 %, and one request.
    assert served["/dev/c0"].cost + served["/dev/c1"].cost == pytest.approx(800, rel=0.01, abs=2)


@pytest.mark.parametrize(("kib", "per_second"), [(8, 100), (32, 100), (64, 50), (256, 12.5)])
def test_a_limit_counts_large_requests_by_their_size(kib, per_second):
    cost = counted_ios(kib * 1024)
    sources = [Source(path="/dev/c0", cost=cost)]

    served = serve(flat({"limit": 100}), capacity=4000.0, seconds=8.0, sources=sources)

    assert served["/dev/c0"].cost / cost / 8 == pytest.approx(per_second, rel=0.02)


def test_shares_divide_cost_not_requests():
    sources = [Source(path="/dev/c0", cost=1.0), Source(path="/dev/c1", cost=4.5)]

    served = serve(flat({}, {}), capacity=500.0, seconds=6.0, sources=sources)

    assert served["/dev/c0"].cost == pytest.approx(served["/dev/c1"].cost, rel=0.01)


@pytest.mark.parametrize("mode", ReservationMode)
def test_a_client_without_shares_gets_its_reservation_only(mode):
    root = flat({"reservation": 20, "shares": 0}, {"limit": 50})

    served = serve(root, capacity=100.0, mode=mode)

    assert rate_list(served, 6.0) == pytest.approx([20, 50], abs=0.5)


def test_what_an_idle_client_leaves_goes_to_the_others():
    sources = [Source(path="/dev/c0", per_second=10.0), Source(path="/dev/c1")]

    served = serve(flat({"reservation": 50}, {}), capacity=100.0, sources=sources)

    assert rate_list(served, 6.0) == pytest.approx([10, 90], abs=0.5)


def test_a_limit_of_zero_is_never_served():
    served = serve(flat({"limit": 0}, {}), capacity=100.0, seconds=1.0)

    assert rate_list(served, 1.0) == pytest.approx([0, 100], abs=1)


def test_an_empty_scheduler_waits_for_nothing():
    scheduler = TagScheduler(flat({}), capacity=1.0, mode=FLOOR)

    assert scheduler.dequeue(0.0) is None
    assert scheduler.next_at() is None


def test_a_limited_request_says_when_it_may_be_served():
    scheduler = TagScheduler(flat({"limit": 2.0}), capacity=100.0, mode=FLOOR)
    for _ in range(3):
        scheduler.enqueue("/dev/c0", cost=1, now=0.0)

    served = [scheduler.dequeue(0.0) is not None for _ in range(2)]

    assert served == [True, False]
    assert scheduler.next_at() == 0.5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"limit": -1}, r"^/dev/c0: limit is -1"),
        ({"reservation": math.nan}, r"^/dev/c0: reservation is nan"),
    ],
)
def test_a_bad_client_is_refused_with_its_path(fields, message):
    with pytest.raises(ValueError, match=message):
        TagScheduler(flat(fields), capacity=1.0, mode=FLOOR)


@pytest.mark.parametrize("cost", [0.0, -1.0, math.nan, math.inf])
def test_a_bad_cost_is_refused(cost):
    scheduler = TagScheduler(flat({}), capacity=1.0, mode=FLOOR)

    with pytest.raises(ValueError, match=r"^cost is "):
        scheduler.enqueue("/dev/c0", cost=cost, now=0.0)


def test_a_request_for_an_unknown_client_is_refused():
    scheduler = TagScheduler(flat({}), capacity=1.0, mode=FLOOR)

    with pytest.raises(KeyError):
        scheduler.enqueue("/dev/c9", cost=1.0, now=0.0)
