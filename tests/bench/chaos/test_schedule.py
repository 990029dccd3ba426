"""What goes wrong in a scenario follows from its seed, and the first twelve have all kinds."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from bench.chaos.schedule import LONGEST_GAP_S, Cut, Kind, Part, schedule

ALL = [schedule(seed) for seed in range(1, 201)]


def test_same_seed_makes_the_same_schedule() -> None:
    again = [schedule(seed) for seed in range(1, 201)]

    assert again == ALL
    assert len({one.faults for one in ALL}) == len(ALL)


def test_first_twelve_seeds_have_every_kind() -> None:
    kinds = {kind for one in ALL[:12] for kind in one.kinds}

    assert kinds == set(Kind)


def test_two_hundred_seeds_kill_every_part_and_cut_every_two() -> None:
    targets = {
        kind: {fault.target for one in ALL for fault in one.faults if fault.kind is kind}
        for kind in (Kind.KILL, Kind.PARTITION)
    }

    assert targets == {Kind.KILL: set(Part), Kind.PARTITION: set(Cut)}


def test_each_cut_has_its_turn() -> None:
    cuts = Counter(fault.target for one in ALL for fault in one.faults if fault.target in set(Cut))

    assert max(cuts.values()) - min(cuts.values()) <= 1


def test_kills_come_in_pairs_and_triples_of_different_parts_within_seconds() -> None:
    only_kills = [one.faults for one in ALL if one.kinds == (Kind.KILL,)]

    sizes = Counter(len(faults) for faults in only_kills)
    # Of 20 seeds five are pairs and four are triples.
    assert sizes == {2: 50, 3: 40}
    for faults in only_kills:
        assert len({fault.target for fault in faults}) == len(faults)
        begins = [fault.at_s for fault in faults]
        gaps = [later - earlier for earlier, later in pairwise(begins)]
        assert all(0 <= gap <= LONGEST_GAP_S for gap in gaps)


@pytest.mark.parametrize("kind", [Kind.STOP, Kind.PARTITION, Kind.FULL_DISK, Kind.CLOCK])
def test_what_lasts_is_over_after_ten_seconds(kind: Kind) -> None:
    lengths = [fault.lasts_s for one in ALL for fault in one.faults if fault.kind is kind]

    assert lengths
    assert all(3.0 <= length <= 10.0 for length in lengths)
