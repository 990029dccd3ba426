"""Workloads that are one over all hosts and collectors, with the names people use.

A VM is seen by its hypervisor's collector, by its cgroup and by its metric server; each view says
by what it is known there, and views that are known by the same are one workload.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ingest.core.identity.cgroup_path import (
    Cgroup,
    CgroupKind,
    below_mount,
    domain_in_cgroup,
    is_cut,
    read_cgroup,
    workload_cgroups,
)
from ingest.core.identity.facts import Facts, Kind, Place
from ingest.core.identity.grouping import (
    NOTHING_STATED,
    Grouping,
    Reason,
    Stated,
    by_key,
    differing,
)
from ingest.core.identity.identifiers import read_uuid

CGROUP = "cgroup"
"""The kind of place of a cgroup that sends samples."""

_KINDS = {
    CgroupKind.PROXMOX: "vm",
    CgroupKind.LXC: "container",
    CgroupKind.DOMAIN: "vm",
    CgroupKind.CONTAINER: "container",
    CgroupKind.POD: "pod",
    CgroupKind.UNIT: "unit",
    CgroupKind.OTHER: "slice",
}
_PREFIXES = {
    "qemu": "vm",
    "libvirt": "vm",
    "vm": "vm",
    "lxc": "container",
    "docker": "container",
    "podman": "container",
    "container": "container",
    "pod": "pod",
    "unit": "unit",
}
"""The kind of a workload by the first part of its key."""
_CONTAINER_MAKERS = frozenset({"docker", "podman", "container"})
_SHORT_ID = 12
_NO_WORKLOADS = (".mount", ".swap", ".socket", "init.scope")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One workload as one collector of one host shows it.

    `key` is what it is called there. `cgroups` are the paths that count its I/O once.
    """

    place: Place
    machine: str
    cluster: str | None
    key: str
    kind: str
    name: str | None
    uuid: str | None
    pid: str | None
    cgroup: str | None
    made: CgroupKind | None
    cgroups: tuple[str, ...]
    disks: tuple[tuple[str, str], ...]
    nics: tuple[tuple[str, str], ...]
    attributes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundWorkload:
    """A workload as hosts show it; `keys` are what it is known by again, the surest first.

    `hosts` are those that show it. `disks` and `nics` are (host, instance, backing), `cgroups`
    (host, path). `attributes` are what rules ask for: (name, value), sorted.
    """

    keys: tuple[str, ...]
    name: str
    stated_name: str | None
    kind: str
    uuid: str | None
    pid: str | None
    places: tuple[Place, ...]
    cgroups: tuple[tuple[str, str], ...]
    disks: tuple[tuple[str, str, str], ...]
    nics: tuple[tuple[str, str, str], ...]
    attributes: tuple[tuple[str, str], ...]
    reasons: tuple[Reason, ...]


def find_workloads(
    facts: Facts, machines: Mapping[str, str], stated: Stated = NOTHING_STATED
) -> tuple[FoundWorkload, ...]:
    """All workloads of these hosts, sorted by their first place."""
    views = [*_stated_views(facts, machines), *_cgroup_views(facts, machines)]
    grouping = Grouping(
        members={one.place: one for one in views},
        contradiction=contradiction,
        stated=stated,
    )
    for rule, text, key in _RULES:
        for _, found in by_key(views, key):
            grouping.merge(rule, [one.place for one in found], text)
    _merge_domains(grouping)
    notes = grouping.reasons_by_place()
    return tuple(
        _workload([grouping.members[place] for place in places], notes)
        for places in grouping.groups()
    )


def _stated_views(facts: Facts, machines: Mapping[str, str]) -> Iterable[View]:
    for place in facts.places(Kind.WORKLOAD):
        prefix = place.subject.partition("/")[0]
        cgroup = facts.value(place, "cgroup")
        if place.subject.endswith(_NO_WORKLOADS) or (cgroup and _is_no_whole(cgroup)):
            continue
        yield View(
            place=place,
            machine=machines[place.host],
            cluster=_cluster(facts, place.host),
            key=place.subject,
            kind=facts.value(place, "kind") or _PREFIXES.get(prefix, "vm"),
            name=facts.value(place, "name"),
            uuid=read_uuid(facts.value(place, "uuid") or ""),
            pid=facts.value(place, "host_pid"),
            cgroup=None if cgroup is None else below_mount(cgroup),
            made=None,
            cgroups=(),
            disks=_pairs(facts, place, "disk."),
            nics=_pairs(facts, place, "nic."),
            attributes=_attributes(facts, place),
        )


def _is_no_whole(cgroup: str) -> bool:
    """Whether a cgroup holds workloads, or lies in another's: a container in its pod's."""
    whole = read_cgroup(below_mount(cgroup))
    return whole is None or whole.path != below_mount(cgroup)


def _cluster(facts: Facts, host: str) -> str | None:
    return facts.value(Place(host, Kind.HOST, ""), "cluster")


def _pairs(facts: Facts, place: Place, prefix: str) -> tuple[tuple[str, str], ...]:
    named = facts.named(place, prefix)
    return tuple((name, value) for name, values in named.items() for value in values)


def _attributes(facts: Facts, place: Place) -> tuple[tuple[str, str], ...]:
    names = ("namespace", "pool", "tag", "unit")
    own = [(name, value) for name in names for value in facts.values(place, name)]
    labels = _pairs(facts, place, "label.")
    return (*own, *((f"label.{name}", value) for name, value in labels))


def _cgroup_views(facts: Facts, machines: Mapping[str, str]) -> Iterable[View]:
    paths: dict[str, list[str]] = defaultdict(list)
    for place in facts.seen or ():
        if place.kind == CGROUP:
            paths[place.host].append(place.subject)
    for host, sent in sorted(paths.items()):
        for cgroup, measured in workload_cgroups(sent):
            yield _cgroup_view(host, machines[host], _cluster(facts, host), cgroup, measured)


def _cgroup_view(
    host: str, machine: str, cluster: str | None, cgroup: Cgroup, measured: tuple[str, ...]
) -> View:
    return View(
        place=Place(host, CGROUP, cgroup.path),
        machine=machine,
        cluster=cluster,
        key=cgroup.key,
        kind=_KINDS[cgroup.kind],
        name=None,
        uuid=None,
        pid=None,
        cgroup=below_mount(cgroup.path),
        made=cgroup.kind,
        cgroups=measured,
        disks=(),
        nics=(),
        attributes=(("unit", cgroup.key),) if cgroup.kind is CgroupKind.UNIT else (),
    )


def contradiction(views: Sequence[View]) -> str | None:
    """Why these cannot all be one workload."""
    for what, of in (("UUID", _own_uuid), ("name", _own_name), ("cluster", _own_cluster)):
        pair = differing((one.place, of(one)) for one in views)
        if pair is not None:
            return f"{pair[0]} and {pair[1]} have another {what}"
    return _beside_itself(views)


def _own_uuid(one: View) -> str | None:
    return one.uuid


def _own_cluster(one: View) -> str | None:
    return one.cluster


def _own_name(one: View) -> str | None:
    return one.name.strip().casefold() if one.name else None


def _beside_itself(views: Sequence[View]) -> str | None:
    """Two workloads that one collector of one machine tells apart."""
    first: dict[tuple[str, str, str], View] = {}
    for one in views:
        sort, key = _told_by(one)
        before = first.setdefault((one.machine, one.place.kind, sort), one)
        if _told_by(before)[1] != key:
            return f"{before.place} and {one.place} are there side by side"
    return None


def _told_by(one: View) -> tuple[str, str]:
    """Who tells this view from others of its machine, and by what."""
    if one.made is not None:
        return one.made, one.key
    sort, _, key = one.key.partition("/")
    # One collector takes the name from the cgroup, where letters are missing.
    return sort, domain_in_cgroup(key) if sort == "libvirt" else key


def _container(one: View) -> tuple[str, str, str] | None:
    """A workload of one machine by the number that its manager gives it."""
    kind, _, number = one.key.partition("/")
    if one.made is CgroupKind.CONTAINER:
        return one.machine, "container", one.key[:_SHORT_ID]
    if one.made is CgroupKind.POD:
        return one.machine, "pod", one.key
    if one.made is None and kind in _CONTAINER_MAKERS:
        return one.machine, "container", number[:_SHORT_ID]
    return (one.machine, "pod", number) if one.made is None and kind == "pod" else None


def _node(one: View) -> tuple[str, str] | None:
    """A guest of one Proxmox node."""
    stated = one.place.kind == Kind.WORKLOAD and one.key.startswith(("qemu/", "lxc/"))
    made = one.made in (CgroupKind.PROXMOX, CgroupKind.LXC)
    return (one.machine, one.key) if stated or made else None


def _guest(one: View) -> tuple[str, str] | None:
    """A guest of a Proxmox or vSphere cluster, wherever it runs."""
    stated = one.place.kind == Kind.WORKLOAD and one.key.startswith(("qemu/", "lxc/", "vm/"))
    return (one.cluster, one.key) if stated and one.cluster else None


def _domain(one: View) -> tuple[str, str] | None:
    """A VM of one machine that collectors call by the same name."""
    stated = one.made is None and one.key.startswith(("libvirt/", "vm/"))
    name = one.name or one.key.partition("/")[2]
    return (one.machine, name.casefold()) if stated else None


def _path(one: View) -> tuple[str, str] | None:
    return (one.machine, one.cgroup) if one.cgroup else None


def _process(one: View) -> tuple[str, str] | None:
    return (one.machine, one.pid) if one.pid and one.pid not in ("0", "1") else None


_RULES = (
    ("uuid", "they have the same UUID", _own_uuid),
    ("cgroup", "they are the same cgroup of one machine", _path),
    ("vmid", "they are the guest of one number on one machine", _node),
    ("cluster", "they are the guest of one number in one cluster, which moves", _guest),
    ("container", "they are the container or pod of one id on one machine", _container),
    ("name", "they are the VM of one name on one machine", _domain),
    ("process", "they are the same process of one machine", _process),
)
"""Rule, reason, and what views that are one workload have in common; the surest first."""


def _merge_domains(grouping: Grouping[View]) -> None:
    """A libvirt domain and the cgroup in whose name libvirt keeps part of the domain's."""
    domains: dict[str, dict[str, set[Place]]] = defaultdict(lambda: defaultdict(set))
    for one in grouping.members.values():
        if one.place.kind == Kind.WORKLOAD and one.key.startswith("libvirt/"):
            for name in {one.key.partition("/")[2], one.name or ""}:
                domains[one.machine][domain_in_cgroup(name)].add(one.place)
    scopes = [one for one in grouping.members.values() if one.made is CgroupKind.DOMAIN]
    for scope in sorted(scopes, key=lambda one: one.place):
        own = domains[scope.machine]
        names = [kept for kept in own if kept.startswith(scope.key)] if is_cut(scope.key) else []
        candidates = sorted({place for name in (*names, scope.key) for place in own.get(name, ())})
        groups = {min(grouping.group(place)) for place in candidates}
        places = [scope.place, *candidates]
        if len(groups) > 1:
            text = f"the name of the cgroup {scope.place.subject} fits several domains"
            grouping.refuse("domain", places, text)
        elif groups:
            text = "the name of the cgroup holds the name of the domain"
            grouping.merge("domain", places, text)


def cgroup_key(host: str, path: str) -> str:
    """A workload is known by its cgroup, as long as nothing says that another has taken it."""
    return f"cgroup:{host}:{path}"


def nic_key(host: str, interface: str) -> str:
    """The same by its interface on the host."""
    return f"nic:{host}:{interface}"


def _workload(views: Sequence[View], notes: Mapping[Place, Sequence[Reason]]) -> FoundWorkload:
    ordered = sorted(views, key=_how_telling)
    reasons = {reason for one in views for reason in notes.get(one.place, ())}
    attributes = {pair for one in views for pair in one.attributes}
    copied = any(one.rule == "uuid" and not one.merged for one in reasons)
    own = [key for one in ordered for key in _keys(one, copied=copied)]
    slots = [cgroup_key(one.place.host, path) for one in views for path in one.cgroups]
    slots += [nic_key(one.place.host, name) for one in views for _, name in one.nics]
    return FoundWorkload(
        keys=tuple(dict.fromkeys([*own, *slots])),
        name=_name(ordered),
        stated_name=next((one.name for one in ordered if one.name), None),
        kind=ordered[0].kind,
        uuid=next((one.uuid for one in ordered if one.uuid), None),
        pid=next((one.pid for one in ordered if one.pid), None),
        places=tuple(sorted(one.place for one in views)),
        cgroups=tuple(sorted({(one.place.host, path) for one in views for path in one.cgroups})),
        disks=tuple(sorted({(one.place.host, *disk) for one in views for disk in one.disks})),
        nics=tuple(sorted({(one.place.host, *nic) for one in views for nic in one.nics})),
        attributes=tuple(sorted(attributes)),
        reasons=tuple(sorted(reasons)),
    )


def _how_telling(one: View) -> tuple[bool, bool, Place]:
    """A collector that knows the name and the UUID says most."""
    return one.name is None, one.uuid is None, one.place


def _keys(one: View, *, copied: bool) -> list[str]:
    """What a view is known by again, wherever that may be; a copied UUID on its machine alone."""
    guest, number, node = _guest(one), _container(one), _node(one)
    scoped = one.machine if one.made else f"{one.machine}/{Kind.WORKLOAD}"
    found = [
        f"uuid:{one.uuid}{f'@{one.machine}' if copied else ''}" if one.uuid else "",
        f"guest:{guest[0]}/{guest[1]}" if guest else "",
        f"container:{'/'.join(number)}" if number else "",
        f"node:{node[0]}/{node[1]}" if node else "",
        f"name:{scoped}/{one.made or ''}/{one.key}" if not (number or node) else "",
    ]
    return [key for key in found if key]


def _name(views: Sequence[View]) -> str:
    """The name that people use: the first that is stated, else what the cgroup is called.

    What only its host knows by that name, such as a unit, is called like its host and itself.
    """
    first = views[0]
    stated = next((one.name for one in views if one.name), None)
    unit = next((one for one in views if one.kind in ("unit", "slice")), None)
    if unit is not None:
        return f"{unit.place.host}/{unit.key.removeprefix('unit/')}"
    if stated is not None:
        namespace = dict(first.attributes).get("namespace")
        return f"{namespace}/{stated}" if namespace else stated
    if _container(first) is not None:
        return f"{first.place.host}/{first.kind} {first.key.rpartition('/')[2][:_SHORT_ID]}"
    return f"{first.place.host}/{first.key}"
