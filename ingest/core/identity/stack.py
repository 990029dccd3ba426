"""The block devices of one host: whole disks, their layers, and what is no disk.

A layer (partition, logical volume, encryption, RAID, path of a multipath device) counts the I/O of
its disks again, so only the disks count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ingest.core.identity.device_names import LVM_PART, NVME_PATH, PARTITION, layer_by_name
from ingest.core.identity.facts import Facts, Kind, Place
from ingest.core.identity.identifiers import is_naa, read_wwn

_NO_DISKS = (
    (re.compile(r"loop\d+"), "loop", "a loop device shows a file, and its disk counts the I/O"),
    (re.compile(r"z?ram\d+"), "ram", "it is memory"),
    (re.compile(r"(sr|scd|fd)\d+"), "removable", "it holds removable media"),
    (re.compile(r"nbd\d+"), "nbd", "no server is connected to it"),
)
_UUID_LAYERS = (
    ("mpath-", "multipath"),
    ("LVM-", "lvm"),
    ("CRYPT-", "luks"),
    ("part", "partition"),
)
"""How the kernel's name of a dm device begins."""

_ESXI_DATASTORE = "datastore/"
"""ESXi counts the I/O of a datastore, and again that of the LUNs on which it lies."""

_WORDS = {
    "partition": "a partition of {}",
    "lvm": "a logical volume on {}",
    "luks": "an encrypted layer of {}",
    "md": "a RAID device over {}",
    "path": "a path to {}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A whole disk of a host.

    `measured` are the devices that send samples and count its I/O once: the disk itself, or its
    paths or partitions where only those send.
    """

    place: Place
    paths: tuple[str, ...]
    measured: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A device whose I/O its disks count too; `disks` is empty where they are not known."""

    place: Place
    disks: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The devices of one host; `left_out` says why a device is none that counts."""

    disks: tuple[Disk, ...]
    layers: tuple[Layer, ...]
    left_out: tuple[tuple[Place, str], ...]


def stacks_of(facts: Facts) -> dict[str, Stack]:
    """The devices of every host that has any."""
    devices: dict[str, list[str]] = {}
    for place in facts.places(Kind.DEVICE):
        devices.setdefault(place.host, []).append(place.subject)
    return {host: _Host(host, names, facts).stack() for host, names in devices.items()}


class _Host:
    """The devices of one host, on the way to its stack."""

    def __init__(self, host: str, names: Iterable[str], facts: Facts) -> None:
        self.facts = facts
        self.host = host
        self.names = self._with_named_parents(names)
        self.known = frozenset(self.names)
        self.lvm_parts = self._lvm_parts()
        self.has_datastores = any(name.startswith(_ESXI_DATASTORE) for name in self.names)
        self.kinds = {name: self._kind(name) for name in self.names}
        self.parents = {name: self._parents(name) for name in self.names}
        self.paths = {
            path: name
            for name in self.names
            if self.kinds[name] == "multipath"
            for path in self.parents[name]
        } | {name: whole for name in self.names if (whole := self._nvme_whole(name))}

    def stack(self) -> Stack:
        bottoms = {name: self._bottoms(name) for name in self.names}
        left_out = {
            name: why
            for name in self.names
            if (why := self._why_none(name, bottoms[name])) is not None
        }
        disks = {
            name
            for name in self.names
            if name not in left_out and bottoms[name] == (name,) and not self._is_layer(name)
        }
        if not disks:
            # All that is seen of the disks are these layers, the lowest of them count.
            disks = {n for n in self.names if n not in left_out and bottoms[n] == (n,)}
        layers = tuple(
            self._layer(name, tuple(d for d in bottoms[name] if d in disks))
            for name in self.names
            if name not in disks and name not in left_out
        )
        return Stack(
            disks=tuple(self._disk(name, layers) for name in sorted(disks)),
            layers=layers,
            left_out=tuple((self._place(name), why) for name, why in sorted(left_out.items())),
        )

    def _place(self, name: str) -> Place:
        return Place(self.host, Kind.DEVICE, name)

    def _with_named_parents(self, names: Iterable[str]) -> list[str]:
        """The devices that send or have facts, and those that facts name as parents."""
        parents = [
            parent for name in names for parent in self.facts.values(self._place(name), "parent")
        ]
        return sorted({*names, *parents} - {""})

    def _kind(self, name: str) -> str:
        """The kind of a layer; empty for a whole disk."""
        stated = self.facts.values(self._place(name), "layer")
        for kind in stated:
            if kind != "dm":
                return kind
        uuid = self.facts.value(self._place(name), "uuid") or ""
        if name.startswith("dm-"):
            for beginning, kind in _UUID_LAYERS:
                if uuid.startswith(beginning):
                    return kind
        for pattern, kind, _ in _NO_DISKS:
            if pattern.fullmatch(name):
                return kind
        if self._whole_of(name) is not None:
            return "partition"
        return layer_by_name(name) or ("dm" if "dm" in stated else "")

    def _whole_of(self, name: str) -> str | None:
        """The disk of which this is a partition by its name, if that is seen."""
        found = PARTITION.fullmatch(name)
        whole = next((one for one in found.groups() if one), None) if found else None
        return whole if whole in self.known else None

    def _lvm_parts(self) -> dict[str, list[str]]:
        """The parts of each logical volume that is seen, by their names."""
        found: dict[str, list[str]] = {}
        for name in self.names:
            part = LVM_PART.fullmatch(name)
            if part and part[1] in self.known:
                found.setdefault(part[1], []).append(name)
        return found

    def _nvme_whole(self, name: str) -> str | None:
        found = NVME_PATH.fullmatch(name)
        whole = f"nvme{found[1]}n{found[2]}" if found else None
        return whole if whole in self.known else None

    def _parents(self, name: str) -> tuple[str, ...]:
        stated = set(self.facts.values(self._place(name), "parent"))
        whole = self._whole_of(name)
        if not stated and whole:
            stated = {whole}
        if not stated:
            stated = set(self.lvm_parts.get(name, ()))
        if not stated and self.kinds[name] == "multipath":
            stated = self._same_wwn(name)
        return tuple(sorted(stated - {name, ""}))

    def _same_wwn(self, name: str) -> set[str]:
        """The devices of the host with the WWN of a multipath device."""
        wwn = wwn_of(self.facts, self._place(name))
        return {one for one in self.names if wwn and wwn_of(self.facts, self._place(one)) == wwn}

    def _is_layer(self, name: str) -> bool:
        return self.kinds[name] not in ("", "multipath", "rbd", "nbd")

    def _bottoms(self, name: str) -> tuple[str, ...]:
        """The lowest devices below this one, itself if there are none; sorted."""
        found: set[str] = set()
        waiting, visited = [name], set()
        while waiting:
            one = waiting.pop()
            one = self.paths.get(one, one)
            if one in visited:
                continue
            visited.add(one)
            below = () if self.kinds[one] == "multipath" else self.parents[one]
            waiting.extend(below)
            if not below:
                found.add(one)
        # Devices that name each other as parents have no lowest one: the first stands for all.
        return tuple(sorted(found)) or (min(visited),)

    def _why_none(self, name: str, bottoms: tuple[str, ...]) -> str | None:
        reasons = []
        for bottom in bottoms:
            why = self._why_no_disk(bottom)
            if why is None:
                return None
            reasons.append(why if bottom == name else f"it lies on {bottom}: {why}")
        return reasons[0]

    def _why_no_disk(self, name: str) -> str | None:
        if self.has_datastores and not name.startswith(_ESXI_DATASTORE):
            return "the datastores of this host count its I/O"
        size = self.facts.value(self._place(name), "size_bytes")
        if size is not None and size.strip("0") == "":
            return "its size is 0"
        for _, kind, why in _NO_DISKS:
            if self.kinds[name] == kind and not (kind == "nbd" and size is not None):
                return why
        return None

    def _layer(self, name: str, disks: tuple[str, ...]) -> Layer:
        kind = "path" if name in self.paths else self.kinds[name]
        if not disks:
            reason = "a layer of disks that are not known; each disk counts its own I/O"
        else:
            words = _WORDS.get(kind, "a layer of {}").format(" and ".join(disks))
            counts = "which counts its I/O" if len(disks) == 1 else "which count its I/O"
            reason = f"{words}, {counts}"
        return Layer(place=self._place(name), disks=disks, reason=reason)

    def _disk(self, name: str, layers: tuple[Layer, ...]) -> Disk:
        paths = tuple(sorted(path for path, whole in self.paths.items() if whole == name))
        return Disk(
            place=self._place(name), paths=paths, measured=self._measured(name, paths, layers)
        )

    def _measured(
        self, name: str, paths: tuple[str, ...], layers: tuple[Layer, ...]
    ) -> tuple[str, ...]:
        if self._sends(name):
            return (name,)
        if any(self._sends(path) for path in paths):
            return tuple(path for path in paths if self._sends(path))
        # The lowest layers that send: those above them count the same I/O again.
        alone = [one.place.subject for one in layers if one.disks == (name,)]
        sending = [one for one in alone if self._sends(one)]
        return tuple(one for one in sending if not self._below(one) & set(sending))

    def _sends(self, name: str) -> bool:
        return self.facts.is_seen(self._place(name))

    def _below(self, name: str) -> set[str]:
        """All devices below this one."""
        found: set[str] = set()
        waiting = list(self.parents[name])
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting.extend(self.parents[one])
        return found - {name}


def wwn_of(facts: Facts, place: Place) -> str | None:
    """The WWN that a device states, or that the kernel's name of a dm device holds."""
    stated = {wwn for text in facts.values(place, "wwn") if (wwn := read_wwn(text))}
    if not stated:
        # What udev calls a serial number is the WWN of a SCSI disk, after the digit 3.
        texts = (*facts.values(place, "serial"), *_multipath_uuids(facts, place))
        stated = {wwn for text in texts if (wwn := read_wwn(text)) and is_naa(wwn)}
    return min(stated) if len(stated) == 1 else None


def _multipath_uuids(facts: Facts, place: Place) -> list[str]:
    return [one for one in facts.values(place, "uuid") if one.startswith("mpath-")]


def disks_by_device(stack: Stack) -> Mapping[str, tuple[str, ...]]:
    """The disks of every device of the host at once."""
    own = {disk.place.subject: (disk.place.subject,) for disk in stack.disks}
    paths = {path: (disk.place.subject,) for disk in stack.disks for path in disk.paths}
    return {layer.place.subject: layer.disks for layer in stack.layers} | paths | own
