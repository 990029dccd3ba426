"""A fluid model of one uplink: senders that always want more, and a wire that has only so much.

Nothing here knows the product's solver. Without traffic control the wire is split as TCP does
over a shared queue: about evenly. With HTB classes each sender first gets its `rate`, then the
rest of the wire by quantum up to its `ceil`, as the kernel's scheduler does.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FRAME_BYTES = 1514
TCP_UNEVENNESS = 0.05
HTB_UNEVENNESS = 0.005
# What TCP pushes into a full queue beyond what comes out of it.
LOSS_RATIO = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderClass:
    """The HTB class that a sender's packets go to."""

    rate_bits_per_s: float
    ceil_bits_per_s: float
    quantum_bytes: int


@dataclass(slots=True, kw_only=True)
class Counters:
    """What a kernel would have counted for one sender."""

    sent_bytes: int = 0
    dropped_packets: int = 0

    @property
    def sent_packets(self) -> int:
        return self.sent_bytes // FRAME_BYTES


def split_evenly(
    wire_bits_per_s: float, senders: Sequence[str], chance: random.Random
) -> dict[str, float]:
    """Split the wire as competing TCP streams do."""
    weights = {name: _around_one(TCP_UNEVENNESS, chance) for name in senders}
    total = sum(weights.values())
    return {name: wire_bits_per_s * weight / total for name, weight in weights.items()}


def split_by_class(
    wire_bits_per_s: float, classes: Mapping[str, SenderClass], chance: random.Random
) -> dict[str, float]:
    """Split the wire as HTB does among leaf classes that are always backlogged."""
    promised = sum(item.rate_bits_per_s for item in classes.values())
    scale = min(1.0, wire_bits_per_s / promised)
    rates = {name: item.rate_bits_per_s * scale for name, item in classes.items()}
    borrowing = {name for name, item in classes.items() if rates[name] < item.ceil_bits_per_s}
    spare = wire_bits_per_s - sum(rates.values())
    while borrowing and spare > 1.0:
        quanta = sum(classes[name].quantum_bytes for name in borrowing)
        for name in sorted(borrowing):
            item = classes[name]
            part = spare * item.quantum_bytes / quanta
            rates[name] = min(item.ceil_bits_per_s, rates[name] + part)
        borrowing = {name for name in borrowing if rates[name] < classes[name].ceil_bits_per_s}
        spare = wire_bits_per_s - sum(rates.values())
    return {name: rate * _around_one(HTB_UNEVENNESS, chance) for name, rate in rates.items()}


def _around_one(spread: float, chance: random.Random) -> float:
    return 1.0 + chance.uniform(-spread, spread)
