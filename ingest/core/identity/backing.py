"""On which datastore a workload's disk lies, and by which counters its I/O there is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ingest.core.identity.datastores import FoundDatastore, FoundStorage
from ingest.core.identity.exports import read_path
from ingest.core.identity.facts import Facts, Kind, Place
from ingest.core.identity.stack import disks_by_device
from ingest.core.identity.workloads import FoundWorkload


class Meter(StrEnum):
    """What counts a workload's I/O on a datastore."""

    CGROUP = "cgroup"
    VDISK = "vdisk"
    MOUNT = "mount"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Use:
    """A workload uses a datastore on a host: the counters are those of `adapter` there.

    `adapter` is a cgroup's path, a guest's key or a mount; `instance` is the virtual disk.
    """

    host: str
    meter: Meter
    adapter: str
    instance: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Which counters there are: the device numbers of each cgroup, and those of each device.

    `cgroups` are by (host, path), `numbers` by (host, device), `guests` has (host, key, instance)
    of virtual disks.
    """

    cgroups: Mapping[tuple[str, str], frozenset[str]]
    numbers: Mapping[tuple[str, str], str]
    guests: frozenset[tuple[str, str, str]]


class Backing:
    """Finds the datastores of workloads, of one moment."""

    def __init__(self, facts: Facts, storage: FoundStorage, counted: Counted) -> None:
        self._counted = counted
        self._by_place = storage.by_place()
        self._disks = {host: disks_by_device(stack) for host, stack in storage.stacks.items()}
        self._mounts = _mount_points(facts)
        self._exports = _exports(facts)
        self._instances: dict[tuple[str, str], list[str]] = {}
        for host, key, instance in sorted(counted.guests):
            self._instances.setdefault((host, key), []).append(instance)
        self._of_host: dict[str, set[tuple[str, ...]]] = {}
        self._measured: dict[str, list[tuple[str, FoundDatastore]]] = {}
        for one in storage.datastores:
            for place in one.measured:
                self._of_host.setdefault(place.host, set()).add(one.keys)
                if place.kind == Kind.DEVICE:
                    self._measured.setdefault(place.host, []).append((place.subject, one))

    def uses(self, workload: FoundWorkload) -> list[tuple[FoundDatastore, Use]]:
        """The datastores that a workload uses, each by one meter on each host.

        A cgroup counts what its host's devices do; a virtual disk counts where they do not.
        """
        by_cgroup = [
            (one, Use(host=host, meter=Meter.CGROUP, adapter=path))
            for host, path in workload.cgroups
            for one in self._of_cgroup(host, path)
        ]
        known = {(one.keys, use.host) for one, use in by_cgroup}
        by_disk = [
            (one, use)
            for one, use in self._of_disks(workload)
            if (one.keys, use.host) not in known
        ]
        return by_cgroup + by_disk

    def _of_cgroup(self, host: str, path: str) -> list[FoundDatastore]:
        """The datastores on whose device the cgroup does I/O."""
        numbers = self._counted.cgroups.get((host, path), frozenset())
        measured = self._measured.get(host, [])
        found = [
            one for device, one in measured if self._counted.numbers.get((host, device)) in numbers
        ]
        # Without numbers of devices there is one way to know: a host with one disk alone.
        untold = not any((host, device) in self._counted.numbers for device, _ in measured)
        return [measured[0][1]] if untold and len(measured) == 1 and numbers else found

    def _of_disks(self, workload: FoundWorkload) -> list[tuple[FoundDatastore, Use]]:
        keys = [p for p in workload.places if p.kind == Kind.WORKLOAD]
        told = {(host, instance) for host, instance, _ in workload.disks}
        found = [
            (self._measured[place.host][0][1], self._use(place, instance))
            for place in keys
            if self._has_one_datastore(place.host)
            for instance in self._instances.get((place.host, place.subject), ())
            if (place.host, instance) not in told
        ]
        for place in keys:
            for host, instance, backing in workload.disks:
                counted = (host, place.subject, instance) in self._counted.guests
                if host != place.host or not counted:
                    continue
                one = self.datastore_of(host, backing)
                if one is not None:
                    found.append((one, self._use(place, instance)))
        return found

    def _use(self, place: Place, instance: str) -> Use:
        return Use(host=place.host, meter=Meter.VDISK, adapter=place.subject, instance=instance)

    def _has_one_datastore(self, host: str) -> bool:
        """Where there is no other, a disk of which nothing is told lies on it."""
        return len(self._of_host.get(host, ())) == 1 and len(self._measured.get(host, ())) == 1

    def datastore_of(self, host: str, backing: str) -> FoundDatastore | None:
        """The datastore of a device, a path, `server:/export/file` or `pool/image`."""
        device = backing.removeprefix("/dev/").removeprefix("mapper/")
        disks = self._disks.get(host, {}).get(device)
        if disks is None and backing.startswith("/"):
            return self._of_path(host, backing)
        if disks is None:
            return self._of_export(host, backing) or self._of_image(host, backing)
        # A volume over several disks lies on none of them alone.
        return self._at(host, disks[0]) if len(disks) == 1 else None

    def _at(self, host: str, device: str) -> FoundDatastore | None:
        return self._by_place.get(Place(host, Kind.DEVICE, device))

    def _of_path(self, host: str, path: str) -> FoundDatastore | None:
        points = [
            (point, place)
            for point, place in self._mounts.get(host, ())
            if path == point or path.startswith(point.rstrip("/") + "/")
        ]
        place = max(points, key=lambda one: len(one[0]), default=("", None))[1]
        return self._by_place.get(place) if place is not None else None

    def _of_export(self, host: str, backing: str) -> FoundDatastore | None:
        if ":/" not in backing:
            return None
        exports = [
            (export, place)
            for export, place in self._exports.get(host, ())
            if backing == export or backing.startswith(export.rstrip("/") + "/")
        ]
        place = max(exports, key=lambda one: len(one[0]), default=("", None))[1]
        return self._by_place.get(place) if place is not None else None

    def _of_image(self, host: str, backing: str) -> FoundDatastore | None:
        """An RBD image that the host has as a device."""
        image = backing.removeprefix("rbd:").partition(":")[0]
        return next(
            (
                one
                for _, one in self._measured.get(host, ())
                if any(key.startswith("rbd:") and key.endswith(f"/{image}") for key in one.keys)
            ),
            None,
        )


def _mount_points(facts: Facts) -> dict[str, list[tuple[str, Place]]]:
    """Where each mount of each host is in its tree."""
    found: dict[str, list[tuple[str, Place]]] = {}
    for place in facts.places(Kind.MOUNT):
        points = [*facts.values(place, "mountpoint"), place.subject]
        for point in points:
            if point.startswith("/"):
                found.setdefault(place.host, []).append((point, place))
    return found


def _exports(facts: Facts) -> dict[str, list[tuple[str, Place]]]:
    """What each mount of each host is of, as `server:/path`."""
    found: dict[str, list[tuple[str, Place]]] = {}
    for place in facts.places(Kind.MOUNT):
        server, export = facts.value(place, "server"), facts.value(place, "export") or ""
        whole = f"{server}:{read_path(export)}" if server and export.startswith("/") else export
        found.setdefault(place.host, []).append((whole, place))
    return found


def mount_clients(storage: FoundStorage) -> Sequence[tuple[FoundDatastore, Place]]:
    """Each host as the client of the exports that it mounts."""
    return [
        (one, place)
        for one in storage.datastores
        for place in one.measured
        if place.kind == Kind.MOUNT
    ]
