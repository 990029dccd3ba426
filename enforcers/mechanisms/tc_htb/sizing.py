"""The numbers of an HTB tree: rates, quanta and bursts.

Sources of the rules: the kernel's sch_htb, and measurements with three senders on one link
(README.md beside this file has the table).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from enforcers.contract import host_part_bits_per_s
from enforcers.mechanisms.tc_htb.host_kinds import HostKind

# HTB refuses a rate of 0, and tc prints whole bytes per second only.
MINIMUM_RATE_BITS_PER_S = 8000
# HTB keeps the deficit of a class in a signed 32-bit number.
LARGEST_QUANTUM_BYTES = 2**30
# A turn of all classes must not last longer, or small ones would wait for too long.
LONGEST_ROUND_S = 1.0
# Timers fire late by about this time; tokens beyond the burst are lost meanwhile.
TIMER_SLACK_S = 0.002
LEAF_SLACK_S = 0.0001
# A limited class may have to let two rounds of the others pass before it can send all it may.
ROUNDS_OF_WAITING = 2
LONGEST_SAVING_S = 0.25
# Below this ratio the reserved class takes more than its share of the rest.
QUANTUM_TO_BURST = 6
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
class Guarantee:
    """The wanted rate of a class: its reservation, and its entitlement if that fits.

    `least` is the minimum rate of HTB, of an inner class that of all classes below it.
    """

    reservation: float
    entitlement: float
    least: float = MINIMUM_RATE_BITS_PER_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Packets:
    """The sizes of packets that HTB sees: one frame, and the largest offload packet."""

    frame_bytes: int
    largest_bytes: int


def largest_of(packets: Sequence[Packets]) -> Packets:
    """Packet sizes of a path: of the uplink and of the interfaces that feed it.

    Offload packets of a vNIC reach the uplink's queue whole, whatever the uplink can do.
    """
    return Packets(
        frame_bytes=max(item.frame_bytes for item in packets),
        largest_bytes=max(item.largest_bytes for item in packets),
    )


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


def host_rate_bits_per_s(capacity: float) -> int:
    """The rate of the class for unclassified traffic, which is the host's own."""
    return shown_rate_bits_per_s(max(host_part_bits_per_s(capacity), MINIMUM_RATE_BITS_PER_S))


def can_divide(host_rate: int, shares: Sequence[int]) -> bool:
    """Whether the host's rate is enough for a class of HTB per kind."""
    return bool(shares) and host_rate * min(shares) >= MINIMUM_RATE_BITS_PER_S * sum(shares)


def divided(host_rate: int, shares: Mapping[HostKind, int]) -> dict[HostKind, int]:
    """The host's rate by the shares of its kinds; requires one that can be divided so."""
    total = sum(shares.values())
    return {kind: shown_rate_bits_per_s(host_rate * own / total) for kind, own in shares.items()}


def fit_rates(guarantees: Mapping[str, Guarantee], room: float) -> dict[str, int]:
    """The rates of the classes: their sum is at most `room`, the link less the host's part.

    HTB does not hold children to their parent's rate, so the sum must fit. Reservations are
    met first; of what is entitled above them each class gets the same part. Requires
    reservations that fit; they give way only to HTB's minimum rate of the other classes.
    """
    minima = {key: item.least for key, item in guarantees.items()}
    reserved = _raised(minima, {key: item.reservation for key, item in guarantees.items()}, room)
    entitled = _raised(reserved, {key: item.entitlement for key, item in guarantees.items()}, room)
    return {key: shown_rate_bits_per_s(rate) for key, rate in entitled.items()}


def _raised(
    rates: Mapping[str, float], wanted: Mapping[str, float], room: float
) -> dict[str, float]:
    """The rates raised towards the wanted ones, all by the same fraction."""
    missing = {key: max(wanted[key] - rate, 0.0) for key, rate in rates.items()}
    free = max(room - sum(rates.values()), 0.0)
    total = sum(missing.values())
    part = 1.0 if total <= free else free / total
    return {key: rate + part * missing[key] for key, rate in rates.items()}


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
    capacity_bits_per_s: float,
    shares: Sequence[float],
    largest_burst_bytes: int,
    packets: Packets,
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


def quantum_bytes(base_bytes: int, shares: float, smallest_shares: float) -> int:
    """The quantum of a class: proportional to its shares."""
    return min(round(base_bytes * shares / smallest_shares), LARGEST_QUANTUM_BYTES)
