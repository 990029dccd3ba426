"""CPU time of processes and of all their children, by `/proc`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_s(roots: Iterable[int]) -> float:
    """Of these processes, their descendants, and those of them that have ended."""
    processes = _processes()
    found = set(roots)
    grew = True
    while grew:
        grown = found | {pid for pid, (parent, _) in processes.items() if parent in found}
        grew, found = len(grown) > len(found), grown
    return sum(processes[pid][1] for pid in found if pid in processes) * TICK_S


def _processes() -> dict[int, tuple[int, int]]:
    """Parent and clock ticks of each process; those of ended children are the parent's."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    return found
