"""Planted cases of a disk that are not scored by what a policy brings, but by what is found.

| plight | what happens after the calm phase |
|---|---|
| hang | the disk takes I/Os and completes none, for one to six windows |
| hog | nothing: one workload has always used half of the disk, and nobody lost anything |
| ring | one workload lets loose, and asynchronous I/O is by io_uring |

In a ring one more workload waits for a timer of io_uring all the time, which Linux counts as
waiting for I/O: its pressure is near 100 %, and it does none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from bench.lab.disk_case import DiskCase, disk_case

PLIGHTS = ("hang", "hog", "ring")
MOST_HUNG_WINDOWS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RareCase:
    """`disk` is the disk with its loads; of a hang `hung_windows` are seen, else 0."""

    plight: str
    disk: DiskCase
    hung_windows: int = 0

    @property
    def culprit(self) -> int | None:
        """The place of the one that lets loose; None where nobody does."""
        return self.disk.extra[0][0] if self.disk.extra else None


def rare_case(seed: int) -> RareCase:
    """The case of this seed; seeds that follow each other take turns."""
    plight = PLIGHTS[seed % len(PLIGHTS)]
    return _CASES[plight](disk_case(seed), Random(f"{plight} {seed}"))


def _hang(disk: DiskCase, chance: Random) -> RareCase:
    windows = chance.randint(1, MOST_HUNG_WINDOWS)
    return RareCase(plight="hang", disk=replace(disk, extra=()), hung_windows=windows)


def _hog(disk: DiskCase, chance: Random) -> RareCase:
    """Its I/Os come at a steady rate that the disk does, small ones, many at once."""
    place = chance.randrange(len(disk.loads))
    load = {
        "kind": "steady",
        "iops": disk.iops * chance.uniform(0.4, 0.6),
        "depth": 16,
        "block_bytes": 4096,
        "read_ratio": 1.0,
        "seed": chance.randrange(10**6),
    }
    others = [_lighter(one) for one in disk.loads]
    others[place] = load
    return RareCase(plight="hog", disk=replace(disk, loads=tuple(others), extra=()))


def _lighter(load: Mapping[str, Any]) -> Mapping[str, Any]:
    """A third of it: with the hog they leave the disk some rest."""
    if load["kind"] == "clients":
        return {**load, "clients": 1, "think_s": 3 * max(load["think_s"], 0.02)}
    return {**load, "iops": load["iops"] / 3}


def _ring(disk: DiskCase, _: Random) -> RareCase:
    loads = (*map(_by_ring, disk.loads), {"kind": "idle"})
    extra = tuple((place, _by_ring(load)) for place, load in disk.extra)
    tiers, reservations = (*disk.tiers, "medium"), (*disk.reservations, 0.0)
    found = replace(disk, loads=loads, extra=extra, tiers=tiers, reservations=reservations)
    return RareCase(plight="ring", disk=found)


def _by_ring(load: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**load, "is_by_ring": load["kind"] != "clients"}


_CASES = {"hang": _hang, "hog": _hog, "ring": _ring}
