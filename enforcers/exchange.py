"""What the hosts of a datastore tell each other through the service, once a period.

A host sends one `Exchange` for each shared datastore and is answered with the `DatastoreLoad`,
the sums over all hosts that reported in the last three periods. The window law
(`enforcers.window`) needs no more of the others than that.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from enforcers import canonical_json, field_checks
from enforcers.errors import ContractError

EXCHANGE_VERSION = 1
PERIOD_S = 4.0
"""Between two exchanges of a host about a datastore (SIOC)."""
KEPT_PERIODS = 3
"""A host that said nothing for so many periods counts no more; an answer is used for so many."""
LARGEST_FIGURE = 1e12
"""Far above what any host does, and the sum over all hosts is still a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPart:
    """What one host did on a datastore in a period, and what it wants of it.

    `ios` completed, and took `mean_device_latency_ms` at the datastore; None if there were none.
    `outstanding_io` were there on average. Workloads with `active_shares` want more slots than
    they have; the others are content with `met_io` slots.
    """

    ios: int
    mean_device_latency_ms: float | None
    outstanding_io: float
    active_shares: float
    met_io: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A host's figures (see `HostPart`) on the wire, for the period that ended at `period_end`.

    `period_end` is by the host's clock, and only orders what the host itself says.
    """

    schema_version: int = EXCHANGE_VERSION
    host: str
    resource: str
    period_end: datetime
    ios: int
    mean_device_latency_ms: float | None
    outstanding_io: float
    active_shares: float
    met_io: float

    def __post_init__(self) -> None:
        canonical_json.check_version(self.schema_version, known=EXCHANGE_VERSION)
        field_checks.check_name("host", self.host)
        field_checks.check_name("resource", self.resource)
        for name in ("ios", "outstanding_io", "active_shares", "met_io"):
            _check_figure(name, getattr(self, name))
        if self.mean_device_latency_ms is not None:
            _check_figure("mean_device_latency_ms", self.mean_device_latency_ms)
        if (self.ios == 0) is not (self.mean_device_latency_ms is None):
            raise ContractError(
                "$.mean_device_latency_ms", "must be null if ios is 0, and only so"
            )

    @property
    def part(self) -> HostPart:
        """The figures alone."""
        return HostPart(
            ios=self.ios,
            mean_device_latency_ms=self.mean_device_latency_ms,
            outstanding_io=self.outstanding_io,
            active_shares=self.active_shares,
            met_io=self.met_io,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatastoreLoad:
    """A datastore over all its hosts: the mean latency by I/Os, and the sums of the rest.

    `latency_ms` None means that no host did any I/O.
    """

    schema_version: int = EXCHANGE_VERSION
    latency_ms: float | None
    outstanding_io: float
    total_active_shares: float
    met_io: float
    hosts: int

    def __post_init__(self) -> None:
        canonical_json.check_version(self.schema_version, known=EXCHANGE_VERSION)
        field_checks.check_not_negative("outstanding_io", self.outstanding_io)
        field_checks.check_not_negative("total_active_shares", self.total_active_shares)
        field_checks.check_not_negative("met_io", self.met_io)
        field_checks.check_not_negative("hosts", self.hosts)
        if self.latency_ms is not None:
            field_checks.check_not_negative("latency_ms", self.latency_ms)


def pooled(parts: Iterable[HostPart]) -> DatastoreLoad:
    """The datastore over these hosts, in whatever order they come."""
    known = list(parts)
    ios = sum(part.ios for part in known)
    waited_ms = math.fsum(part.ios * (part.mean_device_latency_ms or 0.0) for part in known)
    return DatastoreLoad(
        latency_ms=waited_ms / ios if ios else None,
        outstanding_io=math.fsum(part.outstanding_io for part in known),
        total_active_shares=math.fsum(part.active_shares for part in known),
        met_io=math.fsum(part.met_io for part in known),
        hosts=len(known),
    )


def decode_exchange(data: bytes | str) -> Exchange:
    """Read a host's figures; raises ContractError."""
    return canonical_json.decode_versioned(Exchange, data, known=EXCHANGE_VERSION)


def encode_load(load: DatastoreLoad) -> bytes:
    """Canonical JSON of an answer."""
    return canonical_json.encode(load)


def _check_figure(name: str, value: float) -> None:
    if not 0 <= value <= LARGEST_FIGURE:
        raise ContractError(f"$.{name}", f"must be within 0..{LARGEST_FIGURE:g}")
