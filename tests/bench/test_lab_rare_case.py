"""What is rare is planted as it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bench.lab.disk_case import PIECE_BYTES
from bench.lab.rare_case import MOST_HUNG_WINDOWS, PLIGHTS, rare_case

SEEDS = st.integers(0, 10**9)


def most_iops(load: Mapping[str, Any]) -> float:
    """What a load begins at most, counted as the disk does; clients wait and think."""
    pieces = max(1, load["block_bytes"] // PIECE_BYTES)
    if load["kind"] == "clients":
        return float(load["clients"] * pieces / load["think_s"])
    if load["kind"] == "bursts":
        return float(load["iops"] * load["on_s"] / (load["on_s"] + load["off_s"]))
    return float(load["iops"])


@given(SEEDS)
def test_seeds_in_a_row_have_each_plight_and_the_same_seed_the_same_case(seed: int) -> None:
    cases = [rare_case(seed + number) for number in range(len(PLIGHTS))]

    assert {case.plight for case in cases} == set(PLIGHTS)
    assert rare_case(seed) == cases[0]
    for case in cases:
        assert (case.culprit is not None) == (case.plight == "ring")
        assert (1 <= case.hung_windows <= MOST_HUNG_WINDOWS) == (case.plight == "hang")


@given(SEEDS)
def test_beside_a_hog_the_disk_has_something_left(seed: int) -> None:
    case = rare_case(seed - seed % len(PLIGHTS) + PLIGHTS.index("hog"))

    rates = [most_iops(load) for load in case.disk.loads]

    assert max(rates) >= 0.4 * case.disk.iops
    assert sum(rates) < case.disk.iops


@given(SEEDS)
def test_the_service_that_waits_for_a_timer_does_no_io(seed: int) -> None:
    case = rare_case(seed - seed % len(PLIGHTS) + PLIGHTS.index("ring"))

    *others, waiting = case.disk.loads
    assert waiting == {"kind": "idle"}
    assert len(case.disk.tiers) == len(case.disk.reservations) == len(case.disk.loads)
    assert all(one["is_by_ring"] == (one["kind"] != "clients") for one in others)
