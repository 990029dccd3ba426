"""The API of Sluice, an operation a method. scripts/api_client.py makes this file."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from sluice_client.connection import Connection


class AdapterKind(StrEnum):
    VNIC = "vnic"
    CGROUP = "cgroup"
    VDISK = "vdisk"
    MOUNT = "mount"


class AgentState(StrEnum):
    NOT_ENROLLED = "not_enrolled"
    WAITING = "waiting"
    SILENT = "silent"
    FAILING = "failing"
    BEHIND = "behind"
    DRY_RUN = "dry_run"
    ENFORCING = "enforcing"
    IDLE = "idle"


class ChangeState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    CHECKING = "checking"
    DONE = "done"
    FAILED = "failed"


class ChannelKind(StrEnum):
    MAIL = "mail"
    WEBHOOK = "webhook"
    SERVICE = "service"


class Collects(StrEnum):
    READER = "reader"
    TELEGRAF = "telegraf"


class CongestionState(StrEnum):
    CLEAR = "clear"
    CONGESTED = "congested"
    STALLED = "stalled"
    UNKNOWN = "unknown"


class DeliveryState(StrEnum):
    GATHERED = "gathered"
    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    GIVEN_UP = "given up"


class Every(StrEnum):
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


class ImportState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    QUESTION = "question"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


class IoCount(StrEnum):
    PLAIN = "plain"
    PER_32_KIB = "per_32_kib"


class JoinMode(StrEnum):
    OBSERVE = "observe"
    ENFORCE = "enforce"


class Layer(StrEnum):
    OWN_LIMIT = "own_limit"
    QUEUE = "queue"
    HOST = "host"
    NETWORK = "network"
    SERVER = "server"
    DEVICE = "device"
    UNTOLD = "untold"


class Level(StrEnum):
    TELL = "tell"
    RECOMMEND = "recommend"
    ASK = "ask"
    ACT = "act"


class LimitScope(StrEnum):
    PER_VDISK = "per_vdisk"
    POOLED = "pooled"


class PolicyStage(StrEnum):
    ROLLING_OUT = "rolling_out"
    IN_FORCE = "in_force"
    VERIFIED = "verified"
    INEFFECTIVE = "ineffective"
    ROLLED_BACK = "rolled_back"
    SUPERSEDED = "superseded"


class Quota(StrEnum):
    POINTS_PER_S = "points_per_s"
    BYTES_PER_S = "bytes_per_s"
    SERIES = "series"
    HOSTS = "hosts"


class RecommendationState(StrEnum):
    PROPOSED = "proposed"
    ACKNOWLEDGED = "acknowledged"
    SNOOZED = "snoozed"
    APPROVED = "approved"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"


class Recurrence(StrEnum):
    ONCE = "once"
    DAILY = "daily"
    WEEKLY = "weekly"


class ReservationMode(StrEnum):
    FLOOR = "floor"
    ADDITIVE = "additive"


class ResourceKind(StrEnum):
    DATASTORE = "datastore"
    UPLINK = "uplink"


class Rhythm(StrEnum):
    HOUR = "hour"
    DAY = "day"


class Role(StrEnum):
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"
    OWNER = "owner"


class Runs(StrEnum):
    SERVICE = "service"
    FOREGROUND = "foreground"


class Scope(StrEnum):
    INGEST = "ingest"
    ENFORCE = "enforce"
    METRICS = "metrics"
    READ = "read"
    WRITE = "write"


class SourceKind(StrEnum):
    VCENTER = "vcenter"
    KUBERNETES = "kubernetes"


class ThresholdMode(StrEnum):
    FIXED = "fixed"
    BASELINE = "baseline"
    PEAK_THROUGHPUT = "peak_throughput"


class Tier(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Unit(StrEnum):
    IOPS = "iops"
    BYTES_PER_S = "bytes_per_s"
    BITS_PER_S = "bits_per_s"


class WorkloadKind(StrEnum):
    VM = "vm"
    CONTAINER = "container"
    POD = "pod"
    UNIT = "unit"
    SLICE = "slice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """See `Acknowledgement` in openapi.json."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """The busiest quarter of an hour of the day so many days ahead; 80 % lie between."""

    days: int
    high: float
    low: float
    median: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmBudgetState:
    """The budget of all, with those of resources beside it."""

    alarms_per_week: float | None
    days_needed: int | None
    own_alarms_per_week: float
    own_budgets: int
    shared_by: int
    without_budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationFilter:
    """See `AllocationFilter` in openapi.json."""

    cursor: str | None = None
    host_id: int | None = None
    limit: int = 50
    resource_id: int | None = None
    workload_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationPage:
    """See `AllocationPage` in openapi.json."""

    items: list[AllocationRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationRow:
    """What a workload has on a resource, in its `unit`; no limit is null."""

    adapter: str
    adapter_kind: AdapterKind
    host: str
    host_id: int
    id: int
    io_count: IoCount
    is_found: bool
    limit: float | None
    limit_scope: LimitScope
    pool: str | None
    reservation: float
    resource: str
    resource_id: int
    selector: str
    selector_kind: str
    shares: int | None
    shares_in_effect: int
    size_bytes: float | None
    tier: Tier
    unit: Unit
    vdisk: str
    workload: str
    workload_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """See `AuditPage` in openapi.json."""

    items: list[AuditRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """An entry of the chain; `hash` is over everything before it too."""

    action: str
    actor: str
    address: str
    at: datetime
    details: dict[str, Any]
    hash: str
    id: int
    number: int
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerification:
    """How many entries hold; `head` is the hash of the newest."""

    broken: BrokenAudit | None
    entries: int
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenAudit:
    """The first entry at which the chain does not hold."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateGrant:
    """All controls of an allocation, in the unit of its resource; no limit is null."""

    allocation_id: int
    limit: float | None = None
    reservation: float = 0.0
    shares: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFilter:
    """See `ClaimFilter` in openapi.json."""

    cursor: str | None = None
    limit: int = 50
    name: str | None = None
    namespace: str | None = None
    resource_id: int | None = None
    source: str | None = None
    workload_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPage:
    """See `ClaimPage` in openapi.json."""

    items: list[ClaimRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPod:
    """A pod that uses the claim; its workload is null where no collector shows the pod."""

    name: str
    node: str | None
    owner: str | None
    workload: str | None
    workload_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A PersistentVolumeClaim as its cluster was last read."""

    asked_attributes_class: str | None
    attributes_class: str | None
    driver: str | None
    driver_says: str | None
    id: int
    labels: dict[str, Any]
    name: str
    namespace: str
    newest_change: ClassChangeRow | None
    pods: list[ClaimPod]
    resource: str | None
    resource_id: int | None
    size_bytes: int | None
    source: str
    source_id: int
    storage_class: str | None
    volume: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassChangeFilter:
    """See `ClassChangeFilter` in openapi.json."""

    claim_id: int | None = None
    cursor: str | None = None
    limit: int = 50
    recommendation_id: int | None = None
    state: ChangeState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassChangePage:
    """See `ClassChangePage` in openapi.json."""

    items: list[ClassChangeRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassChangeRow:
    """

    A claim that is to ask for another class; only its cluster says that the volume has it.
    """

    asked_at: datetime
    asked_by: str
    can_be_undone: bool
    changed_at: datetime | None
    claim_id: int | None
    ended_at: datetime | None
    former_class: str | None
    id: int
    limit: float | None
    name: str
    namespace: str
    recommendation_id: int
    said: str
    source: str
    source_id: int
    state: ChangeState
    undoes_id: int | None
    undone_by_id: int | None
    unit: Unit
    wanted_class: str | None
    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlChange:
    """A control of one allocation; values are in the unit of the resource, null is none."""

    after: float | None
    before: float | None
    control: str
    host: str
    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision; without a policy a person does the work, and `version` is null."""

    gap: str
    id: int
    policy_state: str | None
    resource: str
    state: RecommendationState
    topic: str
    version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPage:
    """See `DeliveryPage` in openapi.json."""

    items: list[DeliveryRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """A message; `key` is the same each time it is sent again.

    Admins see why it was not sent.
    """

    attempts: int
    channel: str
    created_at: datetime
    id: int
    key: str
    next_at: datetime
    reason: str | None
    sent_at: datetime | None
    state: DeliveryState
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLatencyRow:
    """The mean time of an I/O on one disk or mount, over `ios` I/Os of the last hour.

    The layers that are known add up to `whole_ms` within 5 %; without layers `reason` says
    why.
    """

    disk: str
    host: str
    ios: float | None
    layers: list[LatencyLayer]
    reason: str
    resource: str
    whole_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """See `Draft` in openapi.json."""

    recommendation_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entitlement:
    """A workload on a resource, in its unit; null: there is none, or it was not measured."""

    entitlement: float | None
    got: float | None
    host: str
    host_id: int
    limit: float | None
    reservation: float
    role: str
    shares: int
    tier: Tier
    verdict: str | None
    verdict_reason: str
    workload: str
    workload_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entitlements:
    """See `Entitlements` in openapi.json."""

    items: list[Entitlement]
    policy_version: int | None
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundIncident:
    """One incident in the imported time; its texts say so where nothing can be told."""

    at_expense_of: str
    by_whom: str
    id: int
    peak: str
    since: datetime
    threshold: str
    until: datetime | None
    would_have_helped: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundResource:
    """What was judged of a resource in the imported time; `gap` says why it was not."""

    gap: str
    id: int
    incident_count: int
    incidents: list[FoundIncident]
    judged_for: str
    name: str
    threshold: str
    windows: int
    worst: str
    worst_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDay:
    """The day on which a daily peak first comes within 5 % of `full_rate`.

    80 % of outcomes lie between `soonest_day` and `latest_day`; null is after `until_day`.
    """

    ahead: list[Ahead]
    full_rate: float | None = None
    gap: str
    last_day: str | None = None
    latest_day: str | None = None
    median_day: str | None = None
    reached_day: str | None = None
    soonest_day: str | None = None
    until_day: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDepth:
    """How many commands a host has on its way to the resource at most."""

    host: str
    queue_depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFilter:
    """See `HostFilter` in openapi.json."""

    cursor: str | None = None
    limit: int = 50
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPage:
    """See `HostPage` in openapi.json."""

    items: list[HostRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """A host; a reason is empty where nothing is wrong."""

    agent_reason: str
    agent_state: AgentState
    agent_version: str
    allocation_count: int
    applied_revision: int | None
    drift_count: int
    id: int
    last_pull_at: datetime | None
    last_report_at: datetime | None
    last_sample_at: datetime | None
    left_out: list[str]
    mechanisms: list[str]
    name: str
    published_revision: int | None
    sample_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportAnswers:
    """What files do not say; what is left out stays as it was said before."""

    date_order: Literal["month", "day"] | None = None
    every_s: float | None = None
    first_at: str = ""
    host: str = ""
    zone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPage:
    """See `ImportPage` in openapi.json."""

    items: list[ImportRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import shows: what was congested, when, by whom, and what would have helped."""

    advice: list[str]
    hosts: list[str]
    resources: list[FoundResource]
    shift: str
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRow:
    """Files that are imported together; their times were moved by `shift_s`, null: by nothing.

    It goes on until `ended_at`. Where `is_asking`, a file does not say something that its
    import needs: its `problem` says what, and an answer lets it go on.
    """

    ended_at: datetime | None
    files: list[ImportedFile]
    id: int
    is_asking: bool
    problem: str
    shift_s: int | None
    started_at: datetime
    started_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """See `ImportedFile` in openapi.json."""

    accepted: int
    first_at: datetime | None
    format: str
    hosts: list[Any]
    ignored: int
    last_at: datetime | None
    name: str
    problem: str
    rejected: int
    size_bytes: int
    state: ImportState
    too_old: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentDetail:
    """The same with its cause; `text` is what `sluice incidents ID` prints."""

    aggressors: list[IncidentParty]
    ended_at: datetime | None
    id: int
    load_from_outside: str
    maintenance_window: str | None
    maintenance_window_reason: str
    notes: list[IncidentNoteRow]
    peak_value: float | None
    resource: str
    resource_id: int
    signals: list[dict[str, Any]]
    started_at: datetime
    study: dict[str, Any]
    taken_by: str | None
    text: str
    threshold: float | None
    victims: list[IncidentParty]
    withdrawn_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentDuty:
    """See `IncidentDuty` in openapi.json."""

    notes: list[IncidentNoteRow]
    taken_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentFilter:
    """See `IncidentFilter` in openapi.json."""

    cursor: str | None = None
    is_open: bool | None = None
    limit: int = 50
    resource_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentLine:
    """An incident; `peak_value` and `threshold` are in the level unit of its resource."""

    aggressors: list[IncidentParty]
    ended_at: datetime | None
    id: int
    load_from_outside: str
    maintenance_window: str | None
    maintenance_window_reason: str
    peak_value: float | None
    resource: str
    resource_id: int
    signals: list[dict[str, Any]]
    started_at: datetime
    threshold: float | None
    victims: list[IncidentParty]
    withdrawn_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentNoteRow:
    """What somebody said; with `is_duty`, who takes care from then on, or null for nobody."""

    at: datetime
    by: str
    id: int
    is_duty: bool
    taken_by: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentPage:
    """See `IncidentPage` in openapi.json."""

    items: list[IncidentLine]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentParty:
    """

    A workload in an incident; rates are in the unit of the resource, null: not measured.
    """

    entitlement: float | None = None
    excess_ratio: float | None = None
    is_demand_known: bool | None = None
    part_ratio: float | None = None
    rate: float | None = None
    reservation: float | None = None
    shortfall_ratio: float | None = None
    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationPage:
    """See `InvitationPage` in openapi.json."""

    items: list[InvitationRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRow:
    """An invitation whose link still works, without the link, which is stored nowhere."""

    created_at: datetime
    expires_at: datetime
    id: int
    invited_by: str
    mail: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinTokenPage:
    """See `JoinTokenPage` in openapi.json."""

    items: list[JoinTokenRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinTokenRow:
    """A join token without its secret, which is stored nowhere.

    `state` is open, used up, expired or revoked.
    """

    collects: Collects
    created_at: datetime
    expires_at: datetime
    host: str | None
    hosts_joined: int
    id: int
    made_by: str
    mode: JoinMode
    most_hosts: int
    revoked_at: datetime | None
    runs: Runs
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRulePage:
    """See `LadderRulePage` in openapi.json."""

    items: list[LadderRuleRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRuleRow:
    """A rule of when advice may be approved; of several the most conservative one counts.

    What is null is not stated: without a resource, tier or kind it is of all advice.
    """

    cooldown_s: float | None
    frozen_because: str
    frozen_from: datetime | None
    frozen_until: datetime | None
    id: int
    kind: str | None
    level: Level | None
    most_changes_per_day: int | None
    name: str
    resource: str | None
    resource_id: int | None
    second_person: bool
    tier: Tier | None
    windows: list[str]
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyLayer:
    """A part of the time of an I/O in ms; null is not known, for this reason.

    With `is_least` it is no shorter than that.
    """

    is_least: bool
    layer: Layer
    ms: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeInvitation:
    """

    `link` lets one person in; it is told this once, and null where the answer is told again.
    """

    created_at: datetime
    expires_at: datetime
    id: int
    invited_by: str
    is_mailed: bool
    link: str | None
    mail: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeJoinToken:
    """

    `line` is pasted on the hosts; it is told this once, and null where it is told again.
    """

    collects: Collects
    created_at: datetime
    expires_at: datetime
    host: str | None
    hosts_joined: int
    id: int
    line: str | None
    made_by: str
    mode: JoinMode
    most_hosts: int
    revoked_at: datetime | None
    runs: Runs
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeToken:
    """A new token; `secret` is told this once, and null where the answer is told again."""

    created_at: datetime
    expires_at: datetime | None
    host: str | None
    id: int
    is_valid: bool
    last_used_at: datetime | None
    name: str
    revoked_at: datetime | None
    scope: Scope
    secret: str | None = field(repr=False)
    username: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceWindowPage:
    """See `MaintenanceWindowPage` in openapi.json."""

    items: list[MaintenanceWindowRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceWindowRow:
    """A window; without resources it covers all, without workloads anybody may be busy."""

    id: int
    length_s: float
    name: str
    recurrence: Recurrence
    resources: list[str]
    starts_at: datetime
    workloads: list[str]
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """As whom the token of the request acts, and where."""

    expires_at: datetime | None
    organisation: str
    role: Role
    scope: Scope
    username: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredChart:
    """See `MeasuredChart` in openapi.json."""

    gap: str | None
    key: str
    levels: list[MeasuredLevel]
    title: str
    tracks: list[MeasuredTrack]
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredIncident:
    """See `MeasuredIncident` in openapi.json."""

    ended_at: datetime | None
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLevel:
    """A level that the values are compared with, such as a threshold or reservation."""

    label: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTrack:
    """A line: a value for each of `times`, null where nothing was measured; empty: never."""

    label: str
    values: list[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """

    All charts over a stretch of time; a value is the mean of the step that ends at its time.
    """

    charts: list[MeasuredChart]
    incidents: list[MeasuredIncident]
    since: datetime
    step_s: int
    times: list[datetime]
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberChange:
    """See `MemberChange` in openapi.json."""

    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPage:
    """See `MemberPage` in openapi.json."""

    items: list[MemberRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """See `MemberRow` in openapi.json."""

    id: int
    last_login_at: datetime | None
    mail: str
    role: Role
    username: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Muted:
    """Whether the new window explains the incident, and why not if it does not."""

    is_explained: bool
    maintenance_window_id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInvitation:
    """Only owners invite owners."""

    days: int = 7
    mail: str = ""
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJoinToken:
    """With a host it is for this one alone, which may be known already."""

    collects: Any = "reader"
    host: str | None = None
    minutes: int = 30
    mode: Any = "observe"
    most_hosts: int = 1
    runs: Any = "service"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMaintenanceWindow:
    """See `NewMaintenanceWindow` in openapi.json."""

    length_s: float
    name: str
    recurrence: Any = "once"
    resources: list[str] = field(default_factory=list)
    starts_at: datetime
    workloads: list[str] = field(default_factory=list)
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewResource:
    """Without a unit, mode or threshold that of its kind is taken."""

    capacity: float | None = None
    kind: Literal["datastore", "uplink", "volume"]
    line_rate: float | None = None
    mode: ReservationMode | None = None
    name: str
    reached_by: list[Place]
    threshold: float | None = None
    unit: Unit | None = None
    window_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSilence:
    """See `NewSilence` in openapi.json."""

    reason: str = ""
    resource_id: int | None = None
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """One that reads or writes acts as the person who asks; the others take an admin."""

    expires_at: datetime | None = None
    host: str | None = None
    name: str
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationChannelPage:
    """See `NotificationChannelPage` in openapi.json."""

    items: list[NotificationChannelRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationChannelRow:
    """Where messages go; `leads_to` and why it stopped are told to admins alone.

    With a `digest` it gathers its messages: for each full hour, or for an hour of the day.
    """

    digest: Rhythm | None
    hour: int
    id: int
    kind: ChannelKind
    leads_to: str | None
    name: str
    stopped_at: datetime | None
    stopped_because: str | None
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationRulePage:
    """See `NotificationRulePage` in openapi.json."""

    items: list[NotificationRuleRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationRuleRow:
    """A rule; without resources it is of all.

    With teams or tags it tells of what one of their workloads causes or suffers. With
    `grave_anyway` a stall breaks the quiet.
    """

    channel: str
    grave_anyway: bool
    id: int
    least: Literal["congested", "promise_missed", "stalled"]
    name: str
    quiet: list[str]
    resources: list[str]
    tags: list[str]
    teams: list[str]
    tells_end: bool
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganisationRow:
    """An organisation; from `deletion_due_at` on it is deleted with all its data."""

    created_at: datetime
    deletion_due_at: datetime | None
    name: str
    slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paged:
    """What every list can be asked for."""

    cursor: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """See `Place` in openapi.json."""

    device: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedClass:
    """

    A claim to which an approval would give a class; `why_not` says why it keeps its own.
    """

    claim_id: int
    former_class: str | None
    limit: float
    name: str
    namespace: str
    source: str
    wanted_class: str | None
    why_not: str
    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWork:
    """A maintenance window on the resource of the incident, for those who caused it."""

    length_s: float
    name: str
    recurrence: Any = "once"
    starts_at: datetime
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyAllocation:
    """What a policy gives a workload, in the unit of the resource; no limit is null."""

    allocation: int
    entitlement: float | None
    limit: float | None
    reservation: float
    shares: int
    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFileChange:
    """What becomes of an entry; `before` and `after` are as a file has them."""

    after: Any
    before: Any
    name: str
    section: str
    settings: list[dict[str, Any]]
    verb: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFileOrder:
    """See `PolicyFileOrder` in openapi.json."""

    may_remove: bool = False
    may_remove_most: bool = False
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFilePlan:
    """What a file changes; `text` is what `sluice plan` prints."""

    changed: int
    changes: list[PolicyFileChange]
    is_applied: bool
    made: int
    removed: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFileQuestion:
    """See `PolicyFileQuestion` in openapi.json."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFileText:
    """A policy file in YAML."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFilter:
    """See `PolicyFilter` in openapi.json."""

    cursor: str | None = None
    limit: int = 50
    resource_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPage:
    """See `PolicyPage` in openapi.json."""

    items: list[PolicyVersion]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersion:
    """A version of the policy of a resource; only the newest has a state of its own."""

    allocations: list[PolicyAllocation]
    capacity: float | None
    created_at: datetime
    created_by: str | None
    gap: str
    id: int
    in_force: bool
    pools: list[dict[str, Any]]
    recommendation_id: int | None
    resource: str
    resource_id: int
    rollback_of_version: int | None
    state: str
    unit: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFilter:
    """See `PoolFilter` in openapi.json."""

    cursor: str | None = None
    limit: int = 50
    resource_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPage:
    """See `PoolPage` in openapi.json."""

    items: list[PoolRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRow:
    """

    A pool as it is stated, in its `unit`; without shares each member counts with its own.
    """

    full_day: FullDay
    id: int
    limit: float | None
    members: list[str]
    name: str
    reservation: float
    resource: str
    resource_id: int
    shares: int | None
    unit: Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueBurstRow:
    """A queue that fills in bursts which means hide: `hits` of `looks` of the last day found one.

    `low_depth` to `high_depth` hold four fifths of those found, with `mean_depth` and
    `mean_ms` around them. What comes then waits for `wait_ms`. `ratio` is the least part of
    the time.
    """

    high_depth: float
    hits: int
    looks: int
    low_depth: float
    mean_depth: float
    mean_ms: float
    ratio: float
    text: str
    wait_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRow:
    """A quota: `limit` null is none, `used` null is not known.

    Rates are means of the last whole minute. Who sends again loses nothing of
    `refused_bodies`; `lost_points` are gone.
    """

    last_hit_at: datetime | None
    limit: int | None
    lost_points: int
    quota: Quota
    refused_bodies: int
    used: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRows:
    """See `QuotaRows` in openapi.json."""

    items: list[QuotaRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A host, and the device by which it reaches the resource."""

    device: str
    host: str
    queue_depth: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationDetail:
    """

    The same with everything behind it; `text` is what `sluice recommendations ID` prints.
    """

    answer: dict[str, Any]
    changes: list[ControlChange]
    created_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    decision_reason: str
    effects: list[WorkloadEffect]
    expires_at: datetime
    hosts: list[str]
    hosts_without_agent: list[str]
    id: int
    incident_id: int | None
    kind: str
    planned_classes: list[PlannedClass]
    policy_version: int | None
    resource: str
    resource_id: int
    state: RecommendationState
    subject: str
    summary: str
    text: str
    topic: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationFilter:
    """See `RecommendationFilter` in openapi.json."""

    cursor: str | None = None
    kind: str | None = None
    limit: int = 50
    resource_id: int | None = None
    state: RecommendationState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationLine:
    """A recommendation as lists show it; an open one that is over is `expired`."""

    created_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    decision_reason: str
    expires_at: datetime
    id: int
    incident_id: int | None
    kind: str
    resource: str
    resource_id: int
    state: RecommendationState
    subject: str
    summary: str
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationPage:
    """See `RecommendationPage` in openapi.json."""

    items: list[RecommendationLine]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """See `Rejection` in openapi.json."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Its figures over time, and each printed number beside ours."""

    duration_s: float
    findings: list[dict[str, Any]]
    name: str
    panels: list[dict[str, Any]]
    study: str
    summary: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """An experiment, and how many statements of its study hold."""

    duration_s: float
    name: str
    study: str
    summary: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRows:
    """See `ReplayRows` in openapi.json."""

    items: list[ReplayRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSubscriptionPage:
    """See `ReportSubscriptionPage` in openapi.json."""

    items: list[ReportSubscriptionRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSubscriptionRow:
    """A report of the day, week or month before, at an hour of a zone, by a channel of mail.

    Without a team or tag it is of all workloads. After several failures in a row it is
    stopped, and `stopped_because` says why.
    """

    channel: str
    due_at: datetime
    every: Every
    failures: int
    hour: int
    id: int
    last_made_at: datetime | None
    name: str
    stopped_at: datetime | None
    stopped_because: str
    tag: str
    team_id: int | None
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    """What is left out stays as it is."""

    alarms_per_week: float | Literal["shared", "none"] | None = None
    capacity: float | None = None
    disks: str | None = None
    host_queue_depths: list[HostDepth] = field(default_factory=list)
    line_rate: float | None = None
    lun_queue_depth: int | None = None
    size_bytes: float | None = None
    threshold: float | None = None
    threshold_mode: ThresholdMode | None = None
    used_bytes: float | None = None
    window_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDetail:
    """The same with what is stated or was found of it."""

    advice_gap: str
    alarms_per_week: float | None
    alarms_shared_by: int | None
    capacity: float | None
    discovered: bool
    disks: str
    evaluated_at: datetime | None
    full_day: FullDay
    id: int
    is_stale: bool
    kind: str
    level_unit: str
    line_rate: float | None
    lun_queue_depth: int | None
    maintenance_window: str | None
    mode: ReservationMode
    name: str
    pool_limits: float | None
    reached_by: list[Reached]
    reason: str
    reservable: float | None
    reserved: float
    size_bytes: float | None
    size_term: SizeTerm | None
    state: CongestionState
    state_since: datetime | None
    stated_threshold: float
    threshold: float | None
    threshold_mode: ThresholdMode
    unit: Unit
    used_bytes: float | None
    value: float | None
    vanished_at: datetime | None
    window_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDevice:
    """A device of a host; what is null nobody says."""

    burst: QueueBurstRow | None
    depth_source: str | None
    device: str
    host: str
    line_rate_bits_per_s: float | None
    queue_depth: int | None
    reason: str
    scheduler: str | None
    size_bytes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDeviceList:
    """See `ResourceDeviceList` in openapi.json."""

    devices: list[ResourceDevice]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFilter:
    """See `ResourceFilter` in openapi.json."""

    cursor: str | None = None
    kind: ResourceKind | None = None
    limit: int = 50
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLine:
    """A resource with its newest state; `value` and `threshold` are in `level_unit`."""

    advice_gap: str
    capacity: float | None
    evaluated_at: datetime | None
    id: int
    is_stale: bool
    kind: str
    level_unit: str
    maintenance_window: str | None
    name: str
    reason: str
    state: CongestionState
    state_since: datetime | None
    threshold: float | None
    unit: Unit
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePage:
    """See `ResourcePage` in openapi.json."""

    items: list[ResourceLine]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBack:
    """See `RollBack` in openapi.json."""

    to_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFilter:
    """See `RolloutFilter` in openapi.json."""

    cursor: str | None = None
    limit: int = 50
    resource_id: int | None = None
    state: PolicyStage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutPage:
    """See `RolloutPage` in openapi.json."""

    items: list[RolloutRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRow:
    """Where a policy version stands; `stage` counts from 1.

    `hosts` have it, `later_hosts` get it in a later stage; `guards` is what was found of the
    present stage, and `waits_for` why the next one has not begun.
    """

    former_version: int | None
    guarded_until: datetime | None
    guards: list[dict[str, Any]]
    hosts: list[str]
    id: int
    is_guarded: bool
    later_hosts: list[str]
    policy_id: int
    published_at: datetime
    resource: str
    resource_id: int
    settled_at: datetime | None
    stage: int
    stages: int
    started_at: datetime
    state: PolicyStage
    version: int
    waits_for: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutTermsChange:
    """What is left out or null stays as it is."""

    goes_on_unsure: bool | None = None
    longest_s: float | None = None
    settle_s: float | None = None
    stage_s: float | None = None
    staged: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutTermsRow:
    """

    How policies come to hosts, and since when all rollouts are stopped; null: they go on.
    """

    goes_on_unsure: bool
    longest_s: float
    settle_s: float
    stage_s: float
    staged: bool
    stop_reason: str
    stopped_at: datetime | None
    stopped_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """A rule on each line."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidOfIncident:
    """See `SaidOfIncident` in openapi.json."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorChoice:
    """How the host's agent recognises the I/O of the workload."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SilencePage:
    """See `SilencePage` in openapi.json."""

    items: list[SilenceRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceRow:
    """A silence that has not ended; without a resource it is of everything."""

    id: int
    made_by: str
    reason: str
    resource: str | None
    resource_id: int | None
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTerm:
    """

    The size at which the transfer takes half of the device time; `since` null: the default.
    """

    next_bytes: float | None
    next_since: datetime | None
    reason: str
    since: datetime | None
    size_term_bytes: float
    windows: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snooze:
    """See `Snooze` in openapi.json."""

    reason: str = ""
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePage:
    """See `SourcePage` in openapi.json."""

    items: list[SourceRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """

    A source with what its last read and its last test gave; its password is told to nobody.
    """

    address: str
    authority: str
    class_rates: str
    every_min: int
    failures: int
    fingerprint: str
    id: int
    kind: SourceKind
    name: str
    next_at: datetime | None
    paused_at: datetime | None
    read_at: datetime | None
    says: str
    takes_over: bool
    test_says: str
    test_worked: bool | None
    tested_at: datetime | None
    tier_label: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedAlarmBudget:
    """See `StatedAlarmBudget` in openapi.json."""

    alarms_per_week: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedAllocation:
    """All that is stated; what is left out is cleared. A missing workload is created."""

    adapter: str
    adapter_kind: AdapterKind
    host: str | None = None
    io_count: IoCount | None = None
    limit: float | None = None
    limit_scope: LimitScope | None = None
    may_exceed: bool = False
    reservation: float = 0.0
    selector: SelectorChoice | None = None
    shares: int | None = None
    size_bytes: float | None = None
    tier: Tier | None = None
    vdisk: str = ""
    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedChannelRow:
    """

    A channel as it was stated; `secret` signs what a new webhook gets, and is told once.
    """

    digest: Rhythm | None
    hour: int
    id: int
    kind: ChannelKind
    leads_to: str | None
    name: str
    secret: str | None = field(repr=False)
    stopped_at: datetime | None
    stopped_because: str | None
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedKubernetesSource:
    """All of a Kubernetes cluster, but a token that is kept."""

    address: str
    authority: str = ""
    class_rates: str = ""
    every_min: int = 60
    fingerprint: str = ""
    name: str
    takes_over: bool = False
    tier_label: str = "sluice.io/tier"
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedLadderRule:
    """All of a rule; what is left out is not stated."""

    cooldown_s: float | None = None
    frozen_because: str = ""
    frozen_from: datetime | None = None
    frozen_until: datetime | None = None
    kind: str | None = None
    level: Level | None = None
    most_changes_per_day: int | None = None
    name: str
    resource_id: int | None = None
    second_person: bool = False
    tier: Tier | None = None
    windows: list[str] = field(default_factory=list)
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedNotificationChannel:
    """All of a channel, but an address that is kept; one that was stopped goes on."""

    address: str = ""
    digest: Rhythm | None = None
    hour: int = 7
    kind: ChannelKind
    name: str
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedNotificationRule:
    """All of a rule; `channel` is the name of one that is stated."""

    channel: str
    grave_anyway: bool = True
    least: Literal["congested", "promise_missed", "stalled"] = "congested"
    name: str
    quiet: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    teams: list[str] = field(default_factory=list)
    tells_end: bool = True
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedPool:
    """All terms of a pool; what is left out is cleared, but for members, which are kept."""

    limit: float | None = None
    members: list[str] | None = None
    name: str
    reservation: float = 0.0
    shares: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedReportSubscription:
    """All of a subscription; it goes on if it was stopped."""

    channel: str
    every: Every
    hour: int = 7
    name: str
    tag: str = ""
    team_id: int | None = None
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTags:
    """All tags that people state; those that collectors send stay beside them."""

    tags: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTeam:
    """All of a team but its members, which are kept where they are left out."""

    members: list[str] | None = None
    name: str
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedVcenterSource:
    """All of a source, but a password that is kept."""

    address: str
    authority: str = ""
    every_min: int = 60
    fingerprint: str = ""
    name: str
    password: str = field(default="", repr=False)
    takes_over: bool = False
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReason:
    """See `StopReason` in openapi.json."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """

    The time that ends at `until`, in cells of a step that is no finer than what was sent.
    """

    length_s: float = 3600.0
    points: int = 400
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemStatus:
    """

    The state of every resource and the health of Sluice, as `sluice status --json` has them.
    """

    exit_status: int
    health: dict[str, Any]
    resources: list[dict[str, Any]]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBy:
    """The username of a member; null: nobody takes care."""

    username: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamPage:
    """See `TeamPage` in openapi.json."""

    items: list[TeamRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamRow:
    """A team owns each workload that has one of its tags; `members` are usernames."""

    id: int
    members: list[str]
    name: str
    tags: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPage:
    """See `TokenPage` in openapi.json."""

    items: list[TokenRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A token without its secret, which is stored nowhere."""

    created_at: datetime
    expires_at: datetime | None
    host: str | None
    id: int
    is_valid: bool
    last_used_at: datetime | None
    name: str
    revoked_at: datetime | None
    scope: Scope
    username: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadQuestion:
    """What the address says of the file in the body, and of what it leaves out."""

    date_order: Literal["month", "day"] | None = None
    every_s: float | None = None
    first_at: str = ""
    host: str = ""
    is_shifted: bool = False
    name: str
    zone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfAnswer:
    """Every workload now and then, as `sluice what-if --json` has it."""

    began_at: datetime
    capacity: float
    capacity_source: str
    congested_windows: int
    ended_at: datetime
    policy_gap: str
    reason: str
    refused: list[Any]
    resource: str
    unit: str
    windows: int
    workloads: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfQuestion:
    """Allocations that are not named keep what is proposed for them."""

    grants: list[CandidateGrant] = field(default_factory=list)
    hours: float = 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfSimulation:
    """See `WhatIfSimulation` in openapi.json."""

    capacity: float | None = None
    grants: list[CandidateGrant] = field(default_factory=list)
    hours: float = 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadChange:
    """See `WorkloadChange` in openapi.json."""

    tier: Tier | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadEffect:
    """What a workload gets before and after, in the unit of the resource; null: not known."""

    after: float | None
    before: float | None
    host: str
    measured_since: float | None
    unsure: str
    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFilter:
    """See `WorkloadFilter` in openapi.json."""

    cursor: str | None = None
    is_present: bool | None = None
    limit: int = 50
    name: str | None = None
    tag: str | None = None
    team: str | None = None
    tier: Tier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadLatency:
    """See `WorkloadLatency` in openapi.json."""

    disks: list[DiskLatencyRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPage:
    """See `WorkloadPage` in openapi.json."""

    items: list[WorkloadRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRow:
    """A workload; without `is_tier_stated` a rule gave the tier, which `tier_reason` names.

    Of its `tags` the `stated_tags` are those of people; the `teams` own it by them.
    """

    attributes: list[Any]
    id: int
    is_found: bool
    is_tier_stated: bool
    kind: WorkloadKind
    known_by: list[Any]
    name: str
    reasons: list[Any]
    stated_tags: list[str]
    tags: list[str]
    teams: list[str]
    tier: Tier
    tier_reason: str
    vanished_at: datetime | None


class Api:
    """Every operation of the API, as the person of a token."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def get_alarm_budget(self) -> AlarmBudgetState:
        """Read the budget of false alarms."""
        return self.connection.ask("GET", "/api/v1/alarm-budget", AlarmBudgetState)

    def state_alarm_budget(
        self,
        body: StatedAlarmBudget,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> AlarmBudgetState:
        """

        State the budget of false alarms, in equal parts for baselines without one of their
        own.
        """
        return self.connection.ask(
            "PUT",
            "/api/v1/alarm-budget",
            AlarmBudgetState,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def list_allocations(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        resource_id: int | None = None,
        workload_id: int | None = None,
        host_id: int | None = None,
    ) -> AllocationPage:
        """List the allocations of workloads on resources."""
        return self.connection.ask(
            "GET",
            "/api/v1/allocations",
            AllocationPage,
            query={
                "cursor": cursor,
                "limit": limit,
                "resource_id": resource_id,
                "workload_id": workload_id,
                "host_id": host_id,
            },
        )

    def remove_allocation(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Remove an allocation; the policy in force stays."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/allocations/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_allocation(self, pk: int) -> AllocationRow:
        """Read an allocation."""
        return self.connection.ask("GET", f"/api/v1/allocations/{pk}", AllocationRow)

    def list_audit_entries(
        self, *, cursor: str | None = None, limit: int | None = None
    ) -> AuditPage:
        """List who did what, newest first; takes an admin."""
        return self.connection.ask(
            "GET", "/api/v1/audit", AuditPage, query={"cursor": cursor, "limit": limit}
        )

    def verify_audit(self) -> AuditVerification:
        """Check the chain of hashes; takes an admin."""
        return self.connection.ask("GET", "/api/v1/audit/verification", AuditVerification)

    def list_claims(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        source: str | None = None,
        namespace: str | None = None,
        name: str | None = None,
        workload_id: int | None = None,
        resource_id: int | None = None,
    ) -> ClaimPage:
        """List the claims of pods on persistent volumes."""
        return self.connection.ask(
            "GET",
            "/api/v1/claims",
            ClaimPage,
            query={
                "cursor": cursor,
                "limit": limit,
                "source": source,
                "namespace": namespace,
                "name": name,
                "workload_id": workload_id,
                "resource_id": resource_id,
            },
        )

    def get_claim(self, pk: int) -> ClaimRow:
        """Read a claim."""
        return self.connection.ask("GET", f"/api/v1/claims/{pk}", ClaimRow)

    def list_class_changes(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        claim_id: int | None = None,
        recommendation_id: int | None = None,
        state: ChangeState | None = None,
    ) -> ClassChangePage:
        """List the changes of classes of claims, newest first."""
        return self.connection.ask(
            "GET",
            "/api/v1/class-changes",
            ClassChangePage,
            query={
                "cursor": cursor,
                "limit": limit,
                "claim_id": claim_id,
                "recommendation_id": recommendation_id,
                "state": state,
            },
        )

    def get_class_change(self, pk: int) -> ClassChangeRow:
        """Read a change of a claim's class."""
        return self.connection.ask("GET", f"/api/v1/class-changes/{pk}", ClassChangeRow)

    def undo_class_change(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> ClassChangeRow:
        """Have the claim ask for its former class again; answers that change.

        Takes an admin.
        """
        return self.connection.ask(
            "POST",
            f"/api/v1/class-changes/{pk}/undo",
            ClassChangeRow,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def list_deliveries(
        self, *, cursor: str | None = None, limit: int | None = None
    ) -> DeliveryPage:
        """List messages and what became of them, the newest first."""
        return self.connection.ask(
            "GET", "/api/v1/deliveries", DeliveryPage, query={"cursor": cursor, "limit": limit}
        )

    def get_delivery(self, pk: int) -> DeliveryRow:
        """Read what became of a message."""
        return self.connection.ask("GET", f"/api/v1/deliveries/{pk}", DeliveryRow)

    def list_hosts(
        self, *, cursor: str | None = None, limit: int | None = None, name: str | None = None
    ) -> HostPage:
        """List hosts."""
        return self.connection.ask(
            "GET",
            "/api/v1/hosts",
            HostPage,
            query={"cursor": cursor, "limit": limit, "name": name},
        )

    def get_host(self, pk: int) -> HostRow:
        """Read a host."""
        return self.connection.ask("GET", f"/api/v1/hosts/{pk}", HostRow)

    def get_host_measurements(
        self,
        pk: int,
        *,
        until: datetime | None = None,
        length_s: float | None = None,
        points: int | None = None,
    ) -> Measurements:
        """Read what the devices and workloads of a host did."""
        return self.connection.ask(
            "GET",
            f"/api/v1/hosts/{pk}/measurements",
            Measurements,
            query={"until": until, "length_s": length_s, "points": points},
        )

    def list_imports(self, *, cursor: str | None = None, limit: int | None = None) -> ImportPage:
        """List imports, newest first."""
        return self.connection.ask(
            "GET", "/api/v1/imports", ImportPage, query={"cursor": cursor, "limit": limit}
        )

    def upload_file(
        self,
        body: bytes,
        *,
        name: str | None = None,
        host: str | None = None,
        zone: str | None = None,
        date_order: Literal["month", "day"] | None = None,
        first_at: str | None = None,
        every_s: float | None = None,
        is_shifted: bool | None = None,
        idempotency_key: str | None = None,
    ) -> ImportRow:
        """Upload a file of samples as the body, as it is; a worker imports it soon."""
        return self.connection.ask(
            "POST",
            "/api/v1/imports",
            ImportRow,
            query={
                "name": name,
                "host": host,
                "zone": zone,
                "date_order": date_order,
                "first_at": first_at,
                "every_s": every_s,
                "is_shifted": is_shifted,
            },
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def get_import(self, pk: int) -> ImportRow:
        """Read an import."""
        return self.connection.ask("GET", f"/api/v1/imports/{pk}", ImportRow)

    def answer_import(
        self, pk: int, body: ImportAnswers, *, idempotency_key: str | None = None
    ) -> ImportRow:
        """Say what files leave out; those that asked are imported once more."""
        return self.connection.ask(
            "POST",
            f"/api/v1/imports/{pk}/answers",
            ImportRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def get_import_report(self, pk: int) -> ImportReport:
        """Read what an import shows, once it has ended."""
        return self.connection.ask("GET", f"/api/v1/imports/{pk}/report", ImportReport)

    def list_incidents(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        resource_id: int | None = None,
        is_open: bool | None = None,
    ) -> IncidentPage:
        """List incidents, newest first."""
        return self.connection.ask(
            "GET",
            "/api/v1/incidents",
            IncidentPage,
            query={
                "cursor": cursor,
                "limit": limit,
                "resource_id": resource_id,
                "is_open": is_open,
            },
        )

    def get_incident(self, pk: int) -> IncidentDetail:
        """Read an incident with its cause; one that was withdrawn has its number still."""
        return self.connection.ask("GET", f"/api/v1/incidents/{pk}", IncidentDetail)

    def mute_incident(
        self, pk: int, body: PlannedWork, *, idempotency_key: str | None = None
    ) -> Muted:
        """State planned work that explains an incident, so that its like raises no alarm."""
        return self.connection.ask(
            "POST",
            f"/api/v1/incidents/{pk}/mute",
            Muted,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def note_on_incident(
        self, pk: int, body: SaidOfIncident, *, idempotency_key: str | None = None
    ) -> IncidentNoteRow:
        """Add a note to an incident, for all who look at it."""
        return self.connection.ask(
            "POST",
            f"/api/v1/incidents/{pk}/notes",
            IncidentNoteRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def assign_incident(
        self,
        pk: int,
        body: TakenBy,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> IncidentDuty:
        """Say who takes care of an incident; of two at once the later one counts."""
        return self.connection.ask(
            "PUT",
            f"/api/v1/incidents/{pk}/taken-by",
            IncidentDuty,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def list_invitations(
        self, *, cursor: str | None = None, limit: int | None = None
    ) -> InvitationPage:
        """List invitations whose link still works; takes an admin."""
        return self.connection.ask(
            "GET", "/api/v1/invitations", InvitationPage, query={"cursor": cursor, "limit": limit}
        )

    def invite_somebody(
        self, body: NewInvitation, *, idempotency_key: str | None = None
    ) -> MadeInvitation:
        """Invite somebody; takes an admin."""
        return self.connection.ask(
            "POST",
            "/api/v1/invitations",
            MadeInvitation,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def withdraw_invitation(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Withdraw an invitation; its link opens nothing. Takes an admin."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/invitations/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_invitation(self, pk: int) -> InvitationRow:
        """Read an invitation whose link still works; takes an admin."""
        return self.connection.ask("GET", f"/api/v1/invitations/{pk}", InvitationRow)

    def list_join_tokens(
        self, *, cursor: str | None = None, limit: int | None = None
    ) -> JoinTokenPage:
        """List join tokens; takes an admin."""
        return self.connection.ask(
            "GET", "/api/v1/join-tokens", JoinTokenPage, query={"cursor": cursor, "limit": limit}
        )

    def make_token_to_join(
        self, body: NewJoinToken, *, idempotency_key: str | None = None
    ) -> MadeJoinToken:
        """Make a join token; takes an admin."""
        return self.connection.ask(
            "POST",
            "/api/v1/join-tokens",
            MadeJoinToken,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def revoke_token_to_join(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Revoke a join token; no host joins by it any more. Takes an admin."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/join-tokens/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_join_token(self, pk: int) -> JoinTokenRow:
        """Read a join token; takes an admin."""
        return self.connection.ask("GET", f"/api/v1/join-tokens/{pk}", JoinTokenRow)

    def list_ladder_rules(
        self, *, cursor: str | None = None, limit: int | None = None
    ) -> LadderRulePage:
        """List the rules of the ladder."""
        return self.connection.ask(
            "GET", "/api/v1/ladder-rules", LadderRulePage, query={"cursor": cursor, "limit": limit}
        )

    def state_ladder_rule(
        self,
        body: StatedLadderRule,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> LadderRuleRow:
        """State a rule, by its name."""
        return self.connection.ask(
            "PUT",
            "/api/v1/ladder-rules",
            LadderRuleRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def remove_ladder_rule(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Remove a rule, which lets happen what it held back."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/ladder-rules/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_ladder_rule(self, pk: int) -> LadderRuleRow:
        """Read a rule of the ladder."""
        return self.connection.ask("GET", f"/api/v1/ladder-rules/{pk}", LadderRuleRow)

    def list_maintenance_windows(
        self, *, cursor: str | None = None, limit: int | None = None
    ) -> MaintenanceWindowPage:
        """List maintenance windows."""
        return self.connection.ask(
            "GET",
            "/api/v1/maintenance-windows",
            MaintenanceWindowPage,
            query={"cursor": cursor, "limit": limit},
        )

    def create_maintenance_window(
        self, body: NewMaintenanceWindow, *, idempotency_key: str | None = None
    ) -> MaintenanceWindowRow:
        """State planned work."""
        return self.connection.ask(
            "POST",
            "/api/v1/maintenance-windows",
            MaintenanceWindowRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def remove_planned_work(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Remove a window; the congestion that it explained raises alarms again."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/maintenance-windows/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_maintenance_window(self, pk: int) -> MaintenanceWindowRow:
        """Read a maintenance window."""
        return self.connection.ask(
            "GET", f"/api/v1/maintenance-windows/{pk}", MaintenanceWindowRow
        )

    def get_me(self) -> Me:
        """Read as whom the token acts."""
        return self.connection.ask("GET", "/api/v1/me", Me)

    def list_members(self, *, cursor: str | None = None, limit: int | None = None) -> MemberPage:
        """List the members of the organisation."""
        return self.connection.ask(
            "GET", "/api/v1/members", MemberPage, query={"cursor": cursor, "limit": limit}
        )

    def remove_member_of_organisation(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Take a member out, with their tokens; takes an admin, but everybody may leave."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/members/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_member(self, pk: int) -> MemberRow:
        """Read a member of the organisation."""
        return self.connection.ask("GET", f"/api/v1/members/{pk}", MemberRow)

    def change_member(
        self,
        pk: int,
        body: MemberChange,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> MemberRow:
        """Give a member another role; takes an admin, and for owners an owner."""
        return self.connection.ask(
            "PATCH",
            f"/api/v1/members/{pk}",
            MemberRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def list_notification_channels(
        self, *, cursor: str | None = None, limit: int | None = None
    ) -> NotificationChannelPage:
        """List channels of notifications."""
        return self.connection.ask(
            "GET",
            "/api/v1/notification-channels",
            NotificationChannelPage,
            query={"cursor": cursor, "limit": limit},
        )

    def state_notification_channel(
        self,
        body: StatedNotificationChannel,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> StatedChannelRow:
        """State a channel, by its name."""
        return self.connection.ask(
            "PUT",
            "/api/v1/notification-channels",
            StatedChannelRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def remove_notification_channel(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """

        Remove a channel with the rules that tell by it, and the log of what it was sent.
        """
        self.connection.ask(
            "DELETE",
            f"/api/v1/notification-channels/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_notification_channel(self, pk: int) -> NotificationChannelRow:
        """Read a channel of notifications."""
        return self.connection.ask(
            "GET", f"/api/v1/notification-channels/{pk}", NotificationChannelRow
        )

    def start_notification_channel(
        self, pk: int, *, idempotency_key: str | None = None
    ) -> NotificationChannelRow:
        """Send by a channel that was stopped; what was given up stays so."""
        return self.connection.ask(
            "POST",
            f"/api/v1/notification-channels/{pk}/start",
            NotificationChannelRow,
            headers={"Idempotency-Key": idempotency_key},
        )

    def try_notification_channel(
        self, pk: int, *, idempotency_key: str | None = None
    ) -> DeliveryRow:
        """Send a message that nothing is wrong; its delivery says what became of it."""
        return self.connection.ask(
            "POST",
            f"/api/v1/notification-channels/{pk}/try",
            DeliveryRow,
            headers={"Idempotency-Key": idempotency_key},
        )

    def list_notification_rules(
        self, *, cursor: str | None = None, limit: int | None = None
    ) -> NotificationRulePage:
        """List the rules of notifications."""
        return self.connection.ask(
            "GET",
            "/api/v1/notification-rules",
            NotificationRulePage,
            query={"cursor": cursor, "limit": limit},
        )

    def state_rule_of_notifications(
        self,
        body: StatedNotificationRule,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> NotificationRuleRow:
        """State a rule, by its name; what it told stays told."""
        return self.connection.ask(
            "PUT",
            "/api/v1/notification-rules",
            NotificationRuleRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def remove_notification_rule(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Remove a rule; nothing is told by it any more, also no end of what it told."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/notification-rules/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_notification_rule(self, pk: int) -> NotificationRuleRow:
        """Read a rule of notifications."""
        return self.connection.ask("GET", f"/api/v1/notification-rules/{pk}", NotificationRuleRow)

    def get_organisation(self) -> OrganisationRow:
        """Read the organisation of the token."""
        return self.connection.ask("GET", "/api/v1/organisation", OrganisationRow)

    def export_organisation(self) -> bytes:
        """Load all that is stored of it as a ZIP file, while it is made; takes an owner."""
        return self.connection.ask("POST", "/api/v1/organisation/export", bytes)

    def list_policies(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        resource_id: int | None = None,
    ) -> PolicyPage:
        """List policy versions, newest first."""
        return self.connection.ask(
            "GET",
            "/api/v1/policies",
            PolicyPage,
            query={"cursor": cursor, "limit": limit, "resource_id": resource_id},
        )

    def get_policy(self, pk: int) -> PolicyVersion:
        """Read a policy version. Its ETag is that of the newest version of its resource."""
        return self.connection.ask("GET", f"/api/v1/policies/{pk}", PolicyVersion)

    def export_policy_file(self) -> PolicyFileText:
        """Export what people stated, as a policy file that can be taken over elsewhere."""
        return self.connection.ask("GET", "/api/v1/policy-file", PolicyFileText)

    def apply_policy(
        self,
        body: PolicyFileOrder,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> PolicyFilePlan:
        """Take a policy file over. No host is changed: that takes an approved policy."""
        return self.connection.ask(
            "POST",
            "/api/v1/policy-file/apply",
            PolicyFilePlan,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def plan_policy(
        self, body: PolicyFileQuestion, *, idempotency_key: str | None = None
    ) -> PolicyFilePlan:
        """Show what a policy file would change; nothing is changed."""
        return self.connection.ask(
            "POST",
            "/api/v1/policy-file/plan",
            PolicyFilePlan,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def list_pools(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        resource_id: int | None = None,
    ) -> PoolPage:
        """List pools."""
        return self.connection.ask(
            "GET",
            "/api/v1/pools",
            PoolPage,
            query={"cursor": cursor, "limit": limit, "resource_id": resource_id},
        )

    def remove_pool(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Remove a pool; its members keep their own terms."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/pools/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_pool(self, pk: int) -> PoolRow:
        """Read a pool."""
        return self.connection.ask("GET", f"/api/v1/pools/{pk}", PoolRow)

    def list_quotas(self) -> QuotaRows:
        """List the quotas. Who runs the installation sets them, by `sluice quota set`."""
        return self.connection.ask("GET", "/api/v1/quotas", QuotaRows)

    def list_recommendations(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        state: RecommendationState | None = None,
        kind: str | None = None,
        resource_id: int | None = None,
    ) -> RecommendationPage:
        """List recommendations, newest first."""
        return self.connection.ask(
            "GET",
            "/api/v1/recommendations",
            RecommendationPage,
            query={
                "cursor": cursor,
                "limit": limit,
                "state": state,
                "kind": kind,
                "resource_id": resource_id,
            },
        )

    def get_recommendation(self, pk: int) -> RecommendationDetail:
        """Read a recommendation with its evidence."""
        return self.connection.ask("GET", f"/api/v1/recommendations/{pk}", RecommendationDetail)

    def acknowledge_recommendation(
        self, pk: int, body: Acknowledgement, *, idempotency_key: str | None = None
    ) -> Decided:
        """Say that you look after it; it stays open."""
        return self.connection.ask(
            "POST",
            f"/api/v1/recommendations/{pk}/acknowledge",
            Decided,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def approve_recommendation(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> Decided:
        """

        Approve: it becomes the newest policy of its resource, or its advice is accepted.
        """
        return self.connection.ask(
            "POST",
            f"/api/v1/recommendations/{pk}/approve",
            Decided,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def reject_recommendation(
        self,
        pk: int,
        body: Rejection,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> Decided:
        """Reject with a reason; nothing on any host changes."""
        return self.connection.ask(
            "POST",
            f"/api/v1/recommendations/{pk}/reject",
            Decided,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def snooze_recommendation(
        self, pk: int, body: Snooze, *, idempotency_key: str | None = None
    ) -> Decided:
        """Put it off; it comes back then, and can be decided for a day."""
        return self.connection.ask(
            "POST",
            f"/api/v1/recommendations/{pk}/snooze",
            Decided,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def list_replays(self) -> ReplayRows:
        """List the experiments that can be replayed."""
        return self.connection.ask("GET", "/api/v1/replays", ReplayRows)

    def get_replay(self, name: str) -> Replay:
        """Read an experiment with all that was found; a former name is found too."""
        return self.connection.ask("GET", f"/api/v1/replays/{name}", Replay)

    def list_report_subscriptions(
        self, *, cursor: str | None = None, limit: int | None = None
    ) -> ReportSubscriptionPage:
        """List the reports that are sent regularly."""
        return self.connection.ask(
            "GET",
            "/api/v1/report-subscriptions",
            ReportSubscriptionPage,
            query={"cursor": cursor, "limit": limit},
        )

    def state_report_subscription(
        self,
        body: StatedReportSubscription,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> ReportSubscriptionRow:
        """Have a report sent regularly; one of the same name is replaced."""
        return self.connection.ask(
            "PUT",
            "/api/v1/report-subscriptions",
            ReportSubscriptionRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def remove_report_subscription(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Remove a subscription; what waits to be sent is not sent."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/report-subscriptions/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_report_subscription(self, pk: int) -> ReportSubscriptionRow:
        """Read a subscription of reports."""
        return self.connection.ask(
            "GET", f"/api/v1/report-subscriptions/{pk}", ReportSubscriptionRow
        )

    def send_report(self, pk: int, *, idempotency_key: str | None = None) -> ReportSubscriptionRow:
        """Have a report made and sent now, beside its turns."""
        return self.connection.ask(
            "POST",
            f"/api/v1/report-subscriptions/{pk}/send",
            ReportSubscriptionRow,
            headers={"Idempotency-Key": idempotency_key},
        )

    def stop_report_subscription(
        self, pk: int, *, idempotency_key: str | None = None
    ) -> ReportSubscriptionRow:
        """Send no more until it is stated again."""
        return self.connection.ask(
            "POST",
            f"/api/v1/report-subscriptions/{pk}/stop",
            ReportSubscriptionRow,
            headers={"Idempotency-Key": idempotency_key},
        )

    def list_resources(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        kind: ResourceKind | None = None,
        name: str | None = None,
    ) -> ResourcePage:
        """List resources with their newest state."""
        return self.connection.ask(
            "GET",
            "/api/v1/resources",
            ResourcePage,
            query={"cursor": cursor, "limit": limit, "kind": kind, "name": name},
        )

    def create_resource(
        self, body: NewResource, *, idempotency_key: str | None = None
    ) -> ResourceDetail:
        """Describe a resource; one that was found on one of the devices is taken over."""
        return self.connection.ask(
            "POST",
            "/api/v1/resources",
            ResourceDetail,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def remove_resource(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Remove a resource with its allocations and history."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/resources/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_resource(self, pk: int) -> ResourceDetail:
        """Read a resource with what is stated of it; its ETag is of what is stated."""
        return self.connection.ask("GET", f"/api/v1/resources/{pk}", ResourceDetail)

    def change_stated_resource(
        self,
        pk: int,
        body: ResourceChange,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> ResourceDetail:
        """Change what is stated of a resource."""
        return self.connection.ask(
            "PATCH",
            f"/api/v1/resources/{pk}",
            ResourceDetail,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def state_allocation(
        self,
        pk: int,
        body: StatedAllocation,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> AllocationRow:
        """State what a workload has on a resource, for one host and virtual disk."""
        return self.connection.ask(
            "PUT",
            f"/api/v1/resources/{pk}/allocations",
            AllocationRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def list_resource_devices(self, pk: int) -> ResourceDeviceList:
        """Read what hosts say of the devices of a resource, and how their queues fill."""
        return self.connection.ask("GET", f"/api/v1/resources/{pk}/devices", ResourceDeviceList)

    def get_entitlements(self, pk: int) -> Entitlements:
        """

        Read what each workload on a resource should get, and gets, largest reservation first.
        """
        return self.connection.ask("GET", f"/api/v1/resources/{pk}/entitlements", Entitlements)

    def get_resource_measurements(
        self,
        pk: int,
        *,
        until: datetime | None = None,
        length_s: float | None = None,
        points: int | None = None,
    ) -> Measurements:
        """Read what a resource and its workloads did."""
        return self.connection.ask(
            "GET",
            f"/api/v1/resources/{pk}/measurements",
            Measurements,
            query={"until": until, "length_s": length_s, "points": points},
        )

    def state_pool(
        self,
        pk: int,
        body: StatedPool,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> PoolRow:
        """State a pool of an uplink, by its name."""
        return self.connection.ask(
            "PUT",
            f"/api/v1/resources/{pk}/pools",
            PoolRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def roll_back_policy(
        self,
        pk: int,
        body: RollBack,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> PolicyVersion:
        """Publish an earlier version of the policy of a resource again, as a new version."""
        return self.connection.ask(
            "POST",
            f"/api/v1/resources/{pk}/rollback",
            PolicyVersion,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def simulate_what_if(
        self, pk: int, body: WhatIfSimulation, *, idempotency_key: str | None = None
    ) -> WhatIfAnswer:
        """Simulate other settings on stored history; nothing is changed."""
        return self.connection.ask(
            "POST",
            f"/api/v1/resources/{pk}/what-if",
            WhatIfAnswer,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def draft_what_if(
        self, pk: int, body: WhatIfQuestion, *, idempotency_key: str | None = None
    ) -> Draft:
        """Save other settings as a recommendation, which is approved like any other."""
        return self.connection.ask(
            "POST",
            f"/api/v1/resources/{pk}/what-if/draft",
            Draft,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def get_rollout_terms(self) -> RolloutTermsRow:
        """Read how policies come to hosts, and whether somebody stopped that."""
        return self.connection.ask("GET", "/api/v1/rollout-terms", RolloutTermsRow)

    def change_rollout_terms(
        self,
        body: RolloutTermsChange,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> RolloutTermsRow:
        """Change how policies come to hosts, those under way too."""
        return self.connection.ask(
            "PATCH",
            "/api/v1/rollout-terms",
            RolloutTermsRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def resume_all_rollouts(
        self, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> RolloutTermsRow:
        """Let rollouts go on; each stage that was under way begins anew."""
        return self.connection.ask(
            "POST",
            "/api/v1/rollout-terms/resume",
            RolloutTermsRow,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def stop_all_rollouts(
        self, body: StopReason, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> RolloutTermsRow:
        """Stop all: nothing changes by itself, and no policy begins.

        Hosts keep what they have.
        """
        return self.connection.ask(
            "POST",
            "/api/v1/rollout-terms/stop",
            RolloutTermsRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def list_rollouts(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        resource_id: int | None = None,
        state: PolicyStage | None = None,
    ) -> RolloutPage:
        """List the rollouts of policies, newest first."""
        return self.connection.ask(
            "GET",
            "/api/v1/rollouts",
            RolloutPage,
            query={"cursor": cursor, "limit": limit, "resource_id": resource_id, "state": state},
        )

    def get_rollout(self, pk: int) -> RolloutRow:
        """Read a rollout."""
        return self.connection.ask("GET", f"/api/v1/rollouts/{pk}", RolloutRow)

    def go_on_with_rollout(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> RolloutRow:
        """

        Begin the next stage now, or end the guard of the last one, whatever is measured.
        """
        return self.connection.ask(
            "POST",
            f"/api/v1/rollouts/{pk}/go-on",
            RolloutRow,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_rules(self) -> Rules:
        """Read the rules that give tiers and say which devices are one."""
        return self.connection.ask("GET", "/api/v1/rules", Rules)

    def state_rules(
        self, body: Rules, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> Rules:
        """Take these rules instead of those before; they act when it is looked next."""
        return self.connection.ask(
            "PUT",
            "/api/v1/rules",
            Rules,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def list_silences(self, *, cursor: str | None = None, limit: int | None = None) -> SilencePage:
        """List the silences that have not ended."""
        return self.connection.ask(
            "GET", "/api/v1/silences", SilencePage, query={"cursor": cursor, "limit": limit}
        )

    def make_silence(self, body: NewSilence, *, idempotency_key: str | None = None) -> SilenceRow:
        """Tell nobody for a while; it ends by itself."""
        return self.connection.ask(
            "POST",
            "/api/v1/silences",
            SilenceRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def end_silence(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Tell again from now on."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/silences/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_silence(self, pk: int) -> SilenceRow:
        """Read a silence."""
        return self.connection.ask("GET", f"/api/v1/silences/{pk}", SilenceRow)

    def list_sources(self, *, cursor: str | None = None, limit: int | None = None) -> SourcePage:
        """List the vCenters and Kubernetes clusters that are read; takes an admin."""
        return self.connection.ask(
            "GET", "/api/v1/sources", SourcePage, query={"cursor": cursor, "limit": limit}
        )

    def state_vcenter_source(
        self,
        body: StatedVcenterSource,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> SourceRow:
        """State a vCenter, by its name; it is read at once. Takes an admin."""
        return self.connection.ask(
            "PUT",
            "/api/v1/sources",
            SourceRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def state_kubernetes_source(
        self,
        body: StatedKubernetesSource,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> SourceRow:
        """State a Kubernetes cluster, by its name; it is read at once. Takes an admin."""
        return self.connection.ask(
            "PUT",
            "/api/v1/sources/kubernetes",
            SourceRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def remove_source(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Read a source no more; for a day the page can put it back. Takes an admin."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/sources/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_source(self, pk: int) -> SourceRow:
        """Read a source; takes an admin."""
        return self.connection.ask("GET", f"/api/v1/sources/{pk}", SourceRow)

    def pause_source(self, pk: int, *, idempotency_key: str | None = None) -> SourceRow:
        """Read a source no more until it is resumed. Takes an admin."""
        return self.connection.ask(
            "POST",
            f"/api/v1/sources/{pk}/pause",
            SourceRow,
            headers={"Idempotency-Key": idempotency_key},
        )

    def resume_source(self, pk: int, *, idempotency_key: str | None = None) -> SourceRow:
        """Read a source again, at once. Takes an admin."""
        return self.connection.ask(
            "POST",
            f"/api/v1/sources/{pk}/resume",
            SourceRow,
            headers={"Idempotency-Key": idempotency_key},
        )

    def test_source(self, pk: int, *, idempotency_key: str | None = None) -> SourceRow:
        """Have a worker connect and log in; read the source for what came of it.

        Takes an admin.
        """
        return self.connection.ask(
            "POST",
            f"/api/v1/sources/{pk}/test",
            SourceRow,
            headers={"Idempotency-Key": idempotency_key},
        )

    def get_status(self) -> SystemStatus:
        """Read the state of all resources, and the health of Sluice itself."""
        return self.connection.ask("GET", "/api/v1/status", SystemStatus)

    def list_teams(self, *, cursor: str | None = None, limit: int | None = None) -> TeamPage:
        """List teams."""
        return self.connection.ask(
            "GET", "/api/v1/teams", TeamPage, query={"cursor": cursor, "limit": limit}
        )

    def state_team(
        self, body: StatedTeam, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> TeamRow:
        """State a team, by its name. It gives its members no right."""
        return self.connection.ask(
            "PUT",
            "/api/v1/teams",
            TeamRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def remove_team_of_organisation(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Remove a team; its members and workloads stay."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/teams/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_team(self, pk: int) -> TeamRow:
        """Read a team; its workloads are those of the list with `team`."""
        return self.connection.ask("GET", f"/api/v1/teams/{pk}", TeamRow)

    def list_tokens(self, *, cursor: str | None = None, limit: int | None = None) -> TokenPage:
        """

        List the tokens of the organisation; who is no admin sees those that act as them.
        """
        return self.connection.ask(
            "GET", "/api/v1/tokens", TokenPage, query={"cursor": cursor, "limit": limit}
        )

    def make_token(self, body: NewToken, *, idempotency_key: str | None = None) -> MadeToken:
        """Make a token."""
        return self.connection.ask(
            "POST",
            "/api/v1/tokens",
            MadeToken,
            body=body,
            headers={"Idempotency-Key": idempotency_key},
        )

    def revoke_token_of_organisation(
        self, pk: int, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> None:
        """Revoke a token; it opens nothing from now on, and stays in the list."""
        self.connection.ask(
            "DELETE",
            f"/api/v1/tokens/{pk}",
            type(None),
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_token(self, pk: int) -> TokenRow:
        """Read a token."""
        return self.connection.ask("GET", f"/api/v1/tokens/{pk}", TokenRow)

    def list_workloads(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        name: str | None = None,
        tier: Tier | None = None,
        is_present: bool | None = None,
        team: str | None = None,
        tag: str | None = None,
    ) -> WorkloadPage:
        """List workloads."""
        return self.connection.ask(
            "GET",
            "/api/v1/workloads",
            WorkloadPage,
            query={
                "cursor": cursor,
                "limit": limit,
                "name": name,
                "tier": tier,
                "is_present": is_present,
                "team": team,
                "tag": tag,
            },
        )

    def get_workload(self, pk: int) -> WorkloadRow:
        """Read a workload."""
        return self.connection.ask("GET", f"/api/v1/workloads/{pk}", WorkloadRow)

    def change_workload(
        self,
        pk: int,
        body: WorkloadChange,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> WorkloadRow:
        """State the tier of a workload on all resources, or leave it to rules again."""
        return self.connection.ask(
            "PATCH",
            f"/api/v1/workloads/{pk}",
            WorkloadRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )

    def get_workload_latency(self, pk: int) -> WorkloadLatency:
        """Read where the time of a workload's I/Os goes."""
        return self.connection.ask("GET", f"/api/v1/workloads/{pk}/latency", WorkloadLatency)

    def get_workload_measurements(
        self,
        pk: int,
        *,
        until: datetime | None = None,
        length_s: float | None = None,
        points: int | None = None,
    ) -> Measurements:
        """Read what a workload did on each of its resources."""
        return self.connection.ask(
            "GET",
            f"/api/v1/workloads/{pk}/measurements",
            Measurements,
            query={"until": until, "length_s": length_s, "points": points},
        )

    def state_tags_of_workload(
        self,
        pk: int,
        body: StatedTags,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> WorkloadRow:
        """State the tags of a workload, by which teams own it and rules give tiers."""
        return self.connection.ask(
            "PUT",
            f"/api/v1/workloads/{pk}/tags",
            WorkloadRow,
            body=body,
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
        )
