"""Which process of the product is what, by its command line and its parent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.chaos.schedule import Part

_BACKEND = re.compile(r"^postgres: .*\[local\]")
_MODULES = (
    ("appliance.signer", Part.SIGNER),
    ("appliance.web_server", Part.WEB),
    ("appliance.backup.keeper", Part.KEEPER),
    ("appliance.embedded.fork_server", Part.FORK_SERVER),
    (" beat ", Part.SCHEDULER),
    (" worker ", Part.WORKER),
)


@dataclass(frozen=True, slots=True)
class Process:
    """A process, its parent and its command line."""

    pid: int
    parent: int
    command: str


def part_of(process: Process, parent: Part | None) -> Part | None:
    """What it is, where its parent is this; None for who only helps another one."""
    command = process.command
    if command.startswith("postgres: "):
        return Part.BACKEND if _BACKEND.match(command) else Part.AUXILIARY
    program = command.partition(" ")[0].rpartition("/")[2]
    if program == "postgres":
        return Part.POSTMASTER
    if program.startswith("valkey-server"):
        return Part.QUEUE
    if parent is Part.WEB:
        return Part.WEB_WORKER if "spawn_main" in command else None
    # A process of a pool has the command line of the one that it is a copy of.
    if parent is Part.WORKER:
        return Part.TASK
    return next((part for words, part in _MODULES if words in f"{command} "), None)


def parts_below(root: int, processes: Sequence[Process]) -> dict[int, Part]:
    """All that descend from a process and are a part of the product, by their numbers."""
    children: dict[int, list[Process]] = {}
    for one in sorted(processes, key=lambda one: one.pid):
        children.setdefault(one.parent, []).append(one)
    found: dict[int, Part] = {}
    waiting: list[tuple[int, Part | None]] = [(root, None)]
    while waiting:
        pid, part = waiting.pop(0)
        for child in children.get(pid, []):
            own = part_of(child, part)
            if own is not None:
                found[child.pid] = own
            waiting.append((child.pid, own))
    return found


def choose(found: Mapping[int, Part], part: Part, draw: float) -> int | None:
    """The one of several that a number from 0 to 1 tells; None if there is none now."""
    pids = sorted(pid for pid, own in found.items() if own is part)
    return pids[min(int(draw * len(pids)), len(pids) - 1)] if pids else None


def tree_of(root: int, processes: Sequence[Process]) -> list[int]:
    """A process and all that descend from it."""
    found = [root]
    for pid in found:
        found += sorted(one.pid for one in processes if one.parent == pid)
    return found


def processes_now() -> list[Process]:
    """All of this machine; who ends meanwhile is left out."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        except (OSError, UnicodeDecodeError):
            continue
        found.append(Process(int(entry.name), parent, command))
    return found
