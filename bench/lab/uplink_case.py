"""A planted case of an uplink: its size, its workloads, and which of them will let loose."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from advisor.core.resource import Tier
from bench.lab.loads import MBIT, Load, unusual_load, usual_load

CHANGED_PART = 0.3
"""In so many cases a second workload sends more from the incident on, and nobody can see why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UplinkCase:
    """Loads by workload; `extra` begin with the incident, the first of them the culprit's."""

    seed: int
    link_bits_per_s: float
    loads: tuple[Load, ...]
    extra: tuple[tuple[int, Load], ...]
    tiers: tuple[Tier, ...]
    reservations: tuple[float, ...]

    @property
    def culprit(self) -> int:
        """The place of the one that lets loose."""
        return self.extra[0][0]


def uplink_case(seed: int) -> UplinkCase:
    """The case of this seed."""
    random = Random(seed)
    link = random.choice((8, 12, 16, 20)) * MBIT
    count = random.randint(3, 8)
    weights = [random.gammavariate(1.2, 1) + 0.12 for _ in range(count)]
    whole = random.uniform(0.4, 0.8) * link
    rates = [whole * weight / sum(weights) for weight in weights]
    culprit = random.randrange(count)
    extra = [(culprit, unusual_load(random, link))]
    others = [place for place in range(count) if place != culprit]
    if random.random() < CHANGED_PART:
        place = random.choice(others)
        more = rates[place] * random.uniform(0.3, 1.0) / 8
        extra.append((place, Load(kind="steady", bytes_per_s=more)))
    tiers = [random.choice((Tier.HIGH, Tier.MEDIUM)) for _ in range(count)]
    tiers[culprit] = random.choice((Tier.LOW, Tier.MEDIUM))
    reservations = [0.0] * count
    if random.random() < 0.4:
        reservations[random.choice(others)] = link * random.uniform(0.15, 0.4)
    return UplinkCase(
        seed=seed,
        link_bits_per_s=link,
        loads=tuple(usual_load(random, rate, link) for rate in rates),
        extra=tuple(extra),
        tiers=tuple(tiers),
        reservations=tuple(reservations),
    )
