"""Measurements of one window of one resource, in the resource's unit, given one by one.

`at` is the end of the window. A field that could not be measured is None, never 0.
A NaN, infinite or negative number is refused with the field's name.
"""

from dataclasses import dataclass
from datetime import datetime

from advisor.core.number_checks import check_amount, check_aware, check_positive
from advisor.core.resource import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLatency:
    """Device latency that one host saw on a datastore, over all I/Os of a window.

    `io_count` I/Os completed, `outstanding_io` were in flight on average, and some I/O was in
    flight during `busy_ratio` of the window; None if a study does not print it.
    `throttled` means that our own limit held this host's I/O back and the latency includes that
    wait, so that it says nothing about the datastore.
    """

    host: str
    latency_ms: float | None
    io_count: float
    mean_io_bytes: float | None = None
    throttled: bool = False
    outstanding_io: float | None = None
    busy_ratio: float | None = None

    def __post_init__(self) -> None:
        check_amount("latency_ms", self.latency_ms)
        check_amount("io_count", self.io_count)
        check_amount("mean_io_bytes", self.mean_io_bytes)
        check_amount("outstanding_io", self.outstanding_io)
        check_amount("busy_ratio", self.busy_ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationObservation:
    """The rate of one workload on a resource in a window, with its allocation at that time.

    `backlogged` says whether it wanted more (queue, pressure, backlog); None means unknown.
    `throttled` means that its own limit held it back. `usual_rate` is its mean rate while nothing
    holds it back; None means unknown.
    """

    workload: str
    rate: float
    reservation: float = 0.0
    limit: float | None = None
    shares: float = 1000.0
    backlogged: bool | None = None
    throttled: bool = False
    mean_io_bytes: float | None = None
    usual_rate: float | None = None

    def __post_init__(self) -> None:
        check_amount(f"rate of {self.workload}", self.rate)
        check_amount(f"reservation of {self.workload}", self.reservation)
        check_amount(f"limit of {self.workload}", self.limit)
        check_amount(f"shares of {self.workload}", self.shares)
        check_amount(f"mean_io_bytes of {self.workload}", self.mean_io_bytes)
        check_amount(f"usual_rate of {self.workload}", self.usual_rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatastoreObservation:
    """One window of a datastore: the latency of each host and the rate of each allocation.

    `unit` is that of the allocations' rates, reservations and limits: I/Os or bytes per second.
    """

    at: datetime
    window_s: float
    hosts: tuple[HostLatency, ...]
    allocations: tuple[AllocationObservation, ...] = ()
    unit: Unit = Unit.IOPS

    def __post_init__(self) -> None:
        check_aware("at", self.at)
        check_positive("window_s", self.window_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class UplinkObservation:
    """One window of an uplink: the rate sent, the capacity, and the rate of each allocation.

    `tx_bits_per_s` None means that nothing was measured. `packets` were sent, `drops` were not;
    `segments` and `retransmits` are those of the host's TCP. Queues and drops of an allocation
    that its own limit holds back are not counted.
    """

    at: datetime
    window_s: float
    tx_bits_per_s: float | None
    capacity_bits_per_s: float | None
    packets: float | None = None
    drops: float | None = None
    backlog_bytes: float | None = None
    segments: float | None = None
    retransmits: float | None = None
    allocations: tuple[AllocationObservation, ...] = ()

    def __post_init__(self) -> None:
        check_aware("at", self.at)
        check_positive("window_s", self.window_s)
        check_amount("tx_bits_per_s", self.tx_bits_per_s)
        check_positive("capacity_bits_per_s", self.capacity_bits_per_s)
        for name in ("packets", "drops", "backlog_bytes", "segments", "retransmits"):
            check_amount(name, getattr(self, name))


Observation = DatastoreObservation | UplinkObservation
