"""Hierarchical tags against `entitlements_tree`: any tree, late clients, sizes, clocks."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.core.allocation import Node, ReservationMode, entitlements_tree
from advisor.lab.scheduling.model import TagScheduler
from advisor.lab.scheduling.run import Source, rates, run

FLOOR, ADDITIVE = ReservationMode
CAPACITY = 200.0


@st.composite
def trees(draw, depth=2, name="dev"):
    """A device with classes; half of the numbers are at their default."""
    fan = draw(st.integers(1 if name == "dev" else 0, 3)) if depth else 0
    return Node(
        name=name,
        reservation=draw(st.just(0.0) | st.floats(2, 60)) if name != "dev" else 0.0,
        limit=draw(st.none() | st.floats(10, 150)) if name != "dev" else None,
        shares=draw(st.just(1.0) | st.floats(0.5, 8)),
        children=tuple(draw(trees(depth=depth - 1, name=f"c{i}")) for i in range(fan)),
    )


def leaves(node, above=""):
    path = f"{above}/{node.name}"
    if not node.children:
        yield path
    for child in node.children:
        yield from leaves(child, path)


def with_demand(node, demand, above=""):
    """The same tree with the demand of each leaf that is named."""
    path = f"{above}/{node.name}"
    children = tuple(with_demand(child, demand, path) for child in node.children)
    return replace(node, demand=demand.get(path), children=children)


def serve(root, sources, *, mode=FLOOR, since=0.0, until=10.0, capacity=CAPACITY):
    """Cost per second of each source from `since` on."""
    scheduler = TagScheduler(root, capacity=capacity, mode=mode)
    served = run(scheduler, sources, capacity=capacity, until=until, since=since)
    return rates(served, seconds=until - since)


def expected(root, paths, *, mode, demand=None, capacity=CAPACITY):
    result = entitlements_tree(capacity, with_demand(root, demand or {}), mode)
    return {path: result[path] for path in paths}


@settings(max_examples=20)
@given(trees(), st.sampled_from(ReservationMode))
def test_rates_in_any_tree_are_those_of_the_solver(root, mode):
    paths = list(leaves(root))

    result = serve(root, [Source(path=path) for path in paths], mode=mode, since=5.0, until=25.0)

    # 2 %, and ten requests in 20 s.
    assert result == pytest.approx(expected(root, paths, mode=mode), rel=0.02, abs=0.5)


@settings(max_examples=20)
@given(trees(), st.sampled_from(ReservationMode), st.data())
def test_rates_are_those_of_the_solver_after_others_came_and_went(root, mode, data):
    paths = list(leaves(root))
    times = {
        path: data.draw(st.sampled_from([(0.0, 10.0), (10.0, math.inf), (0.0, math.inf)]))
        for path in paths
    }
    # What waits when a client goes is served all the same; of two each, below 1 a second.
    sources = [
        Source(path=path, starts_at=a, ends_at=b, outstanding=2 if b == 10.0 else 32)
        for path, (a, b) in times.items()
    ]
    gone = {path: 0.0 for path, (_, end) in times.items() if end == 10.0}

    result = serve(root, sources, mode=mode, since=18.0, until=38.0)

    assert result == pytest.approx(expected(root, paths, mode=mode, demand=gone), rel=0.04, abs=1)


def test_reservations_that_do_not_fit_are_in_proportion_up_to_the_limit():
    # 8 and 8 reserved of 6, but the first may take 2 only: 2 and 4.
    root = Node(
        name="dev",
        children=(Node(name="a", reservation=80, limit=20), Node(name="b", reservation=80)),
    )

    result = serve(root, [Source(path="/dev/a"), Source(path="/dev/b")], capacity=60.0)

    assert list(result.values()) == pytest.approx([20, 40], abs=0.3)


@pytest.mark.parametrize("mode", ReservationMode)
def test_a_client_that_waits_now_and_then_keeps_its_reservation_for_its_class(mode):
    # Class a has 90 reserved and class b nothing; one client of a wants only 40 of its 60.
    a = Node(
        name="a",
        children=(Node(name="often", reservation=30), Node(name="rarely", reservation=60)),
    )
    root = Node(name="dev", children=(a, Node(name="b")))
    sources = [Source(path="/dev/a/often"), Source(path="/dev/b")]
    sources.append(Source(path="/dev/a/rarely", per_second=40.0))

    result = serve(root, sources, mode=mode, until=20.0)

    # Floor: 100 each, 60 and 40 in a. Additive: 70 are used as reserved, 65 of the rest each.
    often, b = {FLOOR: (60, 100), ADDITIVE: (95, 65)}[mode]
    wanted = {"/dev/a/often": often, "/dev/b": b, "/dev/a/rarely": 40}
    assert result == pytest.approx(wanted, abs=1)


def test_a_class_held_at_its_members_limits_cannot_save_up_shares():
    # The class gets 20 of its 100 for 10 s; then a second member joins without a limit.
    pool = Node(name="pool", children=(Node(name="slow", limit=20), Node(name="fast")))
    root = Node(name="dev", children=(pool, Node(name="rest")))
    sources = [Source(path="/dev/pool/slow"), Source(path="/dev/rest")]
    sources.append(Source(path="/dev/pool/fast", starts_at=10.0))

    result = serve(root, sources, since=10.0, until=12.0)

    assert result["/dev/rest"] == pytest.approx(100, abs=10)


def test_a_client_reserved_above_its_shares_pays_nothing_back_when_others_leave():
    # 80 of 200 reserved and shares for 50, until two others leave: half of 200.
    root = Node(
        name="dev",
        children=(Node(name="db", reservation=80), *(Node(name=name) for name in "abc")),
    )
    sources = [Source(path="/dev/db"), Source(path="/dev/a")]
    sources.extend(Source(path=f"/dev/{name}", ends_at=20.0) for name in "bc")

    result = serve(root, sources, since=21.0, until=25.0)

    assert result["/dev/db"] == pytest.approx(100, rel=0.03)


@pytest.mark.parametrize("mode", ReservationMode)
@pytest.mark.parametrize("large", [4.0, 16.0, 64.0])
@pytest.mark.parametrize("fields", [{"limit": 60.0}, {"limit": 60.0, "shares": 4.0}])
def test_a_limit_is_reached_beside_much_larger_requests(mode, large, fields):
    root = Node(name="dev", children=(Node(name="small", **fields), Node(name="large")))
    sources = [Source(path="/dev/small"), Source(path="/dev/large", cost=large)]

    result = serve(root, sources, mode=mode, until=100.0)

    assert list(result.values()) == pytest.approx([60, 140], abs=1.5)


def test_a_reservation_is_no_more_than_it_says_beside_much_larger_requests():
    # By shares 1 : 3 the small one would get 50, its reservation is 60.
    small = Node(name="small", reservation=60.0)
    root = Node(name="dev", children=(small, Node(name="large", shares=3.0)))
    sources = [Source(path="/dev/small"), Source(path="/dev/large", cost=64.0)]

    result = serve(root, sources, until=100.0)

    assert list(result.values()) == pytest.approx([60, 140], abs=1.5)


def test_shares_of_the_root_decide_nothing():
    root = Node(name="dev", shares=0.0, children=(Node(name="c0", limit=20.0),))

    assert serve(root, [Source(path="/dev/c0")])["/dev/c0"] == pytest.approx(20, abs=0.3)


def test_the_unit_of_the_clock_changes_nothing():
    # Nanoseconds and bytes per nanosecond, but for a power of two, which changes no digit.
    scale = 2.0**30
    packets = (64.0, 1500.0, 9000.0)

    def order(unit):
        root = Node(
            name="nic",
            children=tuple(
                Node(name=f"c{i}", reservation=r / unit, limit=limit and limit / unit)
                for i, (r, limit) in enumerate([(1e6, None), (0.0, 5e6), (2e6, 4e6)])
            ),
        )
        scheduler = TagScheduler(root, capacity=1.25e7 / unit, mode=ADDITIVE)
        now, served = 0.0, []
        for i, size in enumerate(packets * 40):
            scheduler.enqueue(f"/nic/c{i % 3}", cost=size, now=0.0)
        while (at := scheduler.next_at()) is not None:
            now = max(now, at)
            dispatch = scheduler.dequeue(now)
            served.append((dispatch, now / unit))
            now += dispatch.cost / (1.25e7 / unit)
        return served

    assert order(scale) == order(1.0)
    assert len(order(1.0)) == 120


def test_a_chain_of_classes_without_shares_is_looked_through_in_time():
    # Looking twice at every level would take 2^60 steps.
    node = Node(name="n", reservation=5.0, shares=0.0)
    for _ in range(60):
        node = Node(name="n", shares=0.0, children=(node,))

    (rate,) = serve(Node(name="dev", children=(node,)), [Source(path="/dev" + "/n" * 61)]).values()

    assert rate == pytest.approx(5, abs=0.3)


def test_a_tree_too_deep_for_the_model_is_refused():
    node = Node(name="n")
    for _ in range(10_000):
        node = Node(name="n", children=(node,))

    with pytest.raises(ValueError, match=r"^/n: the tree has more than 100 levels"):
        TagScheduler(node, capacity=1.0, mode=FLOOR)


@pytest.mark.parametrize("now", [math.nan, math.inf, -1.0])
def test_a_time_that_no_clock_shows_is_refused(now):
    scheduler = TagScheduler(Node(name="dev"), capacity=1.0, mode=FLOOR)

    with pytest.raises(ValueError, match=r"^now is "):
        scheduler.enqueue("/dev", cost=1.0, now=now)
    with pytest.raises(ValueError, match=r"^now is "):
        scheduler.dequeue(now)


def test_two_sources_of_one_path_are_refused():
    scheduler = TagScheduler(Node(name="dev"), capacity=1.0, mode=FLOOR)

    with pytest.raises(ValueError, match="two sources have the same path"):
        run(scheduler, [Source(path="/dev")] * 2, capacity=1.0, until=1.0)
