"""Which workload a cgroup is, by the names that hypervisors and managers give."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class CgroupKind(StrEnum):
    """Who made a cgroup."""

    PROXMOX = "proxmox"
    LXC = "lxc"
    DOMAIN = "domain"
    CONTAINER = "container"
    POD = "pod"
    UNIT = "unit"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroup:
    """A cgroup that is a workload.

    `path` is the whole workload's cgroup: of a path below, that part of it. `key` is what its
    maker calls it: `qemu/101`, a domain's name as far as it is kept, a container's or pod's id.
    """

    path: str
    kind: CgroupKind
    key: str


MOUNT = "/sys/fs/cgroup"
"""Where control groups are mounted; Telegraf sends paths with it, others without."""

_ID = r"([0-9a-f]{64})"
_MAKERS = "docker|libpod|crio|cri-containerd|nerdctl"
_POD = re.compile(r"(?:kubepods(?:-burstable|-besteffort)?-)?pod([0-9a-f_-]{32,36})(?:\.slice)?")
_PARTS: tuple[tuple[re.Pattern[str], CgroupKind, str], ...] = (
    (re.compile(r"machine-qemu-\d+-(.+)\.scope"), CgroupKind.DOMAIN, "{}"),
    (re.compile(r"qemu-\d+-(.+)\.libvirt-qemu"), CgroupKind.DOMAIN, "{}"),
    (re.compile(rf"(?:{_MAKERS})-{_ID}(?:\.scope)?"), CgroupKind.CONTAINER, "{}"),
    (re.compile(_ID), CgroupKind.CONTAINER, "{}"),
    (re.compile(r"machine-lxc-\d+-(.+)\.scope"), CgroupKind.LXC, "{}"),
    (re.compile(r"lxc\.payload\.(.+)"), CgroupKind.LXC, "{}"),
    (re.compile(r"machine-(.+)\.scope"), CgroupKind.CONTAINER, "{}"),
)  # fmt: skip
_NO_WORKLOADS = re.compile(
    r"libpod-conmon-.+|crio-conmon-.+|lxc\.monitor.*|.+\.mount|.+\.swap|init\.scope|-\.mount"
)
_GROUPS = re.compile(
    r"(system|user|machine|qemu|lxc|docker|kubepods(-burstable|-besteffort)?)(\.slice)?"
    r"|burstable|besteffort|libpod_parent|system-.+\.slice"
)
"""They only hold workloads."""
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


def unescaped(name: str) -> str:
    """A name of a systemd unit as people write it: `\\x2d` is a hyphen."""
    if "\\x" not in name:
        return name
    raw = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), name)
    return raw.encode("latin-1", "replace").decode("utf-8", "replace")


def below_mount(path: str) -> str:
    """The path of a group below the mount of all, however it was sent."""
    is_whole = path == MOUNT or path.startswith(f"{MOUNT}/")
    return "/" + (path.removeprefix(MOUNT) if is_whole else path).strip("/")


def read_cgroup(path: str) -> Cgroup | None:
    """The workload that this cgroup is or belongs to; None if it only holds workloads."""
    parts = [part for part in below_mount(path).split("/") if part]
    for at, part in enumerate(parts):
        own = "/" + "/".join(parts[: at + 1])
        if _NO_WORKLOADS.fullmatch(part):
            return None
        found = _known(parts, at)
        if found is not None:
            kind, key = found
            return Cgroup(path=_as_sent(path, own), kind=kind, key=key)
    if not parts or _GROUPS.fullmatch(parts[-1]):
        return None
    return Cgroup(path=path, kind=CgroupKind.OTHER, key=unescaped(parts[-1]))


def _as_sent(path: str, own: str) -> str:
    """The path of the workload, below the same root as the one that was sent."""
    root = MOUNT if path.startswith(f"{MOUNT}/") else ""
    return f"{root}{own}" if path.startswith("/") else own[1:]


def _known(parts: Sequence[str], at: int) -> tuple[CgroupKind, str] | None:
    part, above = parts[at], parts[at - 1] if at else ""
    plain = unescaped(part)
    if above == "qemu.slice" and (found := re.fullmatch(r"(\d+)\.scope", part)):
        return CgroupKind.PROXMOX, f"qemu/{found[1]}"
    if above in ("lxc", "lxc.slice") and part.isdecimal():
        return CgroupKind.LXC, f"lxc/{part}"
    if pod := _POD.fullmatch(plain):
        return CgroupKind.POD, pod[1].replace("_", "-")
    for pattern, kind, key in _PARTS:
        if found := pattern.fullmatch(plain):
            return kind, key.format(found[1])
    if re.fullmatch(r"user-\d+\.slice", part) or part.endswith((".service", ".scope")):
        return CgroupKind.UNIT, plain
    if part.endswith(".slice") and not _GROUPS.fullmatch(part):
        return None
    return None


def workload_cgroups(paths: Iterable[str]) -> list[tuple[Cgroup, tuple[str, ...]]]:
    """The workloads among the cgroups of one host, each with those paths that count its I/O once.

    A cgroup counts the I/O of those below it. Where the workload's own does not send, the
    highest of those below it count. An unknown cgroup above others only holds them.
    """
    sent = sorted(set(paths))
    holding = {above for path in sent for above in _above(path)}
    below: dict[Cgroup, list[str]] = {}
    for path in sent:
        found = read_cgroup(path)
        if found is not None and not (found.kind is CgroupKind.OTHER and path in holding):
            below.setdefault(found, []).append(path)
    return [
        (cgroup, tuple(p for p in own if not any(a in own for a in _above(p))))
        for cgroup, own in sorted(below.items(), key=lambda item: item[0].path)
    ]


def _above(path: str) -> list[str]:
    parts = path.rstrip("/").split("/")
    return ["/".join(parts[:at]) for at in range(len(parts) - 1, 0, -1)]


_LONGEST_MACHINE = 64
_SHORTEST_CUT = _LONGEST_MACHINE - len("qemu-4194304-")


def domain_in_cgroup(name: str) -> str:
    """What libvirt keeps of a domain's name in the name of its cgroup, before it is cut."""
    kept, skip = [], True
    for letter in name:
        if letter in ".-":
            if not skip:
                kept.append(letter)
            skip = True
            continue
        skip = False
        if letter.isascii() and letter.isalnum():
            kept.append(letter)
    return "".join(kept).rstrip(".-")


def is_cut(key: str) -> bool:
    """Whether the name that is kept in a cgroup may be only the beginning of the domain's."""
    return len(key) >= _SHORTEST_CUT
