"""How long a page takes to leave a busy host: closed forms, the order of the cases, bad input."""

import math

import pytest

from advisor.core.allocation import Node
from advisor.lab.simulation.pages import PACKET_BYTES, PageLoad, page_time_s

CAPACITY = 8.0 * PACKET_BYTES * 1000
"""A thousand packets a second, so that a packet takes a millisecond."""
RIVALS = ("/uplink/a", "/uplink/b", "/uplink/c")


def load(rivals=RIVALS, **kw):
    numbers = {
        "page_bytes": 10 * PACKET_BYTES,
        "buffer_bytes": 20 * PACKET_BYTES,
        "pages": 20,
        "gap_s": 0.1,
    }
    return PageLoad(server="/uplink/server", rivals=rivals, **numbers | kw)


def tree(reserved_packets_per_s=0.0):
    reservation = 8.0 * PACKET_BYTES * reserved_packets_per_s
    return Node(
        name="uplink",
        children=(
            Node(name="server", shares=50, reservation=reservation),
            *(Node(name=name, shares=50) for name in "abc"),
        ),
    )


def seconds(which, by=None):
    return page_time_s(which, capacity_bits_per_s=CAPACITY, tree=by, seed=1)


@pytest.mark.parametrize("by", [None, tree()], ids=["in order", "by tags"])
def test_page_alone_takes_its_packets(by):
    assert seconds(load(rivals=()), by) == pytest.approx(0.010)


def test_page_in_one_queue_waits_for_all_that_rivals_have_queued():
    # Three rivals with 20 packets each, then its own 10.
    assert seconds(load()) == pytest.approx(0.070, abs=0.001)


def test_page_in_a_queue_of_its_own_takes_turns():
    # A packet of each rival for every one of its own: 40 in all, the last rivals' after it.
    assert seconds(load(), tree()) == pytest.approx(0.040, abs=0.004)


def test_reservation_shortens_the_wait():
    assert seconds(load(), tree(600)) < seconds(load(), tree(300)) < seconds(load(), tree())


def test_same_seed_gives_the_same_time():
    assert seconds(load(), tree(300)) == seconds(load(), tree(300))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0, 0.0, 1e18])
@pytest.mark.parametrize("name", ["page_bytes", "buffer_bytes", "pages"])
def test_counts_that_cannot_be_simulated_are_refused(name, wrong):
    with pytest.raises(ValueError, match=f"{name} is"):
        load(**{name: wrong})


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0, 0.0])
def test_impossible_capacities_and_gaps_are_refused(wrong):
    with pytest.raises(ValueError, match="gap_s"):
        load(gap_s=wrong)
    with pytest.raises(ValueError, match="capacity_bits_per_s"):
        page_time_s(load(), capacity_bits_per_s=wrong, tree=None, seed=1)
