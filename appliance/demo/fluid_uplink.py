"""A fluid model of one uplink: senders that always want more, and a wire with a fixed rate.

Nothing here knows the product's solver. Without traffic control the wire is split as TCP does
over a shared queue: about evenly. With HTB classes each sender first gets its `rate`, then the
rest of the wire by quantum up to its `ceil`, as the kernel's scheduler does.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TCP_UNEVENNESS = 0.05
HTB_UNEVENNESS = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderClass:
    """The HTB class that a sender's packets go to."""

    rate_bits_per_s: float
    ceil_bits_per_s: float
    quantum_bytes: int


def split_evenly(
    wire_bits_per_s: float, senders: Sequence[str], chance: random.Random
) -> dict[str, float]:
    """Bits per second of each sender where streams of TCP compete for the wire."""
    weights = {name: _around_one(TCP_UNEVENNESS, chance) for name in senders}
    total = sum(weights.values())
    return {name: wire_bits_per_s * weight / total for name, weight in weights.items()}


def split_by_class(
    wire_bits_per_s: float, classes: Mapping[str, SenderClass], chance: random.Random
) -> dict[str, float]:
    """Bits per second of each sender where every leaf class is always backlogged."""
    promised = sum(item.rate_bits_per_s for item in classes.values())
    scale = min(1.0, wire_bits_per_s / promised)
    rates = {name: item.rate_bits_per_s * scale for name, item in classes.items()}
    _lend(wire_bits_per_s - sum(rates.values()), rates, classes)
    return {name: rate * _around_one(HTB_UNEVENNESS, chance) for name, rate in rates.items()}


def _lend(
    spare_bits_per_s: float, rates: dict[str, float], classes: Mapping[str, SenderClass]
) -> None:
    """Raise `rates` by what is spare, in proportion to quantum and up to the ceilings."""
    borrowing = dict(classes)
    while spare_bits_per_s > 1.0 and borrowing:
        per_quantum = spare_bits_per_s / sum(item.quantum_bytes for item in borrowing.values())
        for name, item in list(borrowing.items()):
            room = item.ceil_bits_per_s - rates[name]
            taken = min(room, per_quantum * item.quantum_bytes)
            rates[name] += taken
            spare_bits_per_s -= taken
            if taken == room:
                del borrowing[name]


def _around_one(spread: float, chance: random.Random) -> float:
    return 1.0 + chance.uniform(-spread, spread)
