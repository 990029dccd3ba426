"""Exports of file servers that are one over all hosts, by server and path.

A server is known by name and by address. A name with a domain, and an address, belong to one
server; a short name belongs to one only as long as all hosts resolve it to the same address.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ingest.core.identity.facts import Facts, Place
from ingest.core.identity.grouping import NOTHING_STATED, Grouping, Stated, UnionFind, by_key

_NETWORK_FILE_SYSTEMS = {
    "nfs": "nfs",
    "nfs4": "nfs",
    "cifs": "smb",
    "smb3": "smb",
    "ceph": "ceph",
    "fuse.glusterfs": "glusterfs",
    "glusterfs": "glusterfs",
    "lustre": "lustre",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MountFacts:
    """What is known of one mount of a host; `names` are those of its server, of any kind."""

    place: Place
    machine: str
    family: str
    server: str
    addresses: tuple[str, ...]
    export: str
    sizes: frozenset[str]


def mount_facts(facts: Facts, place: Place, *, machine: str) -> MountFacts | None:
    """What is known of a mount; None if it is of no server."""
    family = _NETWORK_FILE_SYSTEMS.get((facts.value(place, "fstype") or "nfs").lower())
    server, export = facts.value(place, "server"), facts.value(place, "export")
    if export is None or family is None:
        return None
    name, path = _split_export(server or "", export)
    if not name:
        return None
    found = {one for text in facts.values(place, "address") if (one := read_address(text))}
    own = read_address(name)
    return MountFacts(
        place=place,
        machine=machine,
        family=family,
        server=own or name.rstrip(".").lower(),
        addresses=tuple(sorted(found | ({own} if own else set()))),
        export=read_path(path),
        sizes=frozenset(facts.values(place, "size_bytes")),
    )


def _split_export(server: str, export: str) -> tuple[str, str]:
    """The server and its path; some collectors write both into the export."""
    before, colon, path = export.partition(":/")
    return (server or before, f"/{path}") if colon and before else (server, export)


def read_address(text: str) -> str | None:
    """An IP address in its usual spelling; None if it is none."""
    try:
        found = ipaddress.ip_address(text.strip().strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def read_path(text: str) -> str:
    """A path without repeated or trailing slashes."""
    return re.sub(r"/+", "/", f"/{text}").rstrip("/") or "/"


def _of_one_host(address: str) -> bool:
    found = ipaddress.ip_address(address)
    return found.is_loopback or found.is_link_local or found.is_unspecified


_Name = tuple[str, str, str]
"""How a server is known: `address`, `domain`, `short` or `own`, the text, and where if there."""


def group_mounts(
    mounts: Iterable[MountFacts], stated: Stated = NOTHING_STATED
) -> Grouping[MountFacts]:
    """The mounts of all hosts, in groups of one export each."""
    members = {one.place: one for one in mounts}
    grouping = Grouping(members=members, contradiction=contradiction, stated=stated)
    _merge_machines(grouping)
    servers = _servers(members.values())
    key = lambda one: (one.family, servers.root(_names(one)[0]), one.export)  # noqa: E731
    for _, found in by_key(members.values(), key):
        places = [one.place for one in found]
        grouping.merge("export", places, _why_one(found))
    _note_ambiguous(grouping, servers)
    return grouping


def contradiction(mounts: Sequence[MountFacts]) -> str | None:
    """Why these cannot all be one export."""
    known = [one for one in mounts if one.sizes]
    for one in known[1:]:
        if not one.sizes & known[0].sizes:
            return f"{known[0].place} and {one.place} have another size"
    return None


def _merge_machines(grouping: Grouping[MountFacts]) -> None:
    key = lambda one: (one.machine, one.place.subject, one.server, one.export)  # noqa: E731
    for (_, path, *_), found in by_key(grouping.members.values(), key):
        hosts = " and ".join(one.place.host for one in found)
        text = f"{hosts} are one machine, by its boot id, and this is its mount {path}"
        grouping.merge("machine", [one.place for one in found], text)


def server_names(one: MountFacts) -> list[str]:
    """By what the server of a mount is known wherever it is mounted."""
    return [f"{text}@{where}" if where else text for _, text, where in _names(one)]


def _names(one: MountFacts) -> list[_Name]:
    """How the server of this mount is known, the surest first."""
    names = _addresses(one)
    if one.server in one.addresses:
        return names or [("own", one.machine, "")]
    if one.server == "localhost" or one.server.startswith("localhost."):
        return [("own", one.machine, "")]
    if "." in one.server:
        return [*names, ("domain", one.server, "")]
    return names or [_short(one)]


def _addresses(one: MountFacts) -> list[_Name]:
    return [("address", text, "") for text in one.addresses if not _of_one_host(text)]


def _short(one: MountFacts) -> _Name:
    """A name without a domain, which is looked up in the domain of the host."""
    return ("short", one.server, one.place.host.partition(".")[2])


def _is_short(one: MountFacts) -> bool:
    return one.server not in one.addresses and "." not in one.server and one.server != "localhost"


def _servers(mounts: Iterable[MountFacts]) -> UnionFind[_Name]:
    """The names that belong to one server."""
    servers: UnionFind[_Name] = UnionFind()
    resolved: dict[_Name, list[_Name]] = {}
    for one in mounts:
        first, *others = _names(one)
        for other in others:
            servers.unite(first, other)
        if _is_short(one):
            resolved.setdefault(_short(one), []).extend(_addresses(one))
    for short, addresses in resolved.items():
        if len({servers.root(one) for one in addresses}) == 1:
            servers.unite(short, addresses[0])
    return servers


def _note_ambiguous(grouping: Grouping[MountFacts], servers: UnionFind[_Name]) -> None:
    """Say where one short name is of several servers."""
    short = [one for one in grouping.members.values() if _is_short(one)]
    for (name, path), found in by_key(short, lambda one: (_short(one), one.export)):
        if len({servers.root(_names(one)[0]) for one in found}) > 1:
            addresses = sorted({text for one in found for text in one.addresses})
            text = f"{name[1]} is several servers ({', '.join(addresses)}), each with {path}"
            grouping.refuse("export", [one.place for one in found], text)


def _why_one(found: Sequence[MountFacts]) -> str:
    """The reason: the same server, and how it is known."""
    path = found[0].export
    servers = sorted({one.server for one in found})
    if len(servers) == 1:
        return f"they mount {path} of the server {servers[0]}"
    shared = set.intersection(*(set(one.addresses) for one in found))
    by = f" at the address {min(shared)}" if shared else ", by the addresses of their names"
    return f"they mount {path} of one server ({', '.join(servers)}){by}"
