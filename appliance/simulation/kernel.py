"""A kernel's control groups in memory: io.max of one disk, as cgroup v2 answers writes.

It outlives the agent and is forgotten with the boot. Weights are left out: iocost is known to this
kernel and on for no device, as on every stock host.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from enforcers.host_fs import HostFs

MOUNT = "/sys/fs/cgroup"
KEYS = ("rbps", "wbps", "riops", "wiops")
DISK_NUMBER = "8:0"
DISK_NAME = "sda"
OTHER_NAME = "sdq"
"""What udev calls the disk for a while."""
UNLIMITED = "max"
# UINT_MAX and U64_MAX of tg_set_limit in block/blk-throttle.c are `max`; 0 and 1 are refused.
_LIMITLESS = {"rbps": 2**64 - 1, "wbps": 2**64 - 1, "riops": 2**32 - 1, "wiops": 2**32 - 1}
_SMALLEST = 2

Limits = dict[str, str]
Told = Callable[[str, Limits], None]
"""The group and what it has after a write."""


@dataclass(slots=True)
class Group:
    """A control group. `found` is what it had when the agent had set nothing."""

    identity: int
    limits: Limits
    found: Limits = field(init=False)

    def __post_init__(self) -> None:
        self.found = dict(self.limits)

    @property
    def is_as_found(self) -> bool:
        """Whether nothing of an agent is there."""
        return self.limits == self.found


class SimulatedKernel(HostFs):
    """The files below /sys and /proc that cgroup_io looks at."""

    def __init__(
        self, groups: Mapping[str, Mapping[str, str]], *, before_write: Callable[[], None]
    ) -> None:
        """`groups` are the limits that others have set, by path. `before_write` may raise."""
        super().__init__(Path("/nonexistent"))
        self._identities = count(1000)
        self._before_write = before_write
        self._start = {path: dict(limits) for path, limits in groups.items()}
        self.groups: dict[str, Group] = {}
        self.told: Told = lambda _group, _limits: None
        self.disk_name = DISK_NAME
        self.boot()

    def boot(self) -> None:
        """Begin anew: others set their limits at each start."""
        self.disk_name = DISK_NAME
        self.groups.clear()
        for path, limits in self._start.items():
            self.make_anew(path, limits)

    def make_anew(self, path: str, limits: Mapping[str, str]) -> None:
        """A group of this name that has just been made."""
        whole = dict.fromkeys(KEYS, UNLIMITED) | dict(limits)
        self.groups[path] = Group(identity=next(self._identities), limits=whole)

    def changed(self) -> dict[str, Group]:
        """The groups that are not as they were found."""
        return {path: one for path, one in self.groups.items() if not one.is_as_found}

    def read(self, host_path: str) -> str:
        text = self._text(host_path)
        if text is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), host_path)
        return text

    def read_or_none(self, host_path: str) -> str | None:
        return self._text(host_path)

    def write(self, host_path: str, text: str) -> None:
        self._before_write()
        group = self._group_of(host_path)
        if group is None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), host_path)
        path, present = group
        number, *words = text.split()
        wanted = dict(word.split("=", 1) for word in words)
        if number != DISK_NUMBER or not wanted.keys() <= set(KEYS):
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        present.limits = present.limits | {key: _taken(key, wanted[key]) for key in wanted}
        self.told(path, present.limits)

    def is_dir(self, host_path: str) -> bool:
        return host_path in self._folders()

    def is_dir_below(self, folder: str, below: str) -> bool:
        return self.is_dir(f"{folder}{below}".rstrip("/"))

    def folders(self, host_path: str) -> list[str]:
        start = f"{host_path.rstrip('/')}/"
        below = (one.removeprefix(start) for one in self._folders() if one.startswith(start))
        return sorted({name for name in below if "/" not in name})

    def identity(self, host_path: str) -> str | None:
        group = self.groups.get(host_path.removeprefix(MOUNT))
        if group is not None:
            return str(group.identity)
        return "1" if host_path in self._folders() else None

    def _text(self, host_path: str) -> str | None:
        group = self._group_of(host_path)
        if group is not None:
            return _shown(group[1].limits)
        if host_path == f"/sys/class/block/{self.disk_name}/dev":
            return f"{DISK_NUMBER}\n"
        if host_path.endswith("/io.stat"):
            return "" if host_path.removeprefix(MOUNT)[: -len("/io.stat")] in self.groups else None
        return _FILES.get(host_path)

    def _group_of(self, host_path: str) -> tuple[str, Group] | None:
        if not host_path.endswith("/io.max"):
            return None
        path = host_path.removeprefix(MOUNT).removesuffix("/io.max")
        group = self.groups.get(path)
        return None if group is None else (path, group)

    def _folders(self) -> Iterator[str]:
        yield from (f"/sys/dev/block/{DISK_NUMBER}", f"/sys/dev/block/{DISK_NUMBER}/mq")
        for path in self.groups:
            yield f"{MOUNT}{path}"
            yield f"{MOUNT}{path.rpartition('/')[0]}"


_FILES = {
    "/proc/self/mounts": f"cgroup2 {MOUNT} cgroup2 rw,nosuid 0 0\n",
    f"{MOUNT}/cgroup.controllers": "cpu io memory pids\n",
    f"{MOUNT}/io.cost.qos": "",
    f"{MOUNT}/io.cost.model": "",
    f"/sys/dev/block/{DISK_NUMBER}/dev": f"{DISK_NUMBER}\n",
}


def _taken(key: str, value: str) -> str:
    if value == UNLIMITED:
        return value
    number = int(value)
    if number < _SMALLEST:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return UNLIMITED if number >= _LIMITLESS[key] else value


def _shown(limits: Limits) -> str:
    """A device without a limit has no line."""
    if all(value == UNLIMITED for value in limits.values()):
        return ""
    return f"{DISK_NUMBER} {' '.join(f'{key}={limits[key]}' for key in KEYS)}\n"
