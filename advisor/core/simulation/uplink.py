"""A simulated uplink: streams in traffic classes, ordered by the tags of a tree of allocations."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from advisor.core.allocation import Node, ReservationMode
from advisor.core.number_checks import check_amount, check_positive
from advisor.core.scheduling_model import TagScheduler
from advisor.core.scheduling_run import Source, run
from advisor.core.simulation.agenda import MOST_EVENTS
from advisor.core.simulation.load import MOST_AT_ONCE

IP_AND_TCP_BYTES = 52
"""Headers inside a packet: 20 of IP, 32 of TCP with timestamps."""
ETHERNET_BYTES = 38
"""What a packet costs on the wire beside itself: header, checksum, preamble, gap."""
ETHERNET_MTU_BYTES = 1500


def tcp_bits_per_s(line_bits_per_s: float, *, mtu_bytes: int = ETHERNET_MTU_BYTES) -> float:
    """User data that TCP gets through an Ethernet link of this line rate."""
    check_positive("line_bits_per_s", line_bits_per_s)
    if mtu_bytes <= IP_AND_TCP_BYTES:
        raise ValueError(f"mtu_bytes is {mtu_bytes}; headers alone take {IP_AND_TCP_BYTES}")
    return line_bits_per_s * (mtu_bytes - IP_AND_TCP_BYTES) / (mtu_bytes + ETHERNET_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Traffic of one leaf of the tree; `rate_bits_per_s` None sends all that is let through."""

    path: str
    rate_bits_per_s: float | None = None
    starts_s: float = 0.0
    ends_s: float = inf

    def __post_init__(self) -> None:
        check_positive("rate_bits_per_s", self.rate_bits_per_s)
        check_amount("starts_s", self.starts_s)
        if not self.ends_s > self.starts_s:
            raise ValueError(
                f"{self.path}: ends_s is {self.ends_s!r}; it must be later than {self.starts_s!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedUplink:
    """An uplink that carries `capacity_bits_per_s` of user data, in pieces of one size.

    The tree's reservations, limits and shares are in bits per second of user data.
    """

    capacity_bits_per_s: float
    tree: Node
    piece_bytes: int = 64 * 1024
    mode: ReservationMode = ReservationMode.ADDITIVE

    def __post_init__(self) -> None:
        check_positive("capacity_bits_per_s", self.capacity_bits_per_s)
        check_positive("piece_bytes", self.piece_bytes)


def transmit(
    uplink: SimulatedUplink, streams: Sequence[Stream], *, duration_s: float, bucket_s: float
) -> dict[str, tuple[float, ...]]:
    """User bits per second of each stream in every bucket of simulated time.

    ValueError for more pieces or buckets than can be simulated, or none.
    """
    check_positive("duration_s", duration_s)
    check_positive("bucket_s", bucket_s)
    piece_bits = 8.0 * uplink.piece_bytes
    _check_work(uplink, streams, duration_s=duration_s, bucket_s=bucket_s)
    sources = [
        Source(
            path=stream.path,
            cost=piece_bits,
            per_second=None
            if stream.rate_bits_per_s is None
            else stream.rate_bits_per_s / piece_bits,
            starts_at=stream.starts_s,
            ends_at=stream.ends_s,
        )
        for stream in streams
    ]
    scheduler = TagScheduler(uplink.tree, capacity=uplink.capacity_bits_per_s, mode=uplink.mode)
    served = run(
        scheduler,
        sources,
        capacity=uplink.capacity_bits_per_s,
        until=duration_s,
        bucket_s=bucket_s,
    )
    count = max(1, round(duration_s / bucket_s))
    return {
        path: tuple(
            bits / bucket_s for bits in [*one.buckets[:count], *[0.0] * (count - len(one.buckets))]
        )
        for path, one in served.items()
    }


def _check_work(
    uplink: SimulatedUplink, streams: Sequence[Stream], *, duration_s: float, bucket_s: float
) -> None:
    if duration_s / bucket_s > MOST_AT_ONCE:
        raise ValueError(
            f"{duration_s / bucket_s:g} buckets are too many; {MOST_AT_ONCE:,} can be counted"
        )
    offered = (stream.rate_bits_per_s or 0.0 for stream in streams)
    for bits_per_s in (uplink.capacity_bits_per_s, max(offered, default=0.0)):
        pieces = duration_s * bits_per_s / (8.0 * uplink.piece_bytes)
        if pieces > MOST_EVENTS:
            raise ValueError(
                f"{pieces:g} pieces in {duration_s:g} s are too many; {MOST_EVENTS:,} can be "
                "simulated"
            )
    if duration_s * uplink.capacity_bits_per_s < 8.0 * uplink.piece_bytes:
        raise ValueError(
            f"piece_bytes is {uplink.piece_bytes}; not one piece passes the uplink in "
            f"{duration_s:g} s"
        )
