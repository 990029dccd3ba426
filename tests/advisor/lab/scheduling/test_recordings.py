"""Runs of another mClock, recorded, against our tag scheduler."""

import json

import pytest

from advisor.core.allocation import Node, ReservationMode
from advisor.lab.scheduling.model import Phase, TagScheduler
from advisor.lab.scheduling.run import Source, rates, run

SECONDS = 30.0


@pytest.fixture
def recorded(shared_dir):
    return json.loads((shared_dir / "reference" / "vectors.json").read_text())["external"][
        "dmclock"
    ]


def serve(clients, *, capacity):
    """Requests per second and the reserved part of each client that always asks."""
    root = Node(
        name="device",
        children=tuple(Node(name=f"c{index}", **one) for index, one in enumerate(clients)),
    )
    scheduler = TagScheduler(root, capacity=capacity, mode=ReservationMode.FLOOR)
    sources = [Source(path=f"/device/{child.name}") for child in root.children]
    served = run(scheduler, sources, capacity=capacity, until=SECONDS)
    parts = [
        one.by_phase[Phase.RESERVATION] / sum(one.by_phase.values()) for one in served.values()
    ]
    return list(rates(served, seconds=SECONDS).values()), parts


def test_reservation_beside_equal_shares_is_reproduced(recorded):
    one = recorded["netioc_a"]
    clients = [{"reservation": r, "shares": w} for r, w in zip(one["r"], one["w"], strict=True)]

    # What it served in all, 184.4, counts as the capacity.
    result, _ = serve(clients, capacity=sum(one["got"]))

    assert result == pytest.approx(one["got"], abs=0.2)


def test_shares_alone_are_reproduced(recorded):
    one = recorded["shares"]

    result, _ = serve([{"shares": share} for share in one["w"]], capacity=sum(one["got"]))

    assert result == pytest.approx(one["got"], abs=0.2)


def test_limit_among_equals_is_reproduced(recorded):
    got = recorded["limit5"]["got"]

    result, _ = serve([{"limit": 5.0}, *({} for _ in got[1:])], capacity=sum(got))

    assert result == pytest.approx(got, abs=0.2)


def test_tiers_and_the_part_of_reserved_service_are_reproduced(recorded):
    one = recorded["policy"]
    tiers = list(zip(one["r"], one["w"], one["n"], one["got"], strict=True))
    clients = [{"reservation": r, "shares": w} for r, w, count, _ in tiers for _ in range(count)]
    total = sum(count * got for _, _, count, got in tiers)

    result, parts = serve(clients, capacity=total)

    expected = [got for _, _, count, got in tiers for _ in range(count)]
    assert result == pytest.approx(expected, abs=0.2)
    assert [parts[0], parts[2], parts[6]] == pytest.approx(one["res_phase_fraction"], abs=0.01)


def test_reservations_that_do_not_fit_are_proportional_where_the_other_s_were_not(recorded):
    one = recorded["overcommit"]

    result, _ = serve([{"reservation": r} for r in one["r"]], capacity=one["C"])

    assert result == pytest.approx(one["proportional_would_be"], abs=0.2)
    assert result != pytest.approx(one["got"], abs=5)
