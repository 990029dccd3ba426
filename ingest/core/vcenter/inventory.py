"""What a vCenter states of shares, limits, reservations, thresholds and rules.

Rates of disks are in IOPS, those of networks in bit/s. What cannot be understood is named in
`problems`; the rest is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class ShareLevel(StrEnum):
    """The levels of `SharesInfo`."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    CUSTOM = "custom"


class ThresholdMode(StrEnum):
    """Where Storage I/O Control takes its congestion threshold from."""

    MANUAL = "manual"
    AUTOMATIC = "automatic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """Shares, limit and reservation; `limit` None is unlimited."""

    level: ShareLevel
    shares: int
    limit: float | None
    reservation: float

    @property
    def is_default(self) -> bool:
        """Whether nobody set anything."""
        return self.level is ShareLevel.NORMAL and self.limit is None and self.reservation == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A virtual disk; `instance` is what samples call it, such as `scsi0:0`, `key` its number.

    `controls` None could not be understood. A raw disk is mapped to a LUN. `filters` are its I/O
    filters.
    """

    key: int
    instance: str
    label: str
    datastore: str
    size_bytes: int | None
    controls: Controls | None
    is_raw: bool
    filters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """A network adapter with an allocation of its own."""

    key: int
    label: str
    controls: Controls


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A virtual machine; `host` is the name of the ESXi host that it is on, None if not told.

    `disk_count` and `nic_count` are those that it has, also those of which nothing can be read or
    nothing is stated.
    """

    moid: str
    name: str
    uuid: str | None
    host: str | None
    disks: tuple[Disk, ...]
    nics: tuple[Nic, ...]
    disk_count: int
    nic_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Congestion:
    """Storage I/O Control of a datastore; `percent_of_peak` counts in the mode automatic."""

    enabled: bool
    mode: ThresholdMode
    threshold_ms: int | None
    percent_of_peak: int | None
    collects_statistics: bool
    reserves: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A datastore; `hosts` are the names of those that mount it, as far as they are told.

    `called` is what samples may call it: its name, the last part of its URL, or its number.
    """

    moid: str
    name: str
    called: tuple[str, ...]
    hosts: tuple[str, ...]
    size_bytes: int | None
    congestion: Congestion | None


class RuleKind(StrEnum):
    """What a rule of Storage DRS asks for."""

    DISKS_TOGETHER = "disks_together"
    DISKS_APART = "disks_apart"
    GUESTS_APART = "guests_apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRule:
    """A rule of a datastore cluster; `members` are (VM, key of the disk, None for all)."""

    cluster: str
    name: str
    kind: RuleKind
    enabled: bool
    members: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageCluster:
    """A datastore cluster with its settings by their name in the API, those that are told."""

    moid: str
    name: str
    datastores: tuple[str, ...]
    settings: Mapping[str, int | bool | str]
    rules: tuple[PlacementRule, ...]
    keeps_together: bool
    exceptions: Mapping[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficClass:
    """A class of traffic, or a network resource pool, of a distributed switch."""

    switch: str
    name: str
    controls: Controls


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What could not be read or understood."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All that was read but for templates, each in the order of its number."""

    guests: tuple[Guest, ...]
    stores: tuple[Store, ...]
    clusters: tuple[StorageCluster, ...]
    traffic: tuple[TrafficClass, ...]
    problems: tuple[Problem, ...]
