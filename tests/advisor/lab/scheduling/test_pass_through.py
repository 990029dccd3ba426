"""The short way of a request that need not wait leaves what enqueuing and dequeuing it leave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.allocation import Node, ReservationMode
from advisor.lab.scheduling.model import TagScheduler

CAPACITY = 200.0
LEAVES = st.fixed_dictionaries(
    {
        "reservation": st.just(0.0) | st.floats(1, 60),
        "limit": st.none() | st.floats(5, 200),
        "shares": st.just(0.0) | st.floats(0.5, 8),
    }
)
REQUEST = st.tuples(
    st.integers(0, 3), st.floats(0.5, 8), st.floats(0, 0.1), st.sampled_from([0, 1, 1, 1, 2])
)


def device(leaves, limit=None):
    children = tuple(Node(name=f"c{i}", **fields) for i, fields in enumerate(leaves))
    return Node(name="dev", limit=limit, children=children)


def serve(scheduler, path, cost, now, *, by_short_way):
    """Who is served when this request has come."""
    if by_short_way and scheduler.pass_through(path, cost, now):
        return path
    scheduler.enqueue(path, cost, now)
    dispatch = scheduler.dequeue(now)
    return dispatch and dispatch.path


@given(
    st.lists(LEAVES, min_size=1, max_size=4),
    st.none() | st.floats(20, 200),
    st.sampled_from(ReservationMode),
    st.sampled_from([0.0, 20.0]),
    st.lists(REQUEST, max_size=60),
)
def test_the_short_way_changes_nothing_that_is_served_later(leaves, limit, mode, burst, requests):
    ways = {
        by_short_way: TagScheduler(
            device(leaves, limit), capacity=CAPACITY, mode=mode, burst=burst
        )
        for by_short_way in (True, False)
    }
    served = {True: [], False: []}

    for by_short_way, scheduler in ways.items():
        now = 0.0
        for client, cost, pause, pulls in requests:
            now += pause
            path = f"/dev/c{client % len(leaves)}"
            if pulls == 0:
                scheduler.enqueue(path, cost, now)
                continue
            who = serve(scheduler, path, cost, now, by_short_way=by_short_way)
            more = [scheduler.dequeue(now) for _ in range(pulls - 1)]
            served[by_short_way].append((who, more, scheduler.next_at()))

    assert served[True] == served[False]


def test_a_request_passes_through_only_where_nothing_waits():
    scheduler = TagScheduler(device([{}, {}]), capacity=CAPACITY, mode=ReservationMode.FLOOR)

    alone = scheduler.pass_through("/dev/c0", 1.0, 0.0)
    scheduler.enqueue("/dev/c1", 1.0, 0.0)
    beside = scheduler.pass_through("/dev/c0", 1.0, 0.0)

    assert (alone, beside) == (True, False)


def test_a_request_at_its_limit_does_not_pass_through():
    # 2 a second: the first starts at once, the next half a second later.
    scheduler = TagScheduler(
        device([{"limit": 2.0}]), capacity=CAPACITY, mode=ReservationMode.FLOOR
    )

    passed = [scheduler.pass_through("/dev/c0", 1.0, now) for now in (0.0, 0.4, 0.5)]

    assert passed == [True, False, True]


@pytest.mark.parametrize(("cost", "now"), [(0.0, 0.0), (float("nan"), 0.0), (1.0, -1.0)])
def test_the_short_way_refuses_what_the_long_one_does(cost, now):
    scheduler = TagScheduler(device([{}]), capacity=CAPACITY, mode=ReservationMode.FLOOR)

    with pytest.raises(ValueError, match=r"^(cost|now) is "):
        scheduler.pass_through("/dev/c0", cost, now)
