"""The queue below a class: fq_codel, or a FIFO where the kernel has none. Pure.

fq_codel gives each flow of a workload a queue of its own and keeps each of them short, so a
workload at its limit does not delay its own small packets (RFC 8290).
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from enforcers.mechanisms.tc_htb.sizing import Packets
from enforcers.mechanisms.tc_htb.tc_text import Qdisc, parse_size_bytes

FQ_CODEL = "fq_codel"
FIFO = "bfifo"
# 64 bytes of kernel memory each for every workload; the kernel's default is 1024.
FLOWS = 256
# RFC 8290 section 5.2: a target below the time of a packet would drop what nobody could send
# sooner, so on a slow class it is one and a half of it.
TARGET_MS = 5
TARGET_FRAMES = 1.5
MORE_INTERVAL_MS = 95
# The bound for senders that do not slow down.
LONGEST_QUEUE_S = 0.25
SMALLEST_LIMIT_PACKETS = 64
LARGEST_LIMIT_PACKETS = 10_240
# A FIFO that is shorter starves senders that have several connections or large offload packets.
FIFO_S = 0.05
SMALLEST_FIFO_PACKETS = 4
SMALLEST_HOST_FIFO_PACKETS = 2
# At its limit a workload waits for its own packets alone; two of them keep it busy, and small ones
# find room behind them.
LIMITED_FIFO_S = 0.03
SMALLEST_LIMITED_FIFO_PACKETS = 2.5
# By less than so many bytes, in print_size of iproute2; what it prints in bytes is exact.
SHOWN_SIZE_ROUNDING = (("Mb", 1024), ("Kb", 16))
# The kernel keeps times in units of 1.024 us, and tc prints three digits.
TIME_TOLERANCE_RATIO = 0.01
_TIME = re.compile(r"([0-9.]+)(us|ms|s)")
_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafQueue:
    """A queue as tc is told about it; `creating` are words that only a new one takes."""

    kind: str
    options: tuple[tuple[str, str], ...]
    creating: tuple[str, ...] = ()

    def words(self, present: Qdisc | None) -> tuple[str, ...]:
        """What to tell tc, so that a queue of this kind changes in place."""
        is_new = present is None or present.kind != self.kind
        return (self.kind, *_flat(self.options), *(self.creating if is_new else ()))

    def is_in(self, present: Qdisc) -> bool:
        """Whether tc shows this queue."""
        return present.kind == self.kind and all(
            _is_shown(value, present.option(name) or "") for name, value in self.options
        )

    def shown(self, present: Qdisc) -> str:
        """What is there instead, as far as this queue would replace it."""
        found = [(name, present.option(name)) for name, _ in self.options]
        return " ".join([present.kind, *(f"{name} {value}" for name, value in found if value)])

    def __str__(self) -> str:
        return " ".join([self.kind, *(f"{name} {value}" for name, value in self.options)])


def leaf_queue(*, rate_bits_per_s: float, ceil_bits_per_s: float, packets: Packets) -> LeafQueue:
    """fq_codel for a class that gets the rate when all want more, and the ceil at most."""
    frame_ms = packets.frame_bytes * 8 / rate_bits_per_s * 1000
    # In steps of two, so that a small change of rates is none of the queue.
    steps = max(0, math.ceil(math.log2(TARGET_FRAMES * frame_ms / TARGET_MS)))
    target_ms = TARGET_MS << steps
    limit = ceil_bits_per_s / 8 * LONGEST_QUEUE_S / packets.frame_bytes
    limit = min(max(round(limit), SMALLEST_LIMIT_PACKETS), LARGEST_LIMIT_PACKETS)
    return LeafQueue(
        kind=FQ_CODEL,
        options=(
            ("limit", f"{limit}p"),
            ("quantum", str(packets.frame_bytes)),
            ("target", f"{target_ms}ms"),
            ("interval", f"{target_ms + MORE_INTERVAL_MS}ms"),
        ),
        creating=("flows", str(FLOWS)),
    )


def fifo(*, rate_bits_per_s: float, smallest_packets: int, packets: Packets) -> LeafQueue:
    """A FIFO of 50 ms of the rate, and so many largest packets at least."""
    size_bytes = max(rate_bits_per_s / 8 * FIFO_S, smallest_packets * packets.largest_bytes)
    return _fifo_of(size_bytes)


def fifo_at_limit(*, limit_bits_per_s: float, packets: Packets) -> LeafQueue:
    """A FIFO of 30 ms of a limit, and two and a half largest packets at least."""
    smallest_bytes = SMALLEST_LIMITED_FIFO_PACKETS * packets.largest_bytes
    return _fifo_of(max(limit_bits_per_s / 8 * LIMITED_FIFO_S, smallest_bytes))


def _fifo_of(size_bytes: float) -> LeafQueue:
    return LeafQueue(kind=FIFO, options=(("limit", f"{round(size_bytes)}b"),))


def _flat(options: Iterable[tuple[str, str]]) -> list[str]:
    # tc prints a unit behind a number of packets or bytes, and does not read it there.
    return [word for name, value in options for word in (name, _told(name, value))]


def _told(name: str, value: str) -> str:
    return value.rstrip("pb") if name == "limit" else value


def _is_shown(wanted: str, shown: str) -> bool:
    time = _TIME.fullmatch(wanted)
    if time is not None:
        found = _TIME.fullmatch(shown)
        wanted_ms = float(time[1]) * _MS[time[2]]
        return found is not None and math.isclose(
            float(found[1]) * _MS[found[2]], wanted_ms, rel_tol=TIME_TOLERANCE_RATIO
        )
    if not wanted.endswith("b"):
        return shown == wanted
    if not shown.endswith("b"):
        return False
    rounded_by = next((by for unit, by in SHOWN_SIZE_ROUNDING if shown.endswith(unit)), 1)
    return abs(parse_size_bytes(shown) - parse_size_bytes(wanted)) < rounded_by
