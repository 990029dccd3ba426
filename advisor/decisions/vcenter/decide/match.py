"""Which of our resources, workloads and allocations those of a vCenter are.

Nothing is matched by likeness. A datastore is the resource that its hosts reach under its name,
else the one of its name. A virtual machine is the workload of its UUID, else of its number, else
of its name where both sides have that once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from advisor.decisions.vcenter.decide.proposal import (
    Present,
    PresentAllocation,
    PresentResource,
    PresentWorkload,
)
from ingest.core.identity.identifiers import read_uuid
from ingest.core.vcenter.inventory import Guest, Inventory, Store

_DATASTORE, _VNIC = "datastore", "vnic"
Found = TypeVar("Found", PresentResource, PresentWorkload, PresentAllocation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match(Generic[Found]):
    """What was found, or None with the reason."""

    found: Found | None = None
    gap: str = ""


class Matches:
    """The counterparts of one inventory; nothing here is that of two things there."""

    def __init__(self, inventory: Inventory, present: Present) -> None:
        self._hosts = {host for store in inventory.stores for host in store.hosts}
        self._hosts |= {guest.host for guest in inventory.guests if guest.host}
        self.resources = {one.pk: one for one in present.resources}
        self._rows: dict[int, list[PresentAllocation]] = defaultdict(list)
        for row in present.allocations:
            self._rows[row.workload].append(row)
        self.stores = _once(
            {one.moid: self._store(one, inventory, present) for one in inventory.stores},
            "another datastore of the vCenter is it as well",
        )
        self.guests = _once(
            _Guests(inventory, present, self._numbered(present)).all(),
            "another virtual machine of the vCenter is it as well",
        )

    def _numbered(self, present: Present) -> dict[str, set[int]]:
        """The workloads by their number in the vCenter, on its hosts."""
        found: dict[str, set[int]] = defaultdict(set)
        for row in present.allocations:
            if row.adapter.startswith("vm/") and row.host in self._hosts:
                found[row.adapter.removeprefix("vm/")].add(row.workload)
        return found

    def _store(
        self, store: Store, inventory: Inventory, present: Present
    ) -> Match[PresentResource]:
        device = f"{_DATASTORE}/{store.name}"
        kinds = [one for one in present.resources if one.kind == _DATASTORE]
        own = {(host, f"{_DATASTORE}/{name}") for host in store.hosts for name in store.called}
        reached = [one for one in kinds if one.places & own]
        alone = sum(one.name == store.name for one in inventory.stores) == 1
        if not reached and alone:
            reached = [one for one in kinds if any(seen == device for _, seen in one.places)] or [
                one for one in kinds if one.name == store.name
            ]
        if len(reached) == 1:
            return Match(found=reached[0])
        if reached:
            names = " and ".join(sorted(one.name for one in reached)[:2])
            return Match(gap=f"several resources are it, {names} among them")
        return Match(gap="no samples of its datastore are here")

    def disk(
        self, guest: Guest, workload: PresentWorkload, resource: PresentResource, instance: str
    ) -> Match[PresentAllocation]:
        """The allocation of a virtual disk."""
        rows = [one for one in self._rows[workload.pk] if one.resource == resource.pk]
        named = [one for one in rows if one.vdisk == instance]
        if not named and guest.disk_count == 1:
            named = [one for one in rows if not one.vdisk]
        if not named:
            return Match(gap="no samples of the disk are here")
        return _of_host(named, guest.host)

    def is_measured(
        self, guest: Guest, workload: PresentWorkload, resource: PresentResource
    ) -> bool:
        """Whether samples count its disks by its number, on a host that reaches the datastore."""
        by_number = any(key.endswith(f"/vm/{guest.moid}") for key in workload.keys)
        return by_number and is_there(guest.host, workload, resource)

    def nic(self, guest: Guest, workload: PresentWorkload, key: int) -> Match[PresentAllocation]:
        """The allocation of a network adapter on an uplink."""
        rows = [one for one in self._rows[workload.pk] if one.adapter_kind == _VNIC]
        named = [one for one in rows if one.adapter.rpartition("/")[2] == str(key)]
        if not named and guest.nic_count == 1:
            named = rows
        if not named:
            return Match(gap="it is not known by which uplink it sends")
        return _of_host(named, guest.host)


def is_there(host: str | None, workload: PresentWorkload, resource: PresentResource) -> bool:
    """Whether the workload is seen on a host that reaches the resource."""
    return host in workload.hosts and host in {name for name, _ in resource.places}


def _of_host(rows: Sequence[PresentAllocation], host: str | None) -> Match[PresentAllocation]:
    """The one on the host of the VM, else the only one that is still there."""
    for wanted in (
        [one for one in rows if one.host == host],
        [one for one in rows if not one.is_gone],
        rows,
    ):
        if len(wanted) == 1:
            return Match(found=wanted[0])
    return Match(gap="it is seen on several hosts, and the vCenter does not say on which it is")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keyed:
    """Workloads by what they are known by."""

    by_uuid: dict[str, list[PresentWorkload]] = field(default_factory=lambda: defaultdict(list))
    by_name: dict[str, list[PresentWorkload]] = field(default_factory=lambda: defaultdict(list))


class _Guests:
    """Finds the workloads of virtual machines."""

    def __init__(
        self, inventory: Inventory, present: Present, numbered: dict[str, set[int]]
    ) -> None:
        self._guests = inventory.guests
        self._workloads = {one.pk: one for one in present.workloads}
        self._numbered = numbered
        self._names = Counter(one.name.casefold() for one in inventory.guests)
        self._uuids = Counter(_uuid(one) for one in inventory.guests)
        self._known = _Keyed()
        for one in present.workloads:
            self._known.by_name[one.name.casefold()].append(one)
            for uuid in _own_uuids(one):
                self._known.by_uuid[uuid].append(one)

    def all(self) -> dict[str, Match[PresentWorkload]]:
        return {one.moid: self._match(one) for one in self._guests}

    def _match(self, guest: Guest) -> Match[PresentWorkload]:
        for find in (self._of_uuid, self._of_number, self._of_name):
            found = find(guest)
            if len(found) == 1:
                return Match(found=found[0])
            if found:
                names = " and ".join(sorted(one.name for one in found)[:2])
                return Match(gap=f"several workloads are it, {names} among them")
        return Match(gap="no samples of it are here")

    def _of_uuid(self, guest: Guest) -> list[PresentWorkload]:
        uuid = _uuid(guest)
        found = self._known.by_uuid.get(uuid, []) if uuid else []
        if len(found) > 1 or self._uuids[uuid] > 1:
            # A copy has the UUID of its original, and a name of its own.
            found = [one for one in found if one.name.casefold() == guest.name.casefold()]
        return found

    def _of_number(self, guest: Guest) -> list[PresentWorkload]:
        found = [self._workloads[pk] for pk in sorted(self._numbered.get(guest.moid, ()))]
        return [one for one in found if self._may_be(guest, one)]

    def _of_name(self, guest: Guest) -> list[PresentWorkload]:
        name = guest.name.casefold()
        if self._names[name] > 1:
            return []
        return [one for one in self._known.by_name.get(name, []) if self._may_be(guest, one)]

    def _may_be(self, guest: Guest, one: PresentWorkload) -> bool:
        """Whether nothing says that it is another: its UUID."""
        own, uuid = _own_uuids(one), _uuid(guest)
        return uuid is None or not own or uuid in own


def _uuid(guest: Guest) -> str | None:
    return read_uuid(guest.uuid or "")


def _own_uuids(one: PresentWorkload) -> set[str]:
    uuids = (key.removeprefix("uuid:") for key in one.keys if key.startswith("uuid:"))
    return {uuid.partition("@")[0] for uuid in uuids}


def _once(matches: Mapping[str, Match[Found]], gap: str) -> dict[str, Match[Found]]:
    """Without those that are of several."""
    counted = Counter(one.found.pk for one in matches.values() if one.found is not None)
    return {
        key: one if one.found is None or counted[one.found.pk] == 1 else Match(gap=gap)
        for key, one in matches.items()
    }
