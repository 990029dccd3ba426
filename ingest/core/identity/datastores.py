"""From facts to datastores: each is one thing over all hosts, with the reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from ingest.core.identity.disks import DiskFacts, disk_facts, group_disks
from ingest.core.identity.exports import MountFacts, group_mounts, mount_facts, server_names
from ingest.core.identity.facts import Facts, Kind, Place
from ingest.core.identity.grouping import NOTHING_STATED, Grouping, Reason, Stated, Statement
from ingest.core.identity.machines import machines_of
from ingest.core.identity.stack import Stack, stacks_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDatastore:
    """A datastore as hosts show it.

    `keys` are what it is known by again, the surest first; the last are the places where it is
    seen. `places` has every disk and mount that is it, `measured` those whose figures together
    count its I/O once.
    """

    keys: tuple[str, ...]
    name: str
    places: tuple[Place, ...]
    measured: tuple[Place, ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundStorage:
    """All datastores, the layers above them, and devices that are no storage of their own."""

    datastores: tuple[FoundDatastore, ...]
    stacks: dict[str, Stack]
    machines: dict[str, str]

    def by_place(self) -> dict[Place, FoundDatastore]:
        """The datastore that is seen at each place."""
        return {place: one for one in self.datastores for place in one.places}


def find_storage(facts: Facts, stated: Stated = NOTHING_STATED) -> FoundStorage:
    """All datastores of these hosts.

    The order of facts makes no difference, and a host only changes what it has a part in.
    """
    machines, stacks = machines_of(facts), stacks_of(facts)
    stated = replace(stated, statements=_of_mount_points(facts, stated.statements))
    disks = group_disks(
        (
            disk_facts(facts, disk, machine=machines[host])
            for host, stack in sorted(stacks.items())
            for disk in stack.disks
        ),
        stated,
    )
    mounts = group_mounts(_mounts(facts, machines), stated)
    return FoundStorage(
        datastores=(*_of_disks(disks), *_of_mounts(mounts, facts)),
        stacks=stacks,
        machines=machines,
    )


def _of_mount_points(facts: Facts, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements of mount points as those of what is mounted there: it is known by that."""
    asked = {place for one in statements for place in (one.one, one.other)}
    if all(place.kind != Kind.MOUNT for place in asked):
        return tuple(statements)
    mounted = {
        place._replace(subject=point): place
        for place in facts.places(Kind.MOUNT)
        for point in facts.values(place, "mountpoint")
    }
    return tuple(
        replace(one, one=mounted.get(one.one, one.one), other=mounted.get(one.other, one.other))
        for one in statements
    )


def _mounts(facts: Facts, machines: dict[str, str]) -> Iterable[MountFacts]:
    for place in facts.places(Kind.MOUNT):
        found = mount_facts(facts, place, machine=machines[place.host])
        if found is not None:
            yield found


def _of_disks(grouping: Grouping[DiskFacts]) -> Iterable[FoundDatastore]:
    notes = grouping.reasons_by_place()
    known = _disk_keys(grouping, notes)
    groups = grouping.groups()
    of_group = [{key for place in places for key in known[place]} for places in groups]
    # Clones on one host have what tells them from clones elsewhere in common too.
    shared = {key for key, count in Counter(chain(*of_group)).items() if count > 1}
    for places, own in zip(groups, of_group, strict=True):
        members = [grouping.members[place] for place in places]
        measured = [
            place._replace(subject=device)
            for place in _once_per_machine(members)
            for device in grouping.members[place].disk.measured
        ]
        numbers = sorted(own - shared)
        keys = [*(key for _, key in numbers), *map(place_key, places)]
        yield FoundDatastore(
            keys=tuple(keys),
            name=_disk_name(members, keys[0]),
            places=tuple(places),
            measured=tuple(measured),
            reasons=_reasons(places, notes),
        )


def _reasons(places: Sequence[Place], notes: dict[Place, list[Reason]]) -> tuple[Reason, ...]:
    # A reason names all of its places, so telling two apart takes as long as there are places.
    known = {id(reason): reason for place in places for reason in notes.get(place, ())}
    return tuple(sorted(known.values()))


def _once_per_machine(members: Sequence[DiskFacts] | Sequence[MountFacts]) -> list[Place]:
    """One place of each machine: what two collectors of it say counts once."""
    first: dict[str, Place] = {}
    for one in members:
        first.setdefault(one.machine, one.place)
    return sorted(first.values())


def _disk_keys(grouping: Grouping[DiskFacts], notes: dict[Place, list[Reason]]) -> _Keys:
    """By what each disk is known again wherever it is seen; empty if only by its place.

    A number that a rule refused to go by, and one of a disk that one machine alone reaches, is
    known on that machine (`wwn:5000…@kvm-01`): a copy of it elsewhere is another disk. Where a
    copy is beside it, it is known with its size (`wwn:5000…+1000`).
    """
    members = grouping.members.values()
    found = {one.place: _numbers(one) for one in members}
    groups: dict[str, set[Place]] = defaultdict(set)
    beside: Counter[tuple[str, str]] = Counter()
    for one in {(one.machine, one.place.subject): one for one in members}.values():
        for key in filter(None, found[one.place]):
            beside[one.machine, key] += 1
            groups[key].add(grouping.first(one.place))
    copied_keys = {key for key, several in groups.items() if len(several) > 1}
    keys: _Keys = {}
    for places in grouping.groups():
        group = [grouping.members[place] for place in places]
        machine = _only_machine(group, notes, copied=copied_keys)
        for one in group:
            keys[one.place] = []
            for at, key in enumerate(found[one.place]):
                where = f"@{machine}" if machine else ""
                copied = beside[one.machine, key] > 1 if machine else key in copied_keys
                if key and (one.sizes or not copied):
                    size = f"+{min(one.sizes)}" if copied else ""
                    keys[one.place].append((at, f"{key}{where}{size}"))
    return keys


def _only_machine(
    group: Sequence[DiskFacts], notes: dict[Place, list[Reason]], *, copied: set[str]
) -> str | None:
    """The machine on which alone the numbers of this disk tell what it is."""
    one = group[0]
    if len({member.machine for member in group}) > 1:
        return None
    refused = any(not reason.merged for reason in notes.get(one.place, ()))
    elsewhere = not copied.isdisjoint(_numbers(one)) or (one.wwn is None and not one.networked)
    return one.machine if refused or one.local or elsewhere else None


_Keys = dict[Place, list[tuple[int, str]]]
"""Keys of each place; the number is that of the rule, the surest first."""


def _numbers(one: DiskFacts) -> tuple[str, ...]:
    """What a disk is known by, the surest first; empty where that is not known."""
    numbers = (
        ("wwn", one.wwn),
        ("nguid", one.nguid),
        ("rbd", one.rbd and f"{one.ceph or one.cluster or ''}/{one.rbd}"),
        ("vmfs", one.vmfs),
        ("datastore", one.named),
        ("serial", one.serial and "/".join(one.serial)),
    )
    return tuple(f"{what}:{number}" if number else "" for what, number in numbers)


def place_key(place: Place) -> str:
    """What is seen at a place is known by it, as long as nothing says that it is another."""
    return f"{place.kind}:{place}"


def _disk_name(members: Sequence[DiskFacts], key: str) -> str:
    """What people call it: its image or number if hosts share it, else host and device."""
    first = members[0]
    if len({one.machine for one in members}) == 1:
        return f"{first.place.host}/{first.place.subject.removeprefix('datastore/')}"
    if first.rbd is not None:
        return first.rbd
    if first.named is not None:
        return first.named.rpartition("/")[2]
    if first.vmfs is not None:
        return f"vmfs/{first.vmfs}"
    return f"naa.{first.wwn}" if first.wwn else key.replace(":", ".", 1)


def _of_mounts(grouping: Grouping[MountFacts], facts: Facts) -> Iterable[FoundDatastore]:
    notes = grouping.reasons_by_place()
    for places in grouping.groups():
        members = [grouping.members[place] for place in places]
        names = sorted({name for one in members for name in server_names(one)})
        paths = {(one.family, one.export) for one in members}
        keys = [f"{family}:{name}:{path}" for family, path in sorted(paths) for name in names]
        yield FoundDatastore(
            keys=(*keys, *map(place_key, places)),
            name=_mount_name(members),
            places=tuple(places),
            measured=tuple(
                _once_per_machine([one for one in members if facts.is_seen(one.place)])
            ),
            reasons=_reasons(places, notes),
        )


def _mount_name(members: Sequence[MountFacts]) -> str:
    """The name of the server that is easiest to read, and the path."""
    servers = {one.server: one.server in one.addresses for one in members}
    server = min(servers, key=lambda name: (servers[name], len(name), name))
    return f"{server}:{members[0].export}"
