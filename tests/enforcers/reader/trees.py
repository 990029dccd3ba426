"""File trees in place of a host's `/proc`, `/sys` and the rest."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MOUNT = "/sys/fs/cgroup"
MOUNTINFO = f"31 23 0:28 / {MOUNT} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"


@dataclass(frozen=True)
class Link:
    """A symbolic link instead of a file."""

    target: str


def plant(root: Path, files: Mapping[str, str | bytes | Link]) -> Path:
    """Write files by their absolute host path below the root."""
    for path, content in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Link):
            place.symlink_to(content.target)
        elif isinstance(content, bytes):
            place.write_bytes(content)
        else:
            place.write_text(content)
    return root


def cgroup(path: str, *, io: str = "", waited_us: int = 0) -> dict[str, str | bytes | Link]:
    """The files of one control group below the mount."""
    pressure = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={waited_us}\n"
    return {f"{MOUNT}{path}/io.stat": io, f"{MOUNT}{path}/io.pressure": pressure}


def untar(archive: Path, into: Path) -> Path:
    """Unpack a `.ttar` text archive: paths, links and files with their number of lines."""
    raw = archive.read_bytes()
    lines = (gzip.decompress(raw) if archive.suffix == ".gz" else raw).split(b"\n")
    number = 0
    while number < len(lines):
        key, _, value = lines[number].partition(b": ")
        number += 1
        if key == b"Directory":
            place = into / os.fsdecode(value)
            place.mkdir(parents=True, exist_ok=True)
        elif key == b"Path":
            place = into / os.fsdecode(value)
            place.parent.mkdir(parents=True, exist_ok=True)
        elif key == b"SymlinkTo":
            place.symlink_to(os.fsdecode(value))
        elif key == b"Lines":
            taken = lines[number : number + int(value)]
            number += int(value)
            place.write_bytes(_plain(b"".join(line + b"\n" for line in taken)))
    return into


def _plain(text: bytes) -> bytes:
    """`EOF` at the end of a line takes its line break away; a backslash shields a real one."""
    text = text.replace(b"NULLBYTE", b"\0").replace(b"\\\0", b"NULLBYTE")
    return text[:-4] if text.endswith(b"EOF\n") else text


def only(lines: tuple[str, ...], measurement: str, *parts: str) -> list[str]:
    """The lines of a measurement that hold all these parts, without their time."""
    return [
        line.rpartition(" ")[0]
        for line in lines
        if line.startswith(f"{measurement},") and all(part in line for part in parts)
    ]
