"""From objects of the vSphere API to what they state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ingest.core.vcenter.inventory import (
    Congestion,
    Controls,
    Disk,
    Guest,
    Inventory,
    Nic,
    PlacementRule,
    Problem,
    RuleKind,
    ShareLevel,
    StorageCluster,
    Store,
    ThresholdMode,
    TrafficClass,
)
from ingest.core.vcenter.managed_object import (
    ManagedObject,
    flag,
    many,
    reference,
    text,
    type_name,
    unescaped,
    whole,
    within,
)

WANTED: Mapping[str, tuple[str, ...]] = {
    "HostSystem": ("name",),
    "Datastore": ("name", "iormConfiguration", "summary.capacity", "summary.url", "host"),
    "StoragePod": ("name", "childEntity", "podStorageDrsEntry.storageDrsConfig"),
    "DistributedVirtualSwitch": (
        "name", "config.infrastructureTrafficResourceConfig", "networkResourcePool",
    ),
    "VirtualMachine": (
        "name", "config.uuid", "config.template", "config.hardware.device", "runtime.host",
    ),
}  # fmt: skip
"""The properties of each kind of object that are read."""

_BUSES = (("NVME", "nvme"), ("AHCI", "sata"), ("SATA", "sata"), ("IDE", "ide"), ("SCSI", "scsi"),
          ("LsiLogic", "scsi"), ("BusLogic", "scsi"))  # fmt: skip
"""What samples call the disks of a controller, by a part of its type's name or of its label."""
_FIRST_KEYS = {200: "ide", 1000: "scsi", 15000: "sata", 31000: "nvme"}
"""The number that vSphere gives the first controller of each bus; there are at most four."""
_RAW = "RawDiskMapping"
_MBIT = 1_000_000.0
_UNLIMITED = -1
_SHARES = {ShareLevel.LOW: 500, ShareLevel.NORMAL: 1000, ShareLevel.HIGH: 2000}
"""Of a virtual disk with that level."""
_NETWORK_SHARES = {ShareLevel.LOW: 25, ShareLevel.NORMAL: 50, ShareLevel.HIGH: 100}
_SWITCH = re.compile(r"(Vmware)?DistributedVirtualSwitch")
_MODES = {one.value: one for one in ThresholdMode}
_RULE_KINDS = {"affinity": RuleKind.DISKS_TOGETHER, "antiAffinity": RuleKind.DISKS_APART}


class _Problems(list[Problem]):
    def note(self, what: str, why: str) -> None:
        self.append(Problem(what=what, why=why))


def read_inventory(objects: Iterable[ManagedObject]) -> Inventory:
    """What these objects state; nothing of them makes it fail."""
    ordered = list(objects)
    problems = _Problems()
    hosts = {one.moid: plain_name(one) for one in ordered if one.kind == "HostSystem"}
    guests = [
        one
        for one in ordered
        if one.kind == "VirtualMachine" and not flag(one.get("config.template"))
    ]
    for one in ordered:
        for path, fault in sorted(one.unreadable.items()):
            problems.note(plain_name(one), f"{path} cannot be read: {_permission(fault)}")
    return Inventory(
        guests=tuple(_guest(one, hosts, problems) for one in guests),
        stores=tuple(_store(one, hosts, problems) for one in ordered if one.kind == "Datastore"),
        clusters=tuple(_cluster(one, problems) for one in ordered if one.kind == "StoragePod"),
        traffic=tuple(
            traffic
            for one in ordered
            if _SWITCH.fullmatch(one.kind)
            for traffic in _traffic(one, problems)
        ),
        problems=tuple(problems),
    )


def _permission(fault: str) -> str:
    if fault in ("NoPermission", "NotAuthenticated"):
        return "the account has no permission; give it the role Read-only, with propagation"
    return fault


def plain_name(one: ManagedObject) -> str:
    """Its name as people write it, else its number."""
    return unescaped(text(one.get("name"))) or one.moid


def _guest(one: ManagedObject, hosts: Mapping[str, str], problems: _Problems) -> Guest:
    name = plain_name(one)
    devices = [device for device in many(one.get("config.hardware.device")) if device]
    if not devices and "config.hardware.device" not in one.unreadable:
        problems.note(name, "no devices are told of it, so none of its disks is known")
    buses = _buses(devices)
    disks = [_disk(device, buses, name, problems) for device in devices if _is_disk(device)]
    return Guest(
        moid=one.moid,
        name=name,
        uuid=text(one.get("config.uuid")) or None,
        host=hosts.get(reference(one.get("runtime.host"))[1]),
        disks=tuple(disk for disk in disks if disk is not None),
        nics=tuple(nic for device in devices if (nic := _nic(device, name, problems)) is not None),
        disk_count=len(disks),
        nic_count=sum(bool(text(within(device, "macAddress"))) for device in devices),
    )


def _buses(devices: Sequence[Any]) -> dict[int, str]:
    """What the disks of each controller are called, without their unit: `scsi0`."""
    found: dict[int, str] = {}
    for device in devices:
        key, number = whole(within(device, "key")), whole(within(device, "busNumber"))
        if key is not None and number is not None and (bus := _bus(device, key)) is not None:
            found[key] = f"{bus}{number}"
    return found


def _bus(device: Any, key: int) -> str | None:
    """The bus of a controller: of its type, else of its label, else of its number."""
    for told in (type_name(device), text(within(device, "deviceInfo", "label"))):
        for part, bus in _BUSES:
            if part.casefold() in told.casefold():
                return bus
    if whole(within(device, "scsiCtlrUnitNumber")) is not None:
        return "scsi"
    return next((bus for first, bus in _FIRST_KEYS.items() if first <= key < first + 4), None)


def _is_disk(device: Any) -> bool:
    """Whether it is a disk: exports do not tell types, and only disks have a capacity."""
    kind = type_name(device)
    return kind == "VirtualDisk" if kind else whole(within(device, "capacityInKB")) is not None


def _is_raw(backing: Any) -> bool:
    return _RAW in type_name(backing) or bool(text(within(backing, "compatibilityMode")))


def _disk(device: Any, buses: Mapping[int, str], guest: str, problems: _Problems) -> Disk | None:
    key = whole(within(device, "key"))
    label = text(within(device, "deviceInfo", "label"))
    bus = buses.get(whole(within(device, "controllerKey")) or 0)
    unit = whole(within(device, "unitNumber"))
    if key is None or bus is None or unit is None:
        problems.note(f"{label or 'a disk'} of {guest}", "its controller or unit is not told")
        return None
    instance = f"{bus}:{unit}"
    backing = within(device, "backing")
    size = whole(within(device, "capacityInBytes"))
    kib = whole(within(device, "capacityInKB"))
    allocation = within(device, "storageIOAllocation")
    return Disk(
        key=key,
        instance=instance,
        label=label or instance,
        datastore=reference(within(backing, "datastore"))[1],
        size_bytes=size or (kib * 1024 if kib else None),
        controls=_controls(
            within(allocation, "shares") or within(device, "shares"),
            allocation,
            of=f"{instance} of {guest}",
            defaults=_SHARES,
            problems=problems,
        ),
        is_raw=_is_raw(backing),
        filters=tuple(filter(None, map(text, many(within(device, "iofilter"))))),
    )


def _nic(device: Any, guest: str, problems: _Problems) -> Nic | None:
    allocation = within(device, "resourceAllocation")
    key = whole(within(device, "key"))
    if allocation is None or key is None:
        return None
    label = text(within(device, "deviceInfo", "label")) or str(key)
    controls = _controls(
        within(allocation, "share"),
        allocation,
        of=f"{label} of {guest}",
        defaults=_NETWORK_SHARES,
        problems=problems,
        unit=_MBIT,
    )
    return None if controls is None else Nic(key=key, label=label, controls=controls)


def _controls(
    shares: Any,
    allocation: Any,
    *,
    of: str,
    defaults: Mapping[ShareLevel, int],
    problems: _Problems,
    unit: float = 1.0,
) -> Controls | None:
    """None if one of them makes no sense: half of them would be something else than was stated."""
    level, number = text(within(shares, "level")) or "normal", whole(within(shares, "shares"))
    limit = whole(within(allocation, "limit"))
    reservation = whole(within(allocation, "reservation")) or 0
    if level not in list(ShareLevel):
        known = ", ".join(ShareLevel)
        problems.note(of, f'its level of shares is "{level[:40]}", which is none of {known}')
        return None
    if level == ShareLevel.CUSTOM and (number is None or number < 1):
        problems.note(of, "its shares are custom, and their number is not told")
        return None
    if reservation < 0 or (limit is not None and limit < 1 and limit != _UNLIMITED):
        problems.note(of, f"its limit {limit} or reservation {reservation} is no rate")
        return None
    kind = ShareLevel(level)
    ceiling = None if limit in (None, _UNLIMITED) else limit
    if ceiling is not None and ceiling < reservation:
        problems.note(of, f"its limit {ceiling} is below its reservation {reservation}")
        return None
    return Controls(
        level=kind,
        shares=number if number and number > 0 else defaults[kind],
        limit=None if ceiling is None else ceiling * unit,
        reservation=reservation * unit,
    )


def _store(one: ManagedObject, hosts: Mapping[str, str], problems: _Problems) -> Store:
    name = plain_name(one)
    volume = text(one.get("summary.url")).rstrip("/").rpartition("/")[2]
    mounted = (reference(within(mount, "key"))[1] for mount in many(one.get("host")))
    return Store(
        moid=one.moid,
        name=name,
        called=tuple(dict.fromkeys(filter(None, (name, volume, one.moid)))),
        hosts=tuple(sorted({hosts[moid] for moid in mounted if moid in hosts})),
        size_bytes=whole(one.get("summary.capacity")) or None,
        congestion=_congestion(one.get("iormConfiguration"), name, problems),
    )


def _congestion(value: Any, name: str, problems: _Problems) -> Congestion | None:
    enabled = flag(within(value, "enabled"))
    if enabled is None:
        return None
    mode = text(within(value, "congestionThresholdMode")) or ThresholdMode.MANUAL
    if mode not in _MODES:
        problems.note(name, f'the mode "{mode[:40]}" of its congestion threshold is not known')
        return None
    threshold_ms = whole(within(value, "congestionThreshold"))
    if enabled and mode == ThresholdMode.MANUAL and (threshold_ms is None or threshold_ms < 1):
        problems.note(name, "its congestion threshold is manual, and no number of milliseconds")
        return None
    return Congestion(
        enabled=enabled,
        mode=_MODES[mode],
        threshold_ms=threshold_ms,
        percent_of_peak=whole(within(value, "percentOfPeakThroughput")),
        collects_statistics=flag(within(value, "statsCollectionEnabled")) or False,
        reserves=flag(within(value, "reservationEnabled")) or False,
    )


_SETTINGS = (
    "enabled", "ioLoadBalanceEnabled", "defaultVmBehavior", "loadBalanceInterval",
    "spaceLoadBalanceConfig.spaceUtilizationThreshold",
    "spaceLoadBalanceConfig.freeSpaceThresholdGB",
    "spaceLoadBalanceConfig.minSpaceUtilizationDifference",
    "ioLoadBalanceConfig.ioLatencyThreshold",
    "ioLoadBalanceConfig.ioLoadImbalanceThreshold",
    "ioLoadBalanceConfig.reservableIopsThreshold",
)  # fmt: skip


def _cluster(one: ManagedObject, problems: _Problems) -> StorageCluster:
    name = plain_name(one)
    config = one.get("podStorageDrsEntry.storageDrsConfig")
    pod = within(config, "podConfig")
    settings: dict[str, int | bool | str] = {}
    for path in _SETTINGS:
        value = _plain(within(pod, *path.split(".")))
        if value is not None:
            settings[path] = value
    rules = [_guests_apart(rule, name, problems) for rule in many(within(pod, "rule"))]
    exceptions: dict[str, bool] = {}
    for guest in many(within(config, "vmConfig")):
        moid = reference(within(guest, "vm"))[1]
        together = flag(within(guest, "intraVmAffinity"))
        if moid and together is not None:
            exceptions[moid] = together
        rules.extend(_of_disks(guest, moid, name, problems))
    return StorageCluster(
        moid=one.moid,
        name=name,
        datastores=tuple(
            moid
            for kind, moid in map(reference, many(one.get("childEntity")))
            if kind == "Datastore"
        ),
        settings=settings,
        rules=tuple(rule for rule in rules if rule is not None),
        keeps_together=flag(within(pod, "defaultIntraVmAffinity")) or False,
        exceptions=exceptions,
    )


def _plain(value: Any) -> int | bool | str | None:
    for read in (flag, whole):
        found = read(value) if not (read is flag and value in ("0", "1")) else None
        if found is not None:
            return found
    return text(value) or None


def _guests_apart(rule: Any, cluster: str, problems: _Problems) -> PlacementRule | None:
    name = text(within(rule, "name")) or "a rule"
    members = tuple((moid, None) for _, moid in map(reference, many(within(rule, "vm"))) if moid)
    # An export does not tell the type; Storage DRS has no rule that keeps VMs together.
    if type_name(rule) not in ("", "ClusterAntiAffinityRuleSpec") or len(members) < 2:
        problems.note(f"{name} of {cluster}", "it is no rule that keeps two VMs or more apart")
        return None
    return _rule(rule, cluster, RuleKind.GUESTS_APART, members)


def _of_disks(guest: Any, moid: str, cluster: str, problems: _Problems) -> Iterable[PlacementRule]:
    """The rules for disks of one VM: one of the older form, any number of the newer."""
    apart = within(guest, "intraVmAntiAffinity")
    rules = [(apart, RuleKind.DISKS_APART)] if apart else []
    for rule in many(within(guest, "virtualDiskRules")):
        kind = text(within(rule, "diskRuleType"))
        if kind in _RULE_KINDS:
            rules.append((rule, _RULE_KINDS[kind]))
        elif kind != "disabled":
            problems.note(f"{text(within(rule, 'name'))} of {cluster}", f'"{kind}" is no kind')
    for rule, found in rules:
        keys = [key for one in many(within(rule, "diskId")) if (key := whole(one)) is not None]
        if moid and len(keys) > 1:
            yield _rule(rule, cluster, found, tuple((moid, key) for key in keys))


def _rule(
    rule: Any, cluster: str, kind: RuleKind, members: tuple[tuple[str, int | None], ...]
) -> PlacementRule:
    return PlacementRule(
        cluster=cluster,
        name=text(within(rule, "name")),
        kind=kind,
        enabled=flag(within(rule, "enabled")) is not False,
        members=members,
    )


def _traffic(one: ManagedObject, problems: _Problems) -> Iterable[TrafficClass]:
    """The classes of the switch; with version 2 of NetIOC they are resource pools."""
    switch = plain_name(one)
    newer = many(one.get("config.infrastructureTrafficResourceConfig"))
    for value in newer or many(one.get("networkResourcePool")):
        name = text(within(value, "name")) or text(within(value, "key"))
        allocation = within(value, "allocationInfo")
        controls = _controls(
            within(allocation, "shares"),
            allocation,
            of=f"traffic {name} of {switch}",
            defaults=_NETWORK_SHARES,
            problems=problems,
            unit=_MBIT,
        )
        if controls is not None:
            yield TrafficClass(switch=switch, name=name, controls=controls)
