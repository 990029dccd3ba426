"""Control groups of the guest's workloads, and what the kernel counts of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PARENT = "/machine.slice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """I/O of each group that has ended since it was made, at one moment."""

    at_s: float
    ios: Mapping[str, int]

    def rates(self, before: Counts) -> dict[str, float]:
        """IOPS of each group since then."""
        took_s = self.at_s - before.at_s
        return {group: (self.ios[group] - before.ios[group]) / took_s for group in self.ios}


def make_groups(count: int, *, parent: str = PARENT) -> list[str]:
    """Groups vm1, vm2, ... as paths below the mount; those of an earlier order are gone."""
    above = folder(parent)
    above.mkdir(exist_ok=True)
    (above / "cgroup.subtree_control").write_text("+io")
    for old in above.glob("*/"):
        old.rmdir()
    names = [f"{parent}/vm{number + 1}" for number in range(count)]
    for name in names:
        folder(name).mkdir()
    return names


def folder(group: str) -> Path:
    """Where the group's control files are."""
    return ROOT / group.lstrip("/")


def stat(group: str, number: str) -> dict[str, int]:
    """The group's line of io.stat for a device; empty before its first I/O."""
    for line in (folder(group) / "io.stat").read_text().splitlines():
        device, *words = line.split()
        if device == number:
            pairs = (word.split("=", 1) for word in words)
            return {key: int(value) for key, value in pairs if value.isdecimal()}
    return {}


def counts(groups: Sequence[str], number: str) -> Counts:
    """Reads and writes together of each group."""
    ios = {}
    for group in groups:
        counted = stat(group, number)
        ios[group] = counted.get("rios", 0) + counted.get("wios", 0)
    return Counts(at_s=time.monotonic(), ios=ios)
