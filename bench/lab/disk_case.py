"""A planted case of a disk: how fast it is, its workloads, and which of them will let loose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.lab.uplink_case import CHANGED_PART

TIERS = ("high", "medium", "low")
PIECE_BYTES = 32768
"""The disk takes larger I/Os in pieces of this size, each of which counts as one."""
SIZES = ((4096, 4), (8192, 3), (16384, 3), (65536, 2))
"""Bytes of an I/O, and how often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCase:
    """Loads by workload; `extra` begin with the incident, the first of them the culprit's.

    Each is what `bench.lab.disk_load` takes; amounts are I/Os per second, as the kernel counts.
    """

    seed: int
    iops: float
    queue_depth: int
    loads: tuple[Mapping[str, Any], ...]
    extra: tuple[tuple[int, Mapping[str, Any]], ...]
    tiers: tuple[str, ...]
    reservations: tuple[float, ...]

    @property
    def culprit(self) -> int:
        """The place of the one that lets loose."""
        return self.extra[0][0]


def disk_case(seed: int) -> DiskCase:
    """The case of this seed."""
    random = Random(seed)
    iops, depth = random.uniform(150, 400), random.choice((1, 1, 2, 4, 8))
    count = random.randint(3, 6)
    weights = [random.gammavariate(1.2, 1) + 0.12 for _ in range(count)]
    whole = random.uniform(0.4, 0.8) * iops
    rates = [whole * weight / sum(weights) for weight in weights]
    culprit = random.randrange(count)
    extra = [(culprit, _unusual(random, iops))]
    others = [place for place in range(count) if place != culprit]
    if random.random() < CHANGED_PART:
        place = random.choice(others)
        more = rates[place] * random.uniform(0.3, 1.0)
        extra.append((place, _sized(random, {"kind": "steady", "iops": more, "depth": 16})))
    tiers = [random.choice(("high", "medium")) for _ in range(count)]
    tiers[culprit] = random.choice(("low", "medium"))
    reservations = [0.0] * count
    if random.random() < 0.4:
        reservations[random.choice(others)] = iops * random.uniform(0.15, 0.4)
    return DiskCase(
        seed=seed,
        iops=iops,
        queue_depth=depth,
        loads=tuple(_usual(random, rate, depth / iops) for rate in rates),
        extra=tuple(extra),
        tiers=tuple(tiers),
        reservations=tuple(reservations),
    )


def _usual(random: Random, iops: float, service_s: float) -> Mapping[str, Any]:
    """A load of about so many I/Os per second while the disk has nothing else to do."""
    (kind,) = random.choices(("steady", "deferred", "clients", "bursts"), (25, 15, 40, 20))
    if kind == "clients":
        clients = max(random.randint(1, 12), int(iops * service_s * 1.6) + 1)
        found = {"kind": kind, "clients": clients}
        found = _sized(random, found)
        a_round_s = clients * _pieces(found) / iops
        return {**found, "think_s": max(a_round_s - service_s * 1.3 * _pieces(found), 0.0)}
    depth = random.choice((4, 8, 16, 32))
    if kind != "bursts":
        return _sized(random, {"kind": kind, "iops": iops, "depth": depth})
    on_s, off_s = random.uniform(0.7, 2), random.uniform(0.7, 2.5)
    whole = iops * (on_s + off_s) / on_s
    bursts = {"kind": kind, "iops": whole, "depth": depth, "on_s": on_s, "off_s": off_s}
    return _sized(random, bursts)


def _unusual(random: Random, disk_iops: float) -> Mapping[str, Any]:
    """What comes on top in the incident, more than the disk has left."""
    (kind,) = random.choices(("greedy", "clients", "steady"), (5, 3, 2))
    if kind == "greedy":
        return _sized(random, {"kind": kind, "depth": random.choice((8, 16, 32, 64))})
    if kind == "clients":
        clients, think_s = random.randint(8, 40), random.uniform(0.005, 0.06)
        return _sized(random, {"kind": kind, "clients": clients, "think_s": think_s})
    rate = disk_iops * random.uniform(0.5, 1.5)
    return _sized(random, {"kind": kind, "iops": rate, "depth": 64})


def _sized(random: Random, load: Mapping[str, Any]) -> dict[str, Any]:
    sizes, often = zip(*SIZES, strict=True)
    return {
        **load,
        "block_bytes": random.choices(sizes, often)[0],
        "read_ratio": random.choice((1.0, 1.0, 0.7, 0.0)),
        "seed": random.randrange(10**6),
    }


def _pieces(load: Mapping[str, Any]) -> int:
    whole: int = max(1, load["block_bytes"] // PIECE_BYTES)
    return whole
