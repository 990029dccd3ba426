"""The solver against what others printed or measured: the studies, a kernel's HTB and iocost."""

import json

import pytest

from advisor.core.allocation import (
    Allocation,
    Node,
    ReservationMode,
    entitlements,
    entitlements_tree,
)

FLOOR, ADDITIVE = ReservationMode


@pytest.fixture
def vectors(shared_dir):
    return json.loads((shared_dir / "reference" / "vectors.json").read_text())


def test_allocation_reproduces_what_the_studies_printed(vectors):
    printed = [one for one in vectors["alloc"] if one["seed_value"] is not None]

    for one in printed:
        mode = ADDITIVE if one["id"].startswith("s002") else FLOOR
        allocations = [Allocation(e["r"], e["l"], e["s"], e["d"]) for e in one["entities"]]
        result = entitlements(one["capacity"], allocations, mode)
        for ours, theirs in zip(result, one["seed_value"], strict=True):
            assert theirs is None or ours == pytest.approx(theirs, abs=one["seed_tol"]), one["id"]
    assert len(printed) == 18


@pytest.mark.parametrize(
    ("cfg", "rates", "key"),
    [
        ("rate 79.8/0.008/0.008 q=30000 leaf burst 32k", (79.8, 0.008, 0.008), "want_SUM"),
        ("same q=200000", (79.8, 0.008, 0.008), "mbit"),
        ("r 31.9 + 47.9, equal q", (31.9, 47.9), "want_SUM"),
        ("precomputed SUM rates 86.53/6.73/6.73", (86.53, 6.73, 6.73), "mbit"),
    ],
)
def test_additive_reservations_are_what_the_kernel_s_htb_gives(vectors, cfg, rates, key):
    measured = vectors["external"]["htb_measured"]
    run = next(one for one in measured["runs"] if one["cfg"] == cfg)
    # Of every 100 Mbit on the wire 95.6 are payload.
    payload = measured["goodput"] / measured["wire_mbit"]

    result = entitlements(
        measured["goodput"], [Allocation(rate * payload) for rate in rates], ADDITIVE
    )

    assert result == pytest.approx(run[key], abs=0.06)


def test_quanta_divide_the_kernel_s_htb_as_shares_do(vectors):
    runs = vectors["external"]["htb_measured"]["runs"]
    run = next(one for one in runs if one["cfg"].startswith("quanta 90k:30k:30k"))

    result = entitlements(95.6, [Allocation(shares=s) for s in (90, 30, 30)], ADDITIVE)

    assert result == pytest.approx(run["want"], abs=0.01)
    assert result == pytest.approx(run["mbit"], rel=0.005)


@pytest.mark.parametrize(("demand", "key"), [(0.0, "B_idle"), (None, "B_active")])
@pytest.mark.parametrize("mode", ReservationMode)
def test_shares_in_a_tree_divide_as_iocost_weights_do(vectors, demand, key, mode):
    expected = next(one for one in vectors["iocost"] if one.get("id") == "hweight")[key]
    pair = (Node(name="A0", shares=100), Node(name="A1", shares=100))
    a, b = Node(name="A", shares=100, children=pair), Node(name="B", shares=300, demand=demand)

    result = entitlements_tree(1.0, Node(name="root", children=(a, b)), mode)

    by_name = {path.rsplit("/", 1)[1]: value for path, value in result.items()}
    assert {name: by_name[name] for name in expected} == pytest.approx(expected)
