"""The numbers of an HTB tree: rates, quanta, bursts and queue bounds.

Sources of the rules: the kernel's sch_htb, and measurements with three senders on one link
(README.md beside this file has the table).
"""

from collections.abc import Mapping
from dataclasses import dataclass

# HTB refuses a rate of 0, and tc prints whole bytes per second only.
MINIMUM_RATE_BITS_PER_S = 8000
# HTB keeps the deficit of a class in a signed 32-bit number.
LARGEST_QUANTUM_BYTES = 2**30
# A turn of all classes must not last longer, or small ones would wait for too long.
LONGEST_ROUND_S = 1.0
# Timers fire late by about as much; what a class may not save up in between, it loses.
TIMER_SLACK_S = 0.002
LEAF_SLACK_S = 0.0001
# A limited class may have to let two rounds of the others pass before it can send all it may.
ROUNDS_OF_WAITING = 2
LONGEST_SAVING_S = 0.25
# Below this ratio the reserved class takes more than its due from what is left.
QUANTUM_TO_BURST = 6
QUEUE_S = 0.05
SMALLEST_QUEUE_PACKETS = 4
ETHERNET_HEADER_BYTES = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassNumbers:
    """What HTB is told about one class."""

    rate_bits_per_s: int
    ceil_bits_per_s: int
    quantum_bytes: int
    burst_bytes: int
    cburst_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Packets:
    """The sizes of packets that HTB sees: one frame, and the largest offload packet."""

    frame_bytes: int
    largest_bytes: int


def shown_rate_bits_per_s(rate: float) -> int:
    """The largest rate not above `rate` that tc prints exactly, so that it can be read back.

    tc prints at least four digits; at most 0.1 % is lost.
    """
    value = int(rate) // 8 * 8
    scale = 1
    while value >= 1000 and (value % 1000 == 0 or value >= 1000 * 1000):
        value //= 1000
        scale *= 1000
    return value * scale


def fit_rates(rates: Mapping[str, float], capacity: float) -> dict[str, int]:
    """Rates raised to HTB's minimum and, if that makes them too many, cut to fit the capacity.

    HTB does not hold children to their parent's rate, so their sum, the class for unclassified
    traffic included, must fit. Requires the given rates to fit.
    """
    floors = {key: max(rate, MINIMUM_RATE_BITS_PER_S) for key, rate in rates.items()}
    above = sum(rate - MINIMUM_RATE_BITS_PER_S for rate in floors.values())
    room = capacity - MINIMUM_RATE_BITS_PER_S * (len(rates) + 1)
    factor = 1.0 if above <= room else max(room, 0.0) / above
    return {
        key: shown_rate_bits_per_s(
            MINIMUM_RATE_BITS_PER_S + (rate - MINIMUM_RATE_BITS_PER_S) * factor
        )
        for key, rate in floors.items()
    }


def leaf_burst_bytes(rate_bits_per_s: float, packets: Packets) -> int:
    """Tokens a class may save: one frame, or what its rate brings in between two timers."""
    return round(
        max(
            packets.frame_bytes,
            packets.largest_bytes / QUANTUM_TO_BURST,
            rate_bits_per_s / 8 * LEAF_SLACK_S,
        )
    )


def ceil_burst_bytes(ceil_bits_per_s: float, packets: Packets, *, round_s: float = 0.0) -> int:
    """Tokens under the ceiling: one largest packet, or what the ceiling brings while waiting.

    Waiting is for a timer, or for `round_s`, in which every other class has its turn.
    """
    waiting_s = max(TIMER_SLACK_S, min(ROUNDS_OF_WAITING * round_s, LONGEST_SAVING_S))
    return round(max(packets.largest_bytes, ceil_bits_per_s / 8 * waiting_s))


def base_quantum_bytes(
    capacity_bits_per_s: float, shares: list[int], largest_burst_bytes: int, packets: Packets
) -> int:
    """The quantum of the smallest shares.

    At least one largest packet, or round robin degrades to packet by packet and shares lose
    their effect; at least six bursts, or reservations distort what is left. On a slow link
    with far-apart shares it is cut so that a round stays short.
    """
    wanted = max(packets.largest_bytes, QUANTUM_TO_BURST * largest_burst_bytes)
    smallest = QUANTUM_TO_BURST * packets.frame_bytes
    round_shares = sum(shares) / min(shares) if shares else 1.0
    affordable = capacity_bits_per_s / 8 * LONGEST_ROUND_S / round_shares
    return round(max(smallest, min(wanted, affordable)))


def quantum_bytes(base_bytes: int, shares: int, smallest_shares: int) -> int:
    """The quantum of a class: proportional to its shares."""
    return min(round(base_bytes * shares / smallest_shares), LARGEST_QUANTUM_BYTES)


def queue_limit_bytes(capacity_bits_per_s: float, packets: Packets) -> int:
    """The bound of a leaf's queue: 50 ms of the link, at least four largest packets."""
    return round(
        max(capacity_bits_per_s / 8 * QUEUE_S, SMALLEST_QUEUE_PACKETS * packets.largest_bytes)
    )
