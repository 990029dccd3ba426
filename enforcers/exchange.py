"""What the hosts of a datastore tell each other through the service, once a period.

A host sends one `Exchange` for each shared datastore and is answered with the `DatastoreLoad`,
the sums over all hosts that reported in the last three periods. The window law
(`enforcers.window`), and the loop of hosts that hold rates (`enforcers.joint_loop`), need no more
of the others than that. The service answers a version as that version is read.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from enforcers import canonical_json, exchange_v1, field_checks
from enforcers.errors import ContractError

EXCHANGE_VERSION = 2
PERIOD_S = 4.0
"""Between two exchanges of a host about a datastore (SIOC)."""
KEPT_PERIODS = 3
"""A host that said nothing for so many periods counts no more; an answer is used for so many."""
_SUMS = (
    "outstanding_io",
    "total_active_shares",
    "met_io",
    "done_iops",
    "met_iops",
    "total_shares",
    "reserved_iops",
    "hosts",
)
_NEW_SUMS = ("done_iops", "met_iops", "shares", "reserved_iops")
LARGEST_FIGURE = 1e12
"""Far above what any host does, and the sum over all hosts is still a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPart:
    """What one host did on a datastore in a period, and what it wants of it.

    `ios` completed, and took `mean_device_latency_ms` at the datastore; None if there were none.
    `outstanding_io` were there on average. Workloads with `active_shares` want more slots than
    they have; the others are content with `met_io` slots, or `met_iops` a second. `done_iops` is
    what it completed a second, and `shares` are those of all its workloads there, idle ones too.
    `reserved_iops` is promised to these. `capacity_iops` is what the host takes the datastore for;
    None until it heard of the others. A host of version 1 says none of the last five.
    """

    ios: int
    mean_device_latency_ms: float | None
    outstanding_io: float
    active_shares: float
    met_io: float
    done_iops: float | None = None
    met_iops: float | None = None
    shares: float | None = None
    reserved_iops: float | None = None
    capacity_iops: float | None = None


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
    done_iops: float | None
    met_iops: float | None
    shares: float | None
    reserved_iops: float | None
    capacity_iops: float | None

    def __post_init__(self) -> None:
        _check_version(self.schema_version)
        field_checks.check_name("host", self.host)
        field_checks.check_name("resource", self.resource)
        for name in ("ios", "outstanding_io", "active_shares", "met_io"):
            _check_figure(name, getattr(self, name))
        for name in ("mean_device_latency_ms", *_NEW_SUMS, "capacity_iops"):
            if (figure := getattr(self, name)) is not None:
                _check_figure(name, figure)
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
            done_iops=self.done_iops,
            met_iops=self.met_iops,
            shares=self.shares,
            reserved_iops=self.reserved_iops,
            capacity_iops=self.capacity_iops,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatastoreLoad:
    """A datastore over all its hosts: the mean latency by I/Os, and the sums of the rest.

    `latency_ms` None means that no host did any I/O. `capacity_iops` is the least that a host
    takes it for, None if none says. The service adds the threshold, None if there is none, and
    `is_shared`: whether more than one host uses the datastore, also such that say nothing.
    """

    schema_version: int = EXCHANGE_VERSION
    latency_ms: float | None
    outstanding_io: float
    total_active_shares: float
    met_io: float
    hosts: int
    done_iops: float = 0.0
    met_iops: float = 0.0
    total_shares: float = 0.0
    reserved_iops: float = 0.0
    capacity_iops: float | None = None
    threshold_ms: float | None = None
    is_shared: bool = False

    def __post_init__(self) -> None:
        canonical_json.check_version(self.schema_version, known=EXCHANGE_VERSION)
        for name in _SUMS:
            field_checks.check_not_negative(name, getattr(self, name))
        if self.latency_ms is not None:
            field_checks.check_not_negative("latency_ms", self.latency_ms)
        for name in ("capacity_iops", "threshold_ms"):
            if (figure := getattr(self, name)) is not None:
                field_checks.check_positive(name, figure)


def pooled(parts: Iterable[HostPart]) -> DatastoreLoad:
    """The datastore over these hosts, in whatever order they come."""
    known = list(parts)
    ios = sum(part.ios for part in known)
    waited_ms = math.fsum(part.ios * (part.mean_device_latency_ms or 0.0) for part in known)
    said = [part.capacity_iops for part in known if part.capacity_iops]
    return DatastoreLoad(
        latency_ms=waited_ms / ios if ios else None,
        outstanding_io=math.fsum(part.outstanding_io for part in known),
        total_active_shares=math.fsum(part.active_shares for part in known),
        met_io=math.fsum(part.met_io for part in known),
        hosts=len(known),
        done_iops=math.fsum(
            _a_second(part, part.outstanding_io) if part.done_iops is None else part.done_iops
            for part in known
        ),
        met_iops=math.fsum(
            _a_second(part, part.met_io) if part.met_iops is None else part.met_iops
            for part in known
        ),
        total_shares=math.fsum(
            part.active_shares if part.shares is None else part.shares for part in known
        ),
        reserved_iops=math.fsum(part.reserved_iops or 0.0 for part in known),
        capacity_iops=min(said, default=None),
    )


def decode_exchange(data: bytes | str) -> Exchange:
    """Read a host's figures, also of the former version; raises ContractError."""
    plain = canonical_json.parse(data)
    if isinstance(plain, dict) and "schema_version" in plain:
        _check_version(plain["schema_version"])
    told = canonical_json.decode(Exchange, exchange_v1.upgraded(plain))
    if told.schema_version == EXCHANGE_VERSION:
        for name in _NEW_SUMS:
            if getattr(told, name) is None:
                raise ContractError(f"$.{name}", "must be a number")
    return told


def exchange_of(part: HostPart, *, host: str, resource: str, period_end: datetime) -> Exchange:
    """A host's figures for the wire."""
    return Exchange(
        host=host,
        resource=resource,
        period_end=period_end,
        ios=part.ios,
        mean_device_latency_ms=part.mean_device_latency_ms,
        outstanding_io=part.outstanding_io,
        active_shares=part.active_shares,
        met_io=part.met_io,
        done_iops=part.done_iops,
        met_iops=part.met_iops,
        shares=part.shares,
        reserved_iops=part.reserved_iops,
        capacity_iops=part.capacity_iops,
    )


def encode_exchange(told: Exchange) -> bytes:
    """Canonical JSON of a host's figures."""
    return canonical_json.encode(told)


def decode_load(data: bytes | str) -> DatastoreLoad:
    """Read an answer; raises ContractError."""
    return canonical_json.decode_versioned(DatastoreLoad, data, known=EXCHANGE_VERSION)


def encode_load(load: DatastoreLoad, *, version: int = EXCHANGE_VERSION) -> bytes:
    """Canonical JSON of an answer, as this version is read."""
    plain = canonical_json.to_plain(load)
    if version == exchange_v1.VERSION:
        plain = exchange_v1.downgraded_load(plain)
    return canonical_json.dump(plain)


def _a_second(part: HostPart, slots: float) -> float:
    """What is completed a second in so many slots, by Little's law."""
    latency_ms = part.mean_device_latency_ms
    return min(1000 * slots / latency_ms, LARGEST_FIGURE) if latency_ms else 0.0


def _check_version(version: object) -> None:
    if version != exchange_v1.VERSION or type(version) is not int:
        canonical_json.check_version(version, known=EXCHANGE_VERSION)


def _check_figure(name: str, value: float) -> None:
    if not 0 <= value <= LARGEST_FIGURE:
        raise ContractError(f"$.{name}", f"must be within 0..{LARGEST_FIGURE:g}")
