"""What is mounted from a device, as far as that matters for the control of its I/O."""

from collections.abc import Iterator
from dataclasses import dataclass

from enforcers.host_fs import HostFs
from enforcers.reader.mount_kinds import MOUNTINFO, NETWORK_KINDS

# Those that set SB_I_CGROUPWB: a page that is written back counts for who made it dirty.
_WITH_WRITEBACK = frozenset({"ext2", "ext3", "ext4", "btrfs", "xfs", "f2fs"})
_READ_ONLY = frozenset({"squashfs", "iso9660", "erofs", "udf"})
# The firmware's partition is FAT on most hosts, and no workload's.
_OF_THE_HOST = ("/boot", "/efi")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """A filesystem where it is mounted; `number` is MAJ:MIN of its superblock."""

    number: str
    place: str
    kind: str
    source: str


def network_kind(host_fs: HostFs, device: str) -> str | None:
    """The kind of the network's filesystem that is mounted at, or from, what is named so."""
    for one in _mounted(host_fs):
        if one.kind in NETWORK_KINDS and device.rstrip("/") in {one.place, one.source}:
            return one.kind
    return None


def without_writeback(host_fs: HostFs, number: str) -> Mounted | None:
    """The first filesystem on a disk whose buffered writes count for no group."""
    place = f"/sys/dev/block/{number}"
    parts = [name for name in host_fs.folders(place) if _is_partition(host_fs, place, name)]
    numbers = {number, *(host_fs.read(f"{place}/{name}/dev").strip() for name in parts)}
    for one in _mounted(host_fs):
        is_known = one.kind in _WITH_WRITEBACK | _READ_ONLY
        if one.number in numbers and not is_known and not one.place.startswith(_OF_THE_HOST):
            return one
    return None


def unattributed_writes(on: Mounted) -> str:
    """What that means, in words."""
    return (
        f"buffered writes to {on.place} count for no group, for {on.kind} has no cgroup "
        "writeback; reads and direct I/O do"
    )


def _is_partition(host_fs: HostFs, place: str, name: str) -> bool:
    return all(
        host_fs.read_or_none(f"{place}/{name}/{file}") is not None for file in ("partition", "dev")
    )


def _mounted(host_fs: HostFs) -> Iterator[Mounted]:
    for line in (host_fs.read_or_none(MOUNTINFO) or "").splitlines():
        mounted, dash, rest = line.partition(" - ")
        words, ends = mounted.split(" "), rest.split(" ")
        if dash and len(words) > 4 and len(ends) > 1:
            yield Mounted(number=words[2], place=words[4], kind=ends[0], source=ends[1])
