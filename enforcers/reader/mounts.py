"""Mounted file systems, and what an NFS client did on each, as Telegraf's `nfsclient` names it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from enforcers.reader.device_facts import Facts
from enforcers.reader.host_tree import HostTree
from enforcers.reader.line import head, integers, whole
from enforcers.reader.mount_kinds import MOUNTINFO, NETWORK_KINDS
from enforcers.reader.volumes import volume_at

MOUNTSTATS = "/proc/self/mountstats"
_NFS_KINDS = frozenset({"nfs", "nfs4"})
_OPERATIONS = ("READ", "WRITE")
_OP_FIELDS = (
    "ops", "trans", "timeouts", "bytes_sent", "bytes_recv",
    "queue_time", "response_time", "total_time", "errors",
)  # fmt: skip
_LEAST_OP_FIELDS = 8
_OCTAL = re.compile(r"\\([0-7]{3})")
_MOUNTED = re.compile(
    r"device (?P<source>\S+) mounted on (?P<point>\S+) with fstype (?P<kind>\S+)"
)


@dataclass(frozen=True, slots=True)
class Mount:
    """A network file system where it is mounted; `majmin` tells superblocks apart."""

    point: str
    kind: str
    source: str
    majmin: str
    options: str

    @property
    def server_and_export(self) -> tuple[str, str] | None:
        """What the source says; None where it is not spelled like that."""
        if self.source.startswith("//"):
            server, _, share = self.source[2:].partition("/")
            return (server, f"/{share}") if server and share else None
        server, colon, export = self.source.partition(":/")
        return (server, f"/{export}") if colon and server else None

    @property
    def address(self) -> str | None:
        """The server's address, as the client found it."""
        found = re.search(r"(?:^|,)addr=([^,]+)", self.options)
        return found[1] if found else None


def read_mounts(tree: HostTree) -> list[Mount]:
    """The network file systems in the order of their mounting. Touches none of them."""
    found = []
    for line in tree.lines(MOUNTINFO):
        mounted, dash, source = line.partition(" - ")
        words, ends = mounted.split(" "), source.split(" ")
        if not dash or len(words) < 5 or len(ends) < 3 or ends[0] not in NETWORK_KINDS:
            continue
        found.append(Mount(_plain(words[4]), ends[0], _plain(ends[1]), words[2], ends[2]))
    return found


def by_source(mounts: list[Mount]) -> dict[str, list[Mount]]:
    """The mounts of each source: one may be mounted at several places."""
    found: dict[str, list[Mount]] = {}
    for mount in mounts:
        found.setdefault(mount.source, []).append(mount)
    return found


def mount_facts(mounts: list[Mount]) -> Facts:
    """The facts of one source, by name; the export of NFS is whole, as Telegraf sends it."""
    first = mounts[0]
    place = first.server_and_export
    facts: Facts = {
        "export": (place[1] if place and first.source.startswith("//") else first.source,),
        "fstype": (first.kind,),
        "mountpoint": tuple(mount.point for mount in mounts),
    }
    if volumes := dict.fromkeys(one for mount in mounts if (one := volume_at(mount.point))):
        facts["volume"] = tuple(volumes)
    if place:
        facts["server"] = (place[0],)
    if addresses := dict.fromkeys(mount.address for mount in mounts if mount.address):
        facts["address"] = tuple(addresses)
    return facts


def nfs_lines(host: str, tree: HostTree, mounts: list[Mount]) -> Iterator[str]:
    """Reads and writes of each NFS superblock, once, however often it is mounted."""
    aliases = _aliases(mounts)
    told: set[tuple[str, str]] = set()
    for source, point, rows in _nfs_mounts(tree):
        if (source, point) in told or point in aliases:
            continue
        told.add((source, point))
        for operation in _OPERATIONS:
            numbers = [whole(word) for word in rows.get(operation, [])[: len(_OP_FIELDS)]]
            if len(numbers) < _LEAST_OP_FIELDS:
                continue
            tags = {"mountpoint": point, "serverexport": source, "operation": operation}
            named = dict(zip(_OP_FIELDS, numbers, strict=False))
            known = {name: value for name, value in named.items() if value is not None}
            if summed := integers(_summed(known)):
                yield f"{head('nfsstat', host, **tags)} {summed}"
            if each := integers(known):
                yield f"{head('nfs_ops', host, **tags)} {each}"


def export_path(path: str, mounts: list[Mount]) -> str | None:
    """A file on a network mount as `server:export/file`; None if it lies on none."""
    below = [one for one in mounts if path == one.point or path.startswith(f"{one.point}/")]
    if not below:
        return None
    deepest = max(below, key=lambda one: len(one.point))
    return deepest.source.rstrip("/") + path[len(deepest.point) :]


def _aliases(mounts: list[Mount]) -> set[str]:
    """The mount points whose superblock is mounted elsewhere before."""
    first: dict[str, str] = {}
    for mount in mounts:
        first.setdefault(mount.majmin, mount.point)
    points = {mount.point for mount in mounts}
    return points - set(first.values())


def _nfs_mounts(tree: HostTree) -> Iterator[tuple[str, str, dict[str, list[str]]]]:
    """Source, mount point, and the numbers of each operation, of every NFS mount."""
    source = point = ""
    rows: dict[str, list[str]] = {}
    for line in tree.lines(MOUNTSTATS):
        if line.startswith("device "):
            if point:
                yield source, point, rows
            found = _MOUNTED.match(line)
            is_nfs = found is not None and found["kind"] in _NFS_KINDS
            source, point = (
                (_plain(found["source"]), _plain(found["point"])) if found else ("", "")
            )
            point = point if is_nfs else ""
            rows = {}
            continue
        name, colon, numbers = line.strip().partition(": ")
        if point and colon and name in _OPERATIONS:
            rows[name] = numbers.split()
    if point:
        yield source, point, rows


def _summed(op: dict[str, int]) -> dict[str, int]:
    """The fields of `nfsstat`: the same numbers under its own names, times in ms."""
    fields = {}
    if "ops" in op:
        fields["ops"] = op["ops"]
    if "ops" in op and "trans" in op:
        fields["retrans"] = op["trans"] - op["ops"]
    if "bytes_sent" in op and "bytes_recv" in op:
        fields["bytes"] = op["bytes_sent"] + op["bytes_recv"]
    if "response_time" in op:
        fields["rtt"] = op["response_time"]
    if "total_time" in op:
        fields["exe"] = op["total_time"]
    return fields


def _plain(text: str) -> str:
    """A name of the mount table with the characters that the kernel wrote as octal."""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), text)
