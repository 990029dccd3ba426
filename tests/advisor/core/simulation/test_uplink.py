"""The simulated uplink against the solver, and what headers leave of a line."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.core.allocation import Node, ReservationMode, entitlements_tree
from advisor.core.simulation.uplink import SimulatedUplink, Stream, tcp_bits_per_s, transmit

GIGA = 1e9


def tree(*reservations, shares=None):
    shares = shares or [50.0] * len(reservations)
    return Node(
        name="uplink",
        children=tuple(
            Node(name=f"vm{index}", reservation=reservation, shares=share)
            for index, (reservation, share) in enumerate(zip(reservations, shares, strict=True))
        ),
    )


def rates(uplink, streams, *, duration_s=1.0):
    sent = transmit(uplink, streams, duration_s=duration_s, bucket_s=duration_s / 10)
    return {path: sum(buckets) / len(buckets) for path, buckets in sent.items()}


def test_tcp_gets_the_payload_s_part_of_the_line():
    # 1448 of 1538 bytes on the wire.
    assert tcp_bits_per_s(10 * GIGA) == pytest.approx(9.4148 * GIGA, rel=1e-4)


@pytest.mark.slow
@settings(max_examples=10)
@given(
    st.lists(st.sampled_from([0.0, 1.0, 3.0]), min_size=1, max_size=4),
    st.sampled_from(list(ReservationMode)),
)
def test_busy_streams_get_what_the_solver_allocates(reservations, mode):
    node = tree(*(GIGA * one for one in reservations))
    uplink = SimulatedUplink(capacity_bits_per_s=9.4 * GIGA, tree=node, mode=mode)

    result = rates(uplink, [Stream(path=f"/uplink/{child.name}") for child in node.children])

    expected = entitlements_tree(9.4 * GIGA, node, mode)
    for path, rate in result.items():
        assert rate == pytest.approx(expected[path], abs=0.02 * GIGA)


def test_stream_that_wants_less_than_reserved_leaves_the_rest():
    uplink = SimulatedUplink(capacity_bits_per_s=9 * GIGA, tree=tree(6 * GIGA, 0.0))

    result = rates(
        uplink, [Stream(path="/uplink/vm0", rate_bits_per_s=GIGA), Stream(path="/uplink/vm1")]
    )

    assert result["/uplink/vm0"] == pytest.approx(GIGA, rel=0.01)
    assert result["/uplink/vm1"] == pytest.approx(8 * GIGA, rel=0.01)


def test_stream_sends_only_between_its_times():
    uplink = SimulatedUplink(capacity_bits_per_s=GIGA, tree=tree(0.0))

    sent = transmit(
        uplink,
        [Stream(path="/uplink/vm0", starts_s=0.2, ends_s=0.6)],
        duration_s=1.0,
        bucket_s=0.2,
    )

    # What was asked for before the end, 32 pieces, is sent after it.
    assert sent["/uplink/vm0"] == pytest.approx((0, GIGA, GIGA, 0, 0), abs=0.1 * GIGA)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0, 0.0])
def test_impossible_uplinks_are_refused(wrong):
    with pytest.raises(ValueError, match="capacity_bits_per_s"):
        SimulatedUplink(capacity_bits_per_s=wrong, tree=tree(0.0))
    with pytest.raises(ValueError, match="line_bits_per_s"):
        tcp_bits_per_s(wrong)
    with pytest.raises(ValueError, match="bucket_s"):
        transmit(
            SimulatedUplink(capacity_bits_per_s=1, tree=tree(0.0)),
            [],
            duration_s=1,
            bucket_s=wrong,
        )
    with pytest.raises(ValueError, match="mtu_bytes"):
        tcp_bits_per_s(GIGA, mtu_bytes=52)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0, 0.0])
def test_impossible_streams_are_refused(wrong):
    with pytest.raises(ValueError, match="rate_bits_per_s"):
        Stream(path="/uplink/vm0", rate_bits_per_s=wrong)
    with pytest.raises(ValueError, match="ends_s is"):
        Stream(path="/uplink/vm0", starts_s=5.0, ends_s=min(wrong, 5.0))


@pytest.mark.parametrize(
    ("uplink", "stream", "bucket_s", "message"),
    [
        ({"capacity_bits_per_s": 1e18}, {}, 1.0, "pieces in 1 s are too many"),
        ({}, {"rate_bits_per_s": 1e18}, 1.0, "pieces in 1 s are too many"),
        ({"piece_bytes": 10**18}, {}, 1.0, "not one piece passes"),
        ({}, {}, 1e-9, "1e.09 buckets are too many"),
    ],
    ids=["capacity", "rate", "piece", "buckets"],
)
def test_what_cannot_be_simulated_is_refused(uplink, stream, bucket_s, message):
    possible = {"capacity_bits_per_s": GIGA, "tree": tree(0.0)}

    with pytest.raises(ValueError, match=message):
        transmit(
            SimulatedUplink(**possible | uplink),
            [Stream(path="/uplink/vm0", **stream)],
            duration_s=1.0,
            bucket_s=bucket_s,
        )
