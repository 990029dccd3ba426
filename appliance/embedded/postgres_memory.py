"""PostgreSQL's memory settings by the memory of the machine, which it shares with the product."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def memory_settings(memory_bytes: int) -> dict[str, str]:
    """PostgreSQL's settings for a machine of this size; each is a part of it within bounds.

    An eighth for the database's own cache, half for what it may take to be cached at all. A
    statement may use several times `work_mem`, and about thirty connections work at a time.
    """

    def part(ratio: int, at_least: int, at_most: int) -> str:
        return f"{min(max(memory_bytes // ratio, at_least), at_most) // KIB}kB"

    return {
        "shared_buffers": part(8, 128 * MIB, 8 * GIB),
        "effective_cache_size": part(2, 512 * MIB, 1024 * GIB),
        "work_mem": part(512, 4 * MIB, 64 * MIB),
        "maintenance_work_mem": part(32, 64 * MIB, GIB),
        # Checkpoints as rare as their time limit: each writes every changed page whole again.
        "max_wal_size": part(4, GIB, 8 * GIB),
        "wal_compression": "on",
    }


def machine_memory_bytes(root: Path = Path("/")) -> int:
    """The memory that this process may use: the machine's, or less if its cgroup says so."""
    limits = [_installed_bytes(root), *_cgroup_limits(root)]
    return min(limits)


def _installed_bytes(root: Path) -> int:
    try:
        for line in (root / "proc/meminfo").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == "MemTotal":
                return int(rest.split()[0]) * KIB
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cgroup_limits(root: Path) -> list[int]:
    """The limits of the process's cgroup (version 2) and of all above it."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    limits = []
    for line in lines:
        number, _, path = line.split(":", 2)
        if number != "0":
            continue
        group = PurePosixPath(path.lstrip("/"))
        for one in (group, *group.parents):
            limit = _limit(root / "sys/fs/cgroup" / one / "memory.max")
            if limit is not None:
                limits.append(limit)
    return limits


def _limit(file: Path) -> int | None:
    """The limit in the file; None if there is none."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
