"""Which workload a control group belongs to, from its path alone. Pure.

Paths are those below the mount of cgroup v2, with a slash first.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

_ID = r"(?P<id>[0-9a-f]{64})"
_UID = r"(?P<uid>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})"
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


class WorkloadKind(StrEnum):
    """What a workload is."""

    VM = "vm"
    CONTAINER = "container"
    UNIT = "unit"
    POD = "pod"


class Maker(StrEnum):
    """Whose naming a control group follows; the first part of the workload's key."""

    DOCKER = "docker"
    PODMAN = "podman"
    KUBERNETES = "pod"
    LIBVIRT = "libvirt"
    PROXMOX_VM = "qemu"
    LXC = "lxc"
    SYSTEMD = "unit"
    CONTAINERD = "container"
    VM = "vm"


@dataclass(frozen=True, slots=True)
class Named:
    """A workload that a path names; `own` is what its maker calls it."""

    maker: Maker
    kind: WorkloadKind
    own: str

    @property
    def key(self) -> str:
        """The workload's name on its host, such as `qemu/101`; ids of containers are shortened."""
        own = self.own[:12] if self.own and re.fullmatch(_ID, self.own) else self.own
        return f"{self.maker}/{own}"


# The last part of a path, and what it is. The first that fits counts.
_LEAVES: tuple[tuple[re.Pattern[str], Maker, WorkloadKind], ...] = (
    (re.compile(rf"docker-{_ID}\.scope"), Maker.DOCKER, WorkloadKind.CONTAINER),
    (re.compile(rf"libpod-{_ID}(?:\.scope)?"), Maker.PODMAN, WorkloadKind.CONTAINER),
    (re.compile(rf"kubepods-(?:\w+-)?pod{_UID}\.slice"), Maker.KUBERNETES, WorkloadKind.POD),
    (re.compile(rf"pod{_UID}"), Maker.KUBERNETES, WorkloadKind.POD),
    (re.compile(rf"(?:cri-containerd|crio|nerdctl)-{_ID}\.scope"),
     Maker.CONTAINERD, WorkloadKind.CONTAINER),
    (re.compile(r"machine-qemu\\x2d\d+\\x2d(?P<id>.+)\.scope"), Maker.LIBVIRT, WorkloadKind.VM),
    (re.compile(r"machine-lxc\\x2d\d+\\x2d(?P<id>.+)\.scope"),
     Maker.LXC, WorkloadKind.CONTAINER),
    (re.compile(r"lxc\.payload\.(?P<id>.+)"), Maker.LXC, WorkloadKind.CONTAINER),
    (re.compile(r"(?P<id>user-\d+\.slice)"), Maker.SYSTEMD, WorkloadKind.UNIT),
    (re.compile(r"(?P<id>.+\.(?:service|scope))"),
     Maker.SYSTEMD, WorkloadKind.UNIT),
)  # fmt: skip
# A plain name below one of these parents.
_CHILDREN: dict[str, tuple[re.Pattern[str], Maker, WorkloadKind]] = {
    "docker": (re.compile(_ID), Maker.DOCKER, WorkloadKind.CONTAINER),
    "qemu.slice": (re.compile(r"(?P<id>\d+)\.scope"), Maker.PROXMOX_VM, WorkloadKind.VM),
    "lxc": (re.compile(r"(?P<id>[^/]+)"), Maker.LXC, WorkloadKind.CONTAINER),
    "lxc.payload": (re.compile(r"(?P<id>[^/]+)"), Maker.LXC, WorkloadKind.CONTAINER),
}
_NOBODY = re.compile(
    r"(?:libpod|crio)-conmon-.*|init\.scope|lxc\.(?:monitor|pivot).*|.*\.(?:mount|socket|swap)"
)


def named(path: str) -> Named | None:
    """The workload whose control group this is; None for a slice, or one that nobody knows."""
    folder, _, leaf = path.rpartition("/")
    parent = folder.rpartition("/")[2]
    rules = [_CHILDREN[parent]] if parent in _CHILDREN else []
    for pattern, maker, kind in [*rules, *_LEAVES]:
        if found := pattern.fullmatch(leaf):
            parts = found.groupdict()
            own = parts.get("id") or parts["uid"].replace("_", "-")
            return Named(maker, kind, unescaped(own))
    return None


def is_nobody(leaf: str) -> bool:
    """Whether a control group of this name is a helper of the system, and no workload's."""
    return _NOBODY.fullmatch(leaf) is not None


def unescaped(name: str) -> str:
    """A unit's name with the characters that systemd wrote as `\\xNN`."""
    if "\\x" not in name:
        return name
    raw = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), name)
    try:
        return raw.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return raw
