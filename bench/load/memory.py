"""The memory of the product's processes, each page counted once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.chaos.parts import parts_below, processes_now, tree_of
from bench.chaos.schedule import Part

KIB = 1024
MB = 1e6
_DATABASE = {Part.POSTMASTER, Part.BACKEND, Part.AUXILIARY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Proportional set sizes at a moment (s): of the database, and of all else of the product."""

    at_s: float
    database_bytes: int
    others_bytes: int

    @property
    def bytes(self) -> int:
        return self.database_bytes + self.others_bytes


def look(root: int, at_s: float) -> Look:
    """At the process and all below it."""
    processes = processes_now()
    parts = parts_below(root, processes)
    sizes = {pid: _pss_bytes(pid) for pid in tree_of(root, processes)}
    database = sum(size for pid, size in sizes.items() if parts.get(pid) in _DATABASE)
    return Look(at_s=at_s, database_bytes=database, others_bytes=sum(sizes.values()) - database)


def _pss_bytes(pid: int) -> int:
    """0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * KIB for line in lines if line.startswith("Pss:"))


def slope_mb_per_hour(looks: Sequence[Look]) -> float | None:
    """How fast all of it grows, by the line that fits best; None for fewer than two looks."""
    if len(looks) < 2:
        return None
    hours = np.array([one.at_s for one in looks]) / 3600
    slope, _ = np.polyfit(hours, np.array([one.bytes for one in looks]) / MB, 1)
    return float(slope)
