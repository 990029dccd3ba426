"""What groups and the device did between two readings of their counters. Pure."""

from dataclasses import dataclass

from enforcers.contract import Unit
from enforcers.mechanisms.cgroup_io.controls import stat_keys

# Shorter waiting than this part of the time is the rounding of iocost's periods.
_WAITS_RATIO = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A group's totals: what it read and wrote in the resource's unit, and waited in iocost.

    `waited_us` None: the kernel does not show it.
    """

    at_s: float
    reads: int
    writes: int
    waited_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Did:
    """Rates per second between two counts, and for which part of the last period it waited."""

    elapsed_s: float
    reads: float
    writes: float
    waited_ratio: float

    @property
    def rate(self) -> float:
        """Reads and writes together."""
        return self.reads + self.writes

    @property
    def waits(self) -> bool:
        """Whether it wanted more than iocost let through."""
        return self.waited_ratio > _WAITS_RATIO


def count_of(line: str, unit: Unit, at_s: float) -> Count:
    """The totals out of a device's line of io.stat; a group without I/O has none."""
    read_key, write_key = stat_keys(unit)
    return Count(
        at_s=at_s,
        reads=_total(line, read_key) or 0,
        writes=_total(line, write_key) or 0,
        waited_us=_total(line, "cost.wait"),
    )


def _total(line: str, key: str) -> int | None:
    """What follows a key; hundreds of lines are read each second, so the rest is left alone."""
    _, mark, rest = f" {line}".partition(f" {key}=")
    return int(rest.partition(" ")[0]) if mark else None


def did(before: Count | None, after: Count, *, period_s: float) -> Did | None:
    """What was done between two counts; None for counts that are not of one life of a group.

    Groups are not read while nobody waits, so waiting since a count of long ago belongs to the
    last period.
    """
    if before is None or after.at_s <= before.at_s:
        return None
    reads, writes = after.reads - before.reads, after.writes - before.writes
    waited_us = (after.waited_us or 0) - (before.waited_us or 0)
    if min(reads, writes, waited_us) < 0:
        return None
    elapsed_s = after.at_s - before.at_s
    return Did(
        elapsed_s=elapsed_s,
        reads=reads / elapsed_s,
        writes=writes / elapsed_s,
        waited_ratio=waited_us / 1e6 / min(elapsed_s, period_s),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCount:
    """A disk's own totals (Documentation/block/stat.rst): I/Os, bytes, and milliseconds."""

    at_s: float
    ios: int
    bytes: int
    queued_ms: int


def disk_count(text: str, at_s: float) -> DiskCount | None:
    """The totals out of a disk's file `stat`; None if it is not one."""
    words = text.split()
    if len(words) < 11 or not all(word.isdecimal() for word in words[:11]):
        return None
    numbers = [int(word) for word in words[:11]]
    return DiskCount(
        at_s=at_s,
        ios=numbers[0] + numbers[4],
        bytes=(numbers[2] + numbers[6]) * 512,
        queued_ms=numbers[10],
    )
