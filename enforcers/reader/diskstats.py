"""Block devices from `/proc/diskstats`, as Telegraf's input `diskio` names their counters."""

from dataclasses import dataclass

from enforcers.reader.host_tree import HostTree
from enforcers.reader.line import head, integers, whole

PATH = "/proc/diskstats"
SECTOR_BYTES = 512  # In this file always, whatever the device's own sectors are.
# Loop and memory devices move data between others; they are no storage of their own.
LEFT_OUT = ("loop", "ram", "zram")
# Reads, merged, sectors, ms; writes the same; in flight, ms busy, ms weighted. Kernels since 4.18
# and 5.5 add four of discards and two of flushes, for which `diskio` has no names.
_COUNTERS = 11


@dataclass(frozen=True, slots=True)
class Disk:
    """One line of the file; `counters` are its first eleven."""

    major: int
    minor: int
    name: str
    counters: tuple[int, ...]

    @property
    def majmin(self) -> str:
        """The number under which cgroups count its I/O."""
        return f"{self.major}:{self.minor}"


def read_disks(tree: HostTree) -> dict[str, Disk]:
    """All devices but loop and memory devices, by name.

    A device that comes or goes while the file is read may be there twice: the later line counts.
    """
    disks: dict[str, Disk] = {}
    for line in tree.lines(PATH):
        words = line.split()
        if len(words) < 3:
            continue
        name = words[2]
        if name.startswith(LEFT_OUT):
            continue
        disk = _disk(words)
        if disk is None:
            tree.note(f"{PATH}: {name}", f"has {len(words)} fields that are not understood")
            continue
        disks[name] = disk
    return disks


def disk_line(host: str, disk: Disk, wwid: str | None) -> str:
    """The counters of a device under the names of `diskio`."""
    (
        reads, merged_reads, sectors_read, read_ms,
        writes, merged_writes, sectors_written, write_ms,
        in_flight, busy_ms, weighted_ms,
    ) = disk.counters  # fmt: skip
    fields = {
        "reads": reads,
        "writes": writes,
        "read_bytes": sectors_read * SECTOR_BYTES,
        "write_bytes": sectors_written * SECTOR_BYTES,
        "read_time": read_ms,
        "write_time": write_ms,
        "io_time": busy_ms,
        "weighted_io_time": weighted_ms,
        "iops_in_progress": in_flight,
        "merged_reads": merged_reads,
        "merged_writes": merged_writes,
    }
    return f"{head('diskio', host, name=disk.name, wwid=wwid)} {integers(fields)}"


def number_line(host: str, disk: Disk) -> str:
    """The device's number, under which cgroups count its I/O."""
    return f"{head('block_device', host, name=disk.name)} major={disk.major}i,minor={disk.minor}i"


def _disk(words: list[str]) -> Disk | None:
    counters = tuple(
        value for word in words[3 : 3 + _COUNTERS] if (value := whole(word)) is not None
    )
    major, minor = whole(words[0]), whole(words[1])
    if len(counters) < _COUNTERS or major is None or minor is None:
        return None
    return Disk(major, minor, words[2], counters)
