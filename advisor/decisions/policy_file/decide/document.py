"""What a policy file says: the desired state of one organisation.

The format follows from these classes: reader, writer and JSON Schema go by their fields. A
section that is None is left out, and what it would state stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from advisor.core.allocation import ReservationMode
from advisor.core.detection.maintenance_windows import Recurrence
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.ladder.rule import Level
from advisor.core.reporting.schedule import Every
from advisor.core.resource import IoCount, LimitScope, ResourceKind, Tier, Unit

VERSION = 1


class Form(StrEnum):
    """How a number is written that has a unit."""

    RATE = "rate"
    BYTES = "bytes"
    LENGTH = "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    """What a field means, how it is written, and what it may be."""

    text: str
    form: Form | None = None
    key: str = ""
    longest: int | None = None
    least: float | None = None
    above: float | None = None


Counters: TypeAlias = Literal["vnic", "cgroup", "vdisk", "mount"]
"""Those of `AdapterKind`, which is a model's."""
AdviceKind: TypeAlias = Literal[
    "policy", "what_if", "threshold", "queue_depth", "off_peak_work", "placement",
    "host_placement", "limit_check",
]  # fmt: skip
"""Those of the registry, whose kinds read rows."""
SeverityWord: TypeAlias = Literal["congested", "promise_missed", "stalled"]
"""Those of `core.notifying.Severity`."""
Name: TypeAlias = Annotated[str, Says(text="its name", longest=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A host, and its device for a resource."""

    host: Annotated[str, Says(text="name of the host", longest=253)]
    device: Annotated[str, Says(text="its device, such as sdb or eth0", longest=255)]
    queue_depth: Annotated[
        int | None, Says(text="commands that the host sends at once", least=1)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceEntry:
    """A datastore or an uplink; its kind gives the unit, mode and threshold that are left out."""

    name: Annotated[str, Says(text="its name", longest=509)]
    kind: Annotated[ResourceKind, Says(text="what it is")]
    reached_by: Annotated[tuple[Place, ...], Says(text="the hosts that use it")]
    found: Annotated[
        bool,
        Says(text="it was found: its capacity and hosts follow what hosts say unless stated"),
    ] = False
    unit: Annotated[Unit | None, Says(text="the unit of its rates")] = None
    capacity: Annotated[
        float | None, Says(text="capacity, such as 94Mbit or 2000", form=Form.RATE, above=0)
    ] = None
    line_rate: Annotated[
        float | None, Says(text="nominal rate of an uplink", form=Form.RATE, above=0)
    ] = None
    mode: Annotated[
        ReservationMode | None,
        Says(text="additive: shares divide what reservations leave; floor: a lower bound"),
    ] = None
    threshold_mode: Annotated[ThresholdMode, Says(text="where its threshold comes from")] = (
        ThresholdMode.FIXED
    )
    threshold: Annotated[
        float | None,
        Says(text="congested above it: ms of latency, or a part (0-1) of capacity", above=0),
    ] = None
    alarms_per_week: Annotated[
        float | Literal["shared", "none"],
        Says(
            text="false alarms that its baseline may raise; none: the percentile alone; "
            "shared: a part of the organisation's budget",
            least=0.01,
        ),
    ] = "shared"
    window_s: Annotated[float, Says(text="seconds that are judged together", least=1)] = 10.0
    lun_queue_depth: Annotated[
        int | None, Says(text="commands that a LUN takes from all hosts", least=1)
    ] = None
    size_bytes: Annotated[
        float | None, Says(text="size of a datastore, such as 4TB", form=Form.BYTES, key="size")
    ] = None
    used_bytes: Annotated[
        float | None, Says(text="used space of a datastore", form=Form.BYTES, key="used")
    ] = None
    disks: Annotated[
        str, Says(text="datastores with the same word share their disks", longest=200)
    ] = ""

    staged: Annotated[
        bool | None, Says(text="its policies come in stages; left out: as `rollouts` says")
    ] = None

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadEntry:
    """The tier and tags that a person gives a workload; rules give others their tier."""

    name: Name
    tier: Annotated[
        Tier | None, Says(text="importance, from which its shares follow; left out: rules give it")
    ] = None
    tags: Annotated[
        tuple[str, ...], Says(text="such as label.team=shop, beside those that collectors send")
    ] = ()

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationEntry:
    """What a workload is promised on a resource, and what it may take at most."""

    resource: Annotated[str, Says(text="name of the resource", longest=509)]
    workload: Annotated[str, Says(text="name of the workload", longest=200)]
    host: Annotated[str, Says(text="host that it runs on", longest=253)]
    vdisk: Annotated[str, Says(text="one of several virtual disks", longest=200)] = ""
    adapter_kind: Annotated[Counters, Says(text="whose counters measure it")]
    adapter: Annotated[str, Says(text="interface, cgroup or disk that is counted", longest=1024)]
    selector: Annotated[
        str, Says(text="KIND=VALUE by which its I/O is recognised if not by the adapter")
    ] = ""
    reservation: Annotated[float, Says(text="guaranteed rate", form=Form.RATE, least=0)] = 0.0
    limit: Annotated[float | None, Says(text="highest rate", form=Form.RATE, least=0)] = None
    shares: Annotated[
        int | None, Says(text="relative weight; left out: that of its tier", least=1)
    ] = None
    limit_scope: Annotated[LimitScope, Says(text="whether disks share one limit")] = (
        LimitScope.PER_VDISK
    )
    io_count: Annotated[IoCount, Says(text="what a limit counts")] = IoCount.PLAIN
    size_bytes: Annotated[
        float | None, Says(text="size of the virtual disk", form=Form.BYTES, key="size")
    ] = None
    # A permission for the moment of taking over, which nothing remembers.
    even_if_full: Annotated[
        bool, Says(text="take a reservation that does not fit, or of which nobody can know")
    ] = field(default=False, compare=False)

    @property
    def key(self) -> str:
        disk = f", disk {self.vdisk}" if self.vdisk else ""
        return f"{self.workload} on {self.resource} ({self.host}{disk})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntry:
    """What several workloads of an uplink are promised together, and may take at most."""

    resource: Annotated[str, Says(text="name of the uplink", longest=509)]
    name: Name
    reservation: Annotated[
        float, Says(text="guaranteed rate of all of them", form=Form.RATE, least=0)
    ] = 0.0
    limit: Annotated[
        float | None, Says(text="highest rate of all of them", form=Form.RATE, above=0)
    ] = None
    shares: Annotated[
        int | None, Says(text="weight of the pool; left out: each member has its own", least=1)
    ] = None
    members: Annotated[tuple[str, ...], Says(text="workloads with an allocation there")] = ()
    even_if_full: Annotated[bool, Says(text="take a reservation that does not fit")] = field(
        default=False, compare=False
    )

    @property
    def key(self) -> str:
        return f"{self.name} on {self.resource}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceEntry:
    """Planned work, whose congestion raises no alarm."""

    name: Name
    start: Annotated[str, Says(text="such as 2026-11-21T22:00, in the zone")]
    length_s: Annotated[
        float,
        Says(text="such as 90min, 2h or 1d, or seconds", form=Form.LENGTH, key="length", least=1),
    ]
    recurrence: Annotated[Recurrence, Says(text="how often")] = Recurrence.ONCE
    zone: Annotated[str, Says(text="time zone, such as Europe/Berlin", longest=60)] = "UTC"
    resources: Annotated[tuple[str, ...], Says(text="what it may congest; none: all")] = ()
    workloads: Annotated[tuple[str, ...], Says(text="who may be busy; none: anyone")] = ()

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderEntry:
    """How far Sluice may go with advice, and when; all rules hold together."""

    name: Name
    resource: Annotated[str, Says(text="advice on this one alone; left out: all", longest=509)] = (
        ""
    )
    tier: Annotated[Tier | None, Says(text="for workloads of this tier alone")] = None
    kind: Annotated[AdviceKind | None, Says(text="for advice of this kind alone")] = None
    level: Annotated[
        Level | None,
        Says(
            text="tell: nothing is approved; recommend: people approve; ask: one click approves; "
            "act: Sluice approves by itself what it can answer for"
        ),
    ] = None
    windows: Annotated[
        tuple[str, ...], Says(text="changes only then, such as Sat 22:00 6h; none: always")
    ] = ()
    zone: Annotated[str, Says(text="time zone of windows and freeze", longest=60)] = "UTC"
    frozen_from: Annotated[
        str, Says(text="no changes from then on, such as 2026-12-20T00:00, in the zone")
    ] = ""
    frozen_until: Annotated[str, Says(text="until then, in the zone")] = ""
    frozen_because: Annotated[str, Says(text="why changes are frozen", longest=2000)] = ""
    cooldown_s: Annotated[
        float | None,
        Says(
            text="between changes of a workload, such as 6h, or seconds",
            form=Form.LENGTH,
            key="cool_down",
            above=0,
        ),
    ] = None
    most_per_day: Annotated[int | None, Says(text="changes in 24 h", least=0)] = None
    second_person: Annotated[bool, Says(text="two people approve")] = False

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamEntry:
    """Who owns workloads; its members are people, whom no file names."""

    name: Name
    tags: Annotated[tuple[str, ...], Says(text="it owns each workload that has one of them")] = ()

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutEntry:
    """How policies come to hosts: in stages under guards."""

    staged: Annotated[bool, Says(text="false: to all hosts at once, unguarded")] = True
    stage_s: Annotated[
        float,
        Says(text="shortest stage, such as 10min", form=Form.LENGTH, key="stage", least=1),
    ] = 600.0
    longest_s: Annotated[
        float,
        Says(
            text="longest stage of which guards know too little",
            form=Form.LENGTH,
            key="longest",
            least=1,
        ),
    ] = 3600.0
    unsure: Annotated[
        Literal["waits", "goes-on"], Says(text="what happens after the longest stage")
    ] = "waits"
    settle_s: Annotated[
        float,
        Says(
            text="what is measured so shortly after a change scores no prediction",
            form=Form.LENGTH,
            key="settle",
            least=1,
        ),
    ] = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationEntry:
    """What is told by a channel; the channel is set on the server, for it holds a secret."""

    name: Name
    channel: Annotated[str, Says(text="name of the channel", longest=200)]
    least: Annotated[SeverityWord, Says(text="how grave it is at least")] = "congested"
    resources: Annotated[tuple[str, ...], Says(text="what of; none: all")] = ()
    teams: Annotated[
        tuple[str, ...], Says(text="what their workloads cause or suffer; none: whatever it is")
    ] = ()
    tags: Annotated[
        tuple[str, ...],
        Says(text="what workloads with one cause or suffer, such as label.app=shop"),
    ] = ()
    quiet: Annotated[
        tuple[str, ...], Says(text="told together at their end, such as Mon-Sun 22:00 9h")
    ] = ()
    zone: Annotated[str, Says(text="time zone of the quiet hours", longest=60)] = "UTC"
    grave_anyway: Annotated[
        bool, Says(text="a stall is told at once, in quiet hours and by a digest too")
    ] = True
    tells_end: Annotated[bool, Says(text="it is told too that it is over")] = True

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEntry:
    """A report that a channel of mail gets regularly; the channel is set on the server."""

    name: Name
    channel: Annotated[str, Says(text="name of a channel of mail", longest=200)]
    every: Annotated[
        Every,
        Says(text="daily: of the day before; weekly: on Mondays; monthly: on the first"),
    ]
    hour: Annotated[int, Says(text="at which it is sent, 0 to 23, in the zone", least=0)] = 7
    zone: Annotated[str, Says(text="time zone of the hour and of its days", longest=64)] = "UTC"
    team: Annotated[
        str, Says(text="of workloads that this team owns; left out: all", longest=200)
    ] = ""
    tag: Annotated[
        str, Says(text="of workloads with it, such as label.team=shop", longest=300)
    ] = ""

    @property
    def key(self) -> str:
        return self.name


Entry: TypeAlias = (
    ResourceEntry
    | WorkloadEntry
    | AllocationEntry
    | PoolEntry
    | MaintenanceEntry
    | LadderEntry
    | NotificationEntry
    | ReportEntry
    | TeamEntry
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """The desired state of one organisation; a section that is left out changes nothing."""

    version: Annotated[Literal[1], Says(text="version of the format", key="sluice")]
    rules: Annotated[
        str | None, Says(text="rules that give tiers and say which devices are one")
    ] = None
    alarm_budget: Annotated[
        float | Literal["none"] | None,
        Says(text="false alarms a week of all baselines together", least=0.01),
    ] = None
    rollouts: Annotated[RolloutEntry | None, Says(text="how policies come to hosts")] = None
    resources: Annotated[tuple[ResourceEntry, ...] | None, Says(text="datastores and uplinks")] = (
        None
    )
    workloads: Annotated[
        tuple[WorkloadEntry, ...] | None, Says(text="tiers and tags that people give")
    ] = None
    teams: Annotated[
        tuple[TeamEntry, ...] | None, Says(text="who owns workloads, by their tags")
    ] = None
    allocations: Annotated[
        tuple[AllocationEntry, ...] | None, Says(text="reservations, limits and shares")
    ] = None
    pools: Annotated[
        tuple[PoolEntry, ...] | None, Says(text="workloads of an uplink with terms together")
    ] = None
    maintenance: Annotated[
        tuple[MaintenanceEntry, ...] | None, Says(text="maintenance windows")
    ] = None
    ladder: Annotated[
        tuple[LadderEntry, ...] | None, Says(text="rules of when advice may be approved")
    ] = None
    notifications: Annotated[
        tuple[NotificationEntry, ...] | None, Says(text="rules of who is told of incidents")
    ] = None
    reports: Annotated[
        tuple[ReportEntry, ...] | None, Says(text="reports that are sent regularly by mail")
    ] = None


LISTED = (
    "resources", "workloads", "teams", "allocations", "pools", "maintenance", "ladder",
    "notifications", "reports",
)  # fmt: skip
"""The sections of entries."""
