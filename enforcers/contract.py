"""The wire between the service and the host agent; the only definition of it.

The service sends one signed `PolicyDocument` per host, the agent answers with
`ComplianceReport`s. Each has a version of its own. The service reads reports of every version
and sends an agent only mechanisms and kinds of selectors that this agent has reported; so a
service may be newer than its agents, and is upgraded before them. Numbers called reservation,
limit, entitlement, capacity and rate are in the unit of their resource. Times are aware and in
UTC.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from enforcers import (
    canonical_json,
    document_v1,
    field_checks,
    pools,
    report_v1,
    report_v2,
    signature,
)
from enforcers.canonical_json import decode as decode  # noqa: PLC0414  (the service stores so)
from enforcers.canonical_json import parse as parse  # noqa: PLC0414  (the service stores so)
from enforcers.errors import ContractError as ContractError  # noqa: PLC0414  (part of the wire)
from enforcers.errors import SignatureError as SignatureError  # noqa: PLC0414  (part of the wire)
from enforcers.outcomes import ControlKind as ControlKind  # noqa: PLC0414  (part of the wire)
from enforcers.outcomes import ControlOutcome as ControlOutcome  # noqa: PLC0414  (part of the wire)
from enforcers.outcomes import ControlOutcomes as ControlOutcomes  # noqa: PLC0414  (the same)
from enforcers.outcomes import Outcome as Outcome  # noqa: PLC0414  (part of the wire)
from enforcers.pools import Pool as Pool  # noqa: PLC0414  (part of the wire)

DOCUMENT_VERSION = 2
DOCUMENT_MEDIA = f"application/json; schema={DOCUMENT_VERSION}"
"""By this in its header Accept an agent says which documents it reads."""
REPORT_VERSION = 3
LONGEST_SELECTOR = 1024
HOST_TRAFFIC = "host_traffic"
"""The kind of selector of the host's own traffic: all that no other selector of it claims."""
HOST_KIND = "host_kind"
"""The kind of selector of one kind of the host's own traffic, as its agent tells kinds."""
POOL = "pool"
"""Named among its kinds of selectors by a mechanism that holds pools; no selector has it."""
# The host's own part of an uplink: of a slow link 10 %, of a fast one 5 %.
HOST_SMALL_RATIO = 0.05
HOST_LARGE_RATIO = 0.10
HOST_ENOUGH_BITS_PER_S = 10e6


class ResourceKind(StrEnum):
    """What workloads compete for."""

    UPLINK = "uplink"
    DATASTORE = "datastore"


class Unit(StrEnum):
    """The unit of every number that belongs to one resource."""

    BITS_PER_S = "bits_per_s"
    IOPS = "iops"
    BYTES_PER_S = "bytes_per_s"


class ReservationMode(StrEnum):
    """Whether shares are counted on top of the reservation or include it."""

    FLOOR = "floor"
    ADDITIVE = "additive"


class LimitScope(StrEnum):
    """What a limit holds: each virtual disk, or all disks of a workload on a datastore."""

    PER_VDISK = "per_vdisk"
    POOLED = "pooled"


class IoCount(StrEnum):
    """What a limit counts: I/Os of any size, or one per 32 KiB begun."""

    PLAIN = "plain"
    PER_32_KIB = "per_32_kib"


class EnforcementState(StrEnum):
    """What the agent is doing with the policy it holds."""

    ENFORCING = "enforcing"
    DRY_RUN = "dry_run"
    EXPIRED = "expired"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """One contended resource as this host sees it.

    `device` is an interface name for an uplink, a block device or MAJ:MIN for a datastore.
    `divides` says that it is to be divided by the shares even where these are all alike.
    """

    name: str
    kind: ResourceKind
    device: str
    capacity: float
    unit: Unit
    mode: ReservationMode
    mechanism: str
    divides: bool = False

    def __post_init__(self) -> None:
        field_checks.check_name("name", self.name)
        field_checks.check_name("device", self.device)
        field_checks.check_word("mechanism", self.mechanism)
        field_checks.check_positive("capacity", self.capacity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Recognises a workload; each mechanism has kinds of its own, like vnic or cgroup."""

    kind: str
    value: str

    def __post_init__(self) -> None:
        field_checks.check_word("kind", self.kind)
        field_checks.check_name("value", self.value, longest=LONGEST_SELECTOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The controls of one workload on one resource; `limit` None means no limit.

    `joint_limit` is one over several hosts; `limit` is then this host's part by the policy, and
    the parts of all hosts add up to it. `pool` is the id of the pool that it is in.
    """

    id: str
    workload: str
    resource: str
    selector: Selector
    reservation: float
    limit: float | None
    shares: int
    entitlement: float
    limit_scope: LimitScope = LimitScope.PER_VDISK
    io_count: IoCount = IoCount.PLAIN
    joint_limit: float | None = None
    pool: str | None = None

    def __post_init__(self) -> None:
        field_checks.check_name("id", self.id)
        field_checks.check_name("workload", self.workload)
        field_checks.check_name("resource", self.resource)
        field_checks.check_not_negative("reservation", self.reservation)
        field_checks.check_not_negative("entitlement", self.entitlement)
        field_checks.check_shares("shares", self.shares)
        if self.limit is not None:
            field_checks.check_positive("limit", self.limit)
            if self.limit < self.reservation:
                raise ContractError("$.limit", "must not be below the reservation")
        if self.joint_limit is not None:
            field_checks.check_positive("joint_limit", self.joint_limit)
            if self.limit is None or self.limit > self.joint_limit:
                raise ContractError("$.limit", "must be a part of the joint limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument:
    """Everything one host has to enforce until `expires_at`.

    No allocations means: restore all as it was found. `signature` is None until `sign`.
    """

    schema_version: int = DOCUMENT_VERSION
    host: str
    revision: int
    issued_at: datetime
    expires_at: datetime
    dry_run: bool
    resources: tuple[ResourceSpec, ...]
    allocations: tuple[Allocation, ...]
    pools: tuple[Pool, ...] = ()
    signature: str | None = None

    def __post_init__(self) -> None:
        if self.schema_version != document_v1.VERSION:
            canonical_json.check_version(self.schema_version, known=DOCUMENT_VERSION)
        field_checks.check_name("host", self.host)
        if self.revision < 1:
            raise ContractError("$.revision", "must be at least 1")
        if self.expires_at <= self.issued_at:
            raise ContractError("$.expires_at", "must be after issued_at")
        field_checks.check_unique("resources", "name", [spec.name for spec in self.resources])
        field_checks.check_unique("resources", "device", [spec.device for spec in self.resources])
        field_checks.check_unique("allocations", "id", [item.id for item in self.allocations])
        field_checks.check_known(
            "allocations",
            "resource",
            [item.resource for item in self.allocations],
            {spec.name for spec in self.resources},
        )
        self._check_pools()

    def _check_pools(self) -> None:
        uplinks = {spec.name for spec in self.resources if spec.unit is Unit.BITS_PER_S}
        pools.check_pools(self.pools, uplinks, {item.id for item in self.allocations})
        members = [(item.pool, item.resource, item.reservation) for item in self.allocations]
        pools.check_members(self.pools, members)
        for place, item in enumerate(self.allocations):
            if item.pool is not None and item.selector.kind in {HOST_TRAFFIC, HOST_KIND}:
                raise ContractError(
                    f"$.allocations[{place}].pool", "the host's own traffic is in no pool"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The controls of one allocation: wanted, written, or found in the kernel.

    None means: not set, or no such control. `native` shows the kernel's own words, as evidence.
    """

    reservation: float | None
    limit: float | None
    shares: float | None
    native: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What a workload really got, from kernel counters over the last `window_s`.

    `sample_count` counter readings were made, `backlogged_samples` of them saw bytes waiting.
    `drops` and `overlimits` grew by so much in the window; `backlog_bytes` waited at its end.
    In `full_looks` of `short_looks`, of 100 ms each, all was used that the limit lets through.
    None means the mechanism cannot see it.
    """

    rate: float
    window_s: float
    sample_count: int
    backlogged_samples: int | None
    backlog_bytes: int | None
    drops: int | None
    overlimits: int | None
    short_looks: int | None = field(default=None, metadata=canonical_json.UNSAID)
    full_looks: int | None = field(default=None, metadata=canonical_json.UNSAID)

    def __post_init__(self) -> None:
        field_checks.check_not_negative("rate", self.rate)
        field_checks.check_positive("window_s", self.window_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationReport:
    """Desired against applied, read back and measured, with a reason a person can act on.

    `applied` and `read_back` are None if nothing was written or found, `measured` is None
    until two counter readings exist. `outcome` and `reason` are the sum of `controls`, which is
    None if the agent is too old to tell them apart.
    """

    id: str
    workload: str
    resource: str
    desired: Setting
    applied: Setting | None
    read_back: Setting | None
    measured: Measurement | None
    outcome: Outcome
    reason: str
    controls: ControlOutcomes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Whether a mechanism holds a control; `words` name the kernel feature, or what is missing."""

    is_held: bool
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """How a mechanism holds the three controls of an allocation."""

    reservation: Control
    limit: Control
    shares: Control


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedModel:
    """A device that does less than its policy states, and what its mechanism takes it for now.

    Under full load it did `real` of the `stated` capacity. The first correction came `after_s`
    seconds after requests had begun to pile up; `model` moves on with what proves right.
    """

    device: str
    unit: Unit
    stated: float
    real: float
    model: float
    after_s: float

    def __post_init__(self) -> None:
        field_checks.check_name("device", self.device)
        for name in ("stated", "real", "model"):
            field_checks.check_positive(name, getattr(self, name))
        field_checks.check_not_negative("after_s", self.after_s)

    @property
    def words(self) -> str:
        """All of it for a person at the host."""
        return (
            f"{self.device}: capacity {self.stated:.0f} {self.unit}, real {self.real:.0f}, "
            f"corrected in {self.after_s:.0f} s, taken for {self.model:.0f} now; "
            "state what it really does"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismSupport:
    """Whether this host can run a mechanism, and if not, why; and what the mechanism is for.

    It enforces resources counted in one of `units`, for workloads that it recognises by one of
    the kinds of `selectors`. `holds` None means that the agent is too old to say, and `corrected`
    None that no model of a device had to be lowered.
    """

    mechanism: str
    supported: bool
    reason: str
    units: tuple[Unit, ...]
    selectors: tuple[str, ...]
    holds: Holds | None
    corrected: tuple[CorrectedModel, ...] | None = field(
        default=None, metadata=canonical_json.UNSAID
    )

    def __post_init__(self) -> None:
        field_checks.check_word("mechanism", self.mechanism)
        for kind in self.selectors:
            field_checks.check_word("selectors", kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplianceReport:
    """What the agent did with the policy it holds.

    `revision` is that of the last document accepted, None if there was none. `refusal` says why
    the newest document could not be had, accepted or undone. `reports_dropped` counts reports
    lost since the agent started because the service was away too long.
    """

    schema_version: int = REPORT_VERSION
    host: str
    revision: int | None
    reported_at: datetime
    agent_version: str
    state: EnforcementState
    refusal: str | None
    reports_dropped: int
    support: tuple[MechanismSupport, ...]
    allocations: tuple[AllocationReport, ...]

    def __post_init__(self) -> None:
        canonical_json.check_version(self.schema_version, known=REPORT_VERSION)
        field_checks.check_name("host", self.host)


def host_part_bits_per_s(capacity_bits_per_s: float) -> float:
    """What an uplink keeps for the host's own traffic, its way to the service included.

    Reservations share what is left.
    """
    small, large = (ratio * capacity_bits_per_s for ratio in (HOST_SMALL_RATIO, HOST_LARGE_RATIO))
    return max(small, min(HOST_ENOUGH_BITS_PER_S, large))


def encode_document(document: PolicyDocument) -> bytes:
    """Canonical JSON of a document, signature included, as its version writes it."""
    return canonical_json.dump(_plain(document))


def decode_document(data: bytes | str) -> PolicyDocument:
    """Read a document, also one of the former version; raises ContractError.

    The signature is not checked here: see `verify`.
    """
    defaults = {
        "limit_scope": LimitScope.PER_VDISK.value,
        "io_count": IoCount.PLAIN.value,
        "joint_limit": None,
    }
    plain = canonical_json.parse(data)
    known = document_v1.VERSION if document_v1.is_former(plain) else DOCUMENT_VERSION
    return canonical_json.decode_known(
        PolicyDocument, _with_unsaid(document_v1.upgraded(plain, defaults)), known=known
    )


def document_version(accept: str) -> int:
    """The version of documents for an agent with this header; the first agents do not say."""
    said = re.search(r"\bschema=(\d{1,4})\b", accept)
    asked = document_v1.VERSION if said is None else int(said[1])
    return max(document_v1.VERSION, min(asked, DOCUMENT_VERSION))


def _plain(document: PolicyDocument) -> dict[str, Any]:
    plain = canonical_json.to_plain(document)
    # They are written only where they say something, so that agents that do not know them read
    # all others.
    resources = [
        {key: value for key, value in spec.items() if key != "divides" or value}
        for spec in plain["resources"]
    ]
    allocations = [
        {key: value for key, value in item.items() if key != "pool" or value is not None}
        for item in plain["allocations"]
    ]
    written = {**plain, "resources": resources, "allocations": allocations}
    if not document.pools:
        del written["pools"]
    return document_v1.downgraded(written)


def _with_unsaid(plain: Any) -> Any:
    """With what `_plain` leaves out."""
    if not isinstance(plain, dict):
        return plain
    filled = {"pools": [], **plain}
    for name, key, value in (("resources", "divides", False), ("allocations", "pool", None)):
        if isinstance(plain.get(name), list):
            filled[name] = [
                {key: value, **item} if isinstance(item, dict) else item for item in plain[name]
            ]
    return filled


def encode_report(report: ComplianceReport) -> bytes:
    """Canonical JSON of a report."""
    return canonical_json.encode(report)


def plain_report(report: ComplianceReport) -> dict[str, Any]:
    """What a report is as JSON, not written yet."""
    plain: dict[str, Any] = canonical_json.to_plain(report)
    return plain


def decode_report(data: bytes | str) -> ComplianceReport:
    """Read a report, also one of a former version; raises ContractError."""
    of_version_2 = report_v1.upgraded_report(canonical_json.parse(data), version=2)
    plain = report_v2.upgraded_report(of_version_2, version=REPORT_VERSION)
    for kind, item in _with_unsaid_fields(plain):
        for name in canonical_json.unsaid_names(kind):
            item.setdefault(name, None)
    return canonical_json.decode_known(ComplianceReport, plain, known=REPORT_VERSION)


def _with_unsaid_fields(plain: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The measurements and the support of a report, as far as it is one, with their types."""
    for item in _objects(plain, "allocations"):
        if isinstance(item.get("measured"), dict):
            yield Measurement, item["measured"]
    for item in _objects(plain, "support"):
        yield MechanismSupport, item


def _objects(plain: Any, name: str) -> list[dict[str, Any]]:
    found = plain.get(name) if isinstance(plain, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def read_support(plain: Sequence[Any]) -> tuple[MechanismSupport, ...]:
    """The support of a stored report, of any version; raises ContractError."""
    return tuple(
        canonical_json.decode(
            MechanismSupport, report_v1.upgraded_support(item), may_lack_defaults=True
        )
        for item in plain
    )


def canonical_bytes(document: PolicyDocument) -> bytes:
    """The bytes a signature covers: the canonical JSON without the signature."""
    plain = _plain(document)
    del plain["signature"]
    return canonical_json.dump(plain)


def sign(document: PolicyDocument, key: bytes) -> PolicyDocument:
    """The document as the host will read it, with an HMAC-SHA256 under this host's key.

    A number given as 100 is read as 100.0, and other bytes would have another signature.
    """
    as_read = decode_document(encode_document(document))
    return replace(as_read, signature=signature.hmac_hex(canonical_bytes(as_read), key))


def verify(document: PolicyDocument, key: signature.DocumentKey) -> None:
    """Raise SignatureError unless exactly this document was signed for this host."""
    if document.signature is None:
        raise SignatureError(f"revision {document.revision} carries no signature")
    if not signature.is_made_by(key, canonical_bytes(document), document.signature):
        raise SignatureError(
            f"the signature of revision {document.revision} does not match this host's key"
        )
