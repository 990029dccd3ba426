"""Control groups: I/O and pressure of each, as Telegraf's input `cgroup` names them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from enforcers.reader.cgroup_names import Named, is_nobody, named
from enforcers.reader.host_tree import HostTree
from enforcers.reader.line import escaped, head, whole

MOUNTINFO = "/proc/self/mountinfo"
MOST_CGROUPS = 10_000
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Cgroup:
    """A control group below the mount; `name` is None for a slice."""

    path: str
    name: Named | None


class CgroupWatch:
    """Finds the control groups of each pass.

    One that appears is watched from the next pass on: a rate needs two samples, and thousands of
    containers that live for seconds would leave a series each. Their I/O is in that of the slice
    above. That holds for names that nobody knows too: builders make groups of their own. Nothing
    is found below a workload.
    """

    def __init__(self) -> None:
        self._before: frozenset[str] | None = None
        self.young = 0

    def look(self, tree: HostTree, mount: str) -> list[Cgroup]:
        """The groups that were there in the last pass too; at first, all."""
        found: list[Cgroup] = []
        for group in _walk(tree, mount, "", depth=0):
            if len(found) == MOST_CGROUPS:
                tree.note(mount, f"has more than {MOST_CGROUPS} cgroups: the others are not read")
                break
            found.append(group)
        before = self._before
        self._before = frozenset(group.path for group in found)
        if before is None:
            return found
        known = [group for group in found if group.path in before]
        self.young = len(found) - len(known)
        return known


def find_mount(tree: HostTree) -> str | None:
    """Where cgroup v2 is mounted; None if it is not."""
    for line in tree.lines(MOUNTINFO):
        mounted, _, source = line.partition(" - ")
        words = mounted.split(" ")
        if source.startswith("cgroup2 ") and len(words) > 4:
            return words[4]
    return None


def cgroup_line(host: str, tree: HostTree, full_path: str) -> str | None:
    """The counters of one group; None when it has none, or is gone."""
    fields = _io_fields(_io_lines(tree, f"{full_path}/io.stat"))
    fields += _pressure_fields(tree.lines(f"{full_path}/io.pressure"))
    if not fields:
        return None
    return f"{head('cgroup', host, path=full_path)} {','.join(fields)}"


def _walk(tree: HostTree, mount: str, path: str, *, depth: int) -> Iterator[Cgroup]:
    for folder in tree.folders(mount + path):
        if is_nobody(folder):
            continue
        below = f"{path}/{folder}"
        name = named(below)
        yield Cgroup(below, name)
        if name is None and depth < _DEEPEST:
            yield from _walk(tree, mount, below, depth=depth + 1)


def _io_lines(tree: HostTree, path: str) -> list[str]:
    """The lines of `io.stat`; Linux 5.15 and 5.16 end none behind a device that was idle."""
    *lines, rest = tree.text(path).split("\n")
    if "=" in rest:
        tree.note(path, f"breaks off in line {len(lines) + 1}")
    return lines


def _io_fields(lines: list[str]) -> list[str]:
    """The fields of `io.stat`: `MAJ:MIN key=value ...` per device, also those of iocost."""
    fields = []
    for line in lines:
        device = ""
        for word in line.split(" "):
            key, equals, value = word.partition("=")
            if not equals:
                # Some kernels put devices without I/O before another one on its line.
                device = word
            elif device and whole(value) is not None:
                fields.append(f"{_io_field(device, key)}={value}i")
    return fields


@lru_cache(maxsize=1 << 16)
def _io_field(device: str, key: str) -> str:
    """The same few names come in every pass."""
    return f"io.stat.{escaped(device)}.{escaped(key)}"


def _pressure_fields(lines: list[str]) -> list[str]:
    fields = []
    for line in lines:
        kind, _, rest = line.partition(" ")
        total = rest.rpartition("total=")[2]
        if kind in {"some", "full"} and whole(total) is not None:
            fields.append(f"io.pressure.{kind}.total={total}i")
    return fields
