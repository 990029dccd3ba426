"""Whole disks that are one over all hosts, by what the hardware says of itself.

Rules, the strongest first. A rule unites disks with the same identifier; what contradicts
it (another identifier, size, model, a bus that one machine alone reaches) refuses the merge, with
the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ingest.core.identity.facts import Facts, Kind, Place
from ingest.core.identity.grouping import NOTHING_STATED, Grouping, Stated, by_key, differing
from ingest.core.identity.identifiers import (
    read_wwn,
    same_spelling,
    why_no_serial,
    why_no_wwn,
)
from ingest.core.identity.stack import Disk, wwn_of

LOCAL_BUSES = frozenset(
    {"sata", "ata", "ide", "pata", "nvme", "pcie", "usb", "mmc", "sdio", "ieee1394", "apple"}
)
"""Only one machine reaches a disk on these."""
NETWORKS = frozenset(
    {"fc", "fcoe", "iscsi", "iser", "srp", "tcp", "rdma", "nvme-fc", "nvme-tcp", "nvme-rdma"}
)
"""Machines share disks on these."""
_MODEL_LETTERS = 16
"""SCSI cuts a model's name there, and other collectors do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFacts:
    """What is known of one disk of one host; None is unknown.

    `sizes` are all that were stated. `serial` is (vendor, model, serial number). `fake` says why
    an identifier that the disk states tells nothing.
    """

    place: Place
    machine: str
    cluster: str | None
    disk: Disk
    wwn: str | None
    nguid: str | None
    serial: tuple[str, str, str] | None
    rbd: str | None
    ceph: str | None
    vmfs: str | None
    named: str | None
    iscsi: str | None
    sizes: frozenset[str]
    model: str | None
    vendor: str | None
    local: str | None
    networked: bool
    fake: tuple[tuple[str, str], ...]


def disk_facts(facts: Facts, disk: Disk, *, machine: str) -> DiskFacts:
    """What is known of a disk by itself and by its paths."""
    about = _About(facts, disk)
    wwn, nguid, fake = about.numbers()
    model, vendor = about.plain("model"), about.plain("vendor")
    buses = {text.strip().lower() for text in about.texts("transport")}
    return DiskFacts(
        place=disk.place,
        machine=machine,
        cluster=facts.value(Place(disk.place.host, Kind.HOST, ""), "cluster"),
        disk=disk,
        wwn=wwn,
        nguid=nguid,
        serial=about.serial(vendor, model, fake),
        rbd=about.only("rbd"),
        ceph=about.only("ceph_fsid"),
        vmfs=about.only("vmfs"),
        named=about.only("datastore"),
        iscsi=about.only("iscsi"),
        sizes=frozenset(about.texts("size_bytes")),
        model=model,
        vendor=vendor,
        local=_why_local(disk.place.subject, buses, vendor),
        networked=bool(buses & NETWORKS) and not buses & LOCAL_BUSES,
        fake=tuple(fake),
    )


class _About:
    """The values that a disk and its paths state."""

    def __init__(self, facts: Facts, disk: Disk) -> None:
        self.facts = facts
        others = (disk.place._replace(subject=path) for path in disk.paths)
        self.places = (disk.place, *others)

    def texts(self, name: str) -> list[str]:
        """All values of a name that are not empty, sorted."""
        found = {text for place in self.places for text in self.facts.values(place, name)}
        return sorted(text for text in found if text.strip())

    def only(self, name: str) -> str | None:
        """The one value; None without one, or with several."""
        found = {text.strip().lower() for text in self.texts(name)}
        return min(found) if len(found) == 1 else None

    def plain(self, name: str) -> str | None:
        """The first value in letters and digits."""
        found = [plain for text in self.texts(name) if (plain := same_spelling(text))]
        return found[0] if found else None

    def numbers(self) -> tuple[str | None, str | None, list[tuple[str, str]]]:
        """WWN and NGUID, and why others tell nothing."""
        fake: list[tuple[str, str]] = []
        wwns = {wwn for place in self.places if (wwn := wwn_of(self.facts, place))}
        nguids = {one for text in self.texts("nguid") if (one := read_wwn(text))}
        if self.places[0].subject.startswith("nvme"):
            # What Linux calls the WWN of an NVMe namespace is its NGUID or EUI-64.
            nguids, wwns = nguids or wwns, set()
        return self._one("WWN", wwns, fake), self._one("NGUID", nguids, fake), fake

    def _one(self, what: str, found: set[str], fake: list[tuple[str, str]]) -> str | None:
        if len(found) > 1:
            fake.append((what, f"several are stated: {' and '.join(sorted(found))}"))
        for number in sorted(found) if len(found) == 1 else ():
            why = why_no_wwn(number)
            if why is None:
                return number
            fake.append((what, f"{number} tells nothing: {why}"))
        return None

    def serial(
        self, vendor: str | None, model: str | None, fake: list[tuple[str, str]]
    ) -> tuple[str, str, str] | None:
        """The serial number with the vendor and model to which it belongs."""
        serials = [text for text in self.texts("serial") if read_wwn(text) is None]
        if len(serials) != 1:
            return None
        why = why_no_serial(serials[0]) or (None if model else "its model is not known")
        if why is not None:
            fake.append(("serial number", f"{serials[0]} tells nothing: {why}"))
            return None
        return vendor or "", model or "", same_spelling(serials[0])


def _why_local(name: str, buses: set[str], vendor: str | None) -> str | None:
    """Why one machine alone can reach a disk; None if several might."""
    found = sorted(buses & LOCAL_BUSES)
    if found:
        return f"is on {found[0].upper()}, which one machine alone reaches"
    if vendor == "ata":
        return "is on ATA, which one machine alone reaches"
    if name.startswith("mmcblk"):
        return "is a memory card"
    if name.startswith("nvme") and not buses & NETWORKS:
        return "is on NVMe, and no network is stated by which several machines reach it"
    return None


def contradiction(disks: Sequence[DiskFacts]) -> str | None:
    """Why these cannot all be one disk."""
    for what, of in _COMPARED:
        pair = differing((one.place, of(one)) for one in disks)
        if pair is not None:
            return f"{pair[0]} and {pair[1]} have another {what}"
    return _other_size(disks) or _other_model(disks) or _twice(disks)


_COMPARED: tuple[tuple[str, Callable[[DiskFacts], str | None]], ...] = (
    ("WWN", lambda one: one.wwn),
    ("NGUID", lambda one: one.nguid),
    ("Ceph cluster", lambda one: one.ceph),
    ("RBD image", lambda one: one.rbd),
)


def _other_size(disks: Sequence[DiskFacts]) -> str | None:
    known = [one for one in disks if one.sizes]
    for one in known[1:]:
        if not one.sizes & known[0].sizes:
            return f"{known[0].place} and {one.place} have another size"
    return None


def _other_model(disks: Sequence[DiskFacts]) -> str | None:
    return _other_text("model", [(one.place, one.model) for one in disks]) or _other_text(
        "vendor", [(one.place, one.vendor) for one in disks]
    )


def _other_text(what: str, said: Sequence[tuple[Place, str | None]]) -> str | None:
    known = [(place, text) for place, text in said if text]
    if not known:
        return None
    first, longest = max(known, key=lambda one: (len(one[1]), one[1]))
    for place, text in known:
        if longest[:_MODEL_LETTERS] != text[:_MODEL_LETTERS] and not longest.startswith(text):
            return f"{first} and {place} have another {what}"
    return None


def _twice(disks: Sequence[DiskFacts]) -> str | None:
    """Two devices of one machine are two disks, unless multipath joins them below one."""
    seen: dict[str, DiskFacts] = {}
    for one in disks:
        before = seen.setdefault(one.machine, one)
        if before.place.subject != one.place.subject:
            return (
                f"{before.place} and {one.place} are of one machine "
                "without a multipath device that joins them"
            )
    return None


def group_disks(
    disks: Iterable[DiskFacts], stated: Stated = NOTHING_STATED
) -> Grouping[DiskFacts]:
    """The disks of all hosts, in groups that are one disk."""
    members = {one.place: one for one in disks}
    grouping = Grouping(members=members, contradiction=contradiction, stated=stated)
    for one in members.values():
        _note_paths(grouping, one)
    _merge_machines(grouping)
    for rule, what, key, sure in _RULES:
        for number, found in by_key(members.values(), key):
            _merge(grouping, rule, f"{what} {_shown(number)}", found, sure=sure)
    _note_unknown(grouping)
    return grouping


def _note_unknown(grouping: Grouping[DiskFacts]) -> None:
    """Say of what cannot be merged what would be needed, where there are other machines."""
    members = grouping.members.values()
    for image, found in by_key(members, lambda one: one.rbd):
        left = [one for one in found if not (one.ceph or one.cluster)]
        if len({one.machine for one in found}) > 1:
            for one in left:
                text = (
                    f"others have RBD image {image}, but the Ceph cluster of {one.place} is not "
                    f"known; the agent's reader on {one.place.host} tells it"
                )
                grouping.refuse("rbd", [one.place], text)
    if len({one.machine for one in members}) > 1:
        for one in members:
            if _is_unknown(one) and len(grouping.group(one.place)) == 1:
                grouping.refuse("unknown", [one.place], _unknown_text(one))


def _is_unknown(one: DiskFacts) -> bool:
    """Whether nothing tells if other hosts use the disk too."""
    said = (one.wwn, one.nguid, one.serial, one.rbd, one.vmfs, one.named, one.iscsi, one.local)
    return not any(said)


def _unknown_text(one: DiskFacts) -> str:
    why = "; ".join(f"its {what} {text}" for what, text in one.fake)
    remedy = "state it as a rule" if one.fake else f"run the agent's reader on {one.place.host}"
    return (
        f"whether other hosts use {one.place} is not known: "
        f"{why or 'neither WWN nor serial number is stated'}; "
        f"to merge this disk with theirs, {remedy}"
    )


def _note_paths(grouping: Grouping[DiskFacts], one: DiskFacts) -> None:
    if one.disk.paths:
        text = f"multipath joins {' and '.join(one.disk.paths)} of {one.place.host}"
        paths = [one.place._replace(subject=path) for path in one.disk.paths]
        grouping.note_members("multipath", [one.place, *paths], text)


def _merge_machines(grouping: Grouping[DiskFacts]) -> None:
    """One disk of one machine that two collectors name differently."""
    key = lambda one: (one.machine, one.place.subject)  # noqa: E731
    for (_, name), found in by_key(grouping.members.values(), key):
        if len(found) > 1:
            hosts = " and ".join(one.place.host for one in found)
            text = f"{hosts} are one machine, by its boot id, and this is its {name}"
            grouping.merge("machine", [one.place for one in found], text)


def _iscsi_key(one: DiskFacts) -> tuple[str, str] | None:
    # A target may show each host another disk under one number; the size must agree at least.
    return (one.iscsi, min(one.sizes)) if one.iscsi and one.sizes and not one.wwn else None


def _rbd_key(one: DiskFacts) -> tuple[str, str] | None:
    # Another Ceph cluster may have an image of the same name.
    cluster = one.ceph or one.cluster
    return (one.rbd, cluster) if one.rbd and cluster else None


_RULES: tuple[tuple[str, str, Callable[[DiskFacts], object], bool], ...] = (
    ("wwn", "WWN", lambda one: one.wwn, True),
    ("nguid", "NGUID", lambda one: one.nguid, True),
    ("rbd", "RBD image", _rbd_key, False),
    ("vmfs", "VMFS", lambda one: one.vmfs, False),
    ("datastore", "name in one data center,", lambda one: one.named, False),
    ("iscsi", "iSCSI", _iscsi_key, False),
    ("serial", "serial number", lambda one: one.serial, False),
)
"""Rule, what it compares, the identifier, and whether that is given to one disk for ever."""


def _shown(number: object) -> str:
    parts = number if isinstance(number, tuple) else (number,)
    return " ".join(str(part) for part in parts if part)


def _merge(
    grouping: Grouping[DiskFacts], rule: str, what: str, found: Sequence[DiskFacts], *, sure: bool
) -> None:
    """Unite the disks with one identifier, or say why not."""
    groups = {grouping.first(one.place) for one in found}
    text = f"they have the same {what}"
    if len(groups) == 1:
        grouping.merge(rule, [one.place for one in found], text)
        return
    if rule == "serial":
        found = _networked(grouping, found, what)
    doubted = _doubted(grouping, found)
    for place, why in sorted(doubted.items()):
        grouping.refuse(rule, [place], f"{what} is of other disks too, but {place} {why}")
    rest = [one for one in found if one.place not in doubted]
    first = dict.fromkeys(grouping.first(one.place) for one in rest)
    whole = [grouping.members[place] for one in first for place in grouping.group(one)]
    if not doubted and contradiction(whole) is None:
        grouping.merge(rule, [one.place for one in found], text)
    elif sure:
        copies = {size for place in doubted for size in grouping.members[place].sizes}
        _merge_alike(grouping, rule, what, rest, copies)
    elif len({grouping.first(one.place) for one in rest}) > 1:
        why = contradiction(whole) or "another disk has it that cannot be the same"
        grouping.refuse(rule, [one.place for one in rest], f"{text}, but {why}")


def _networked(
    grouping: Grouping[DiskFacts], found: Sequence[DiskFacts], what: str
) -> list[DiskFacts]:
    """Those that several machines may reach: a serial number alone does not show that."""
    rest: list[DiskFacts] = []
    left: list[DiskFacts] = []
    for one in found:
        is_shared = one.networked or len(grouping.group(one.place)) > 1
        (rest if is_shared else left).append(one)
    if len({one.machine for one in found}) > 1:
        for one in left:
            why = one.local or "shows no network by which several machines reach it"
            grouping.refuse("serial", [one.place], f"others have {what}, but {one.place} {why}")
    return rest


def _doubted(grouping: Grouping[DiskFacts], found: Sequence[DiskFacts]) -> dict[Place, str]:
    """The disks of which this identifier tells nothing, each with the reason."""
    devices: dict[str, set[str]] = {}
    for one in found:
        devices.setdefault(one.machine, set()).add(one.place.subject)
    several = len(devices) > 1
    united = {
        first
        for first in {grouping.first(one.place) for one in found}
        if len({grouping.members[place].machine for place in grouping.group(first)}) > 1
    }
    doubted = {}
    for one in found:
        if grouping.first(one.place) in united:
            continue
        if one.local and several:
            doubted[one.place] = one.local
        elif len(devices[one.machine]) > 1:
            names = " and ".join(sorted(devices[one.machine]))
            doubted[one.place] = (
                f"has it beside others of its machine ({names}), without a multipath device"
            )
    return doubted


def _merge_alike(
    grouping: Grouping[DiskFacts],
    rule: str,
    what: str,
    found: Sequence[DiskFacts],
    copies: set[str],
) -> None:
    """An identifier that is not of one disk alone unites those that are alike in all else.

    Of a size that `copies` have too, only those that are reached by a network.
    """
    key = lambda one: _alike(one) if one.networked or not one.sizes & copies else None  # noqa: E731
    alike = by_key(found, key)
    for _, same in alike:
        text = f"they have the same {what}, size and model"
        grouping.merge(rule, [one.place for one in same], text)
    merged = {one.place for _, same in alike if len(same) > 1 for one in same}
    left = [one.place for one in found if one.place not in merged]
    if left:
        why = contradiction(found) or "another disk has it that cannot be the same"
        grouping.refuse(rule, left, f"they have the same {what}, but {why}")


def _alike(one: DiskFacts) -> tuple[str, ...] | None:
    if not one.sizes or not one.model:
        return None
    return (min(one.sizes), one.model, one.vendor or "", one.wwn or "", one.nguid or "")
