"""Finds what is not as the kernel has it by itself: limits and weights of groups, and iocost."""

from collections.abc import Iterator

from enforcers.host_fs import HostFs
from enforcers.ledger import LedgerEntry
from enforcers.mechanisms.cgroup_io import io_text
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.mechanisms.cgroup_io.controls import NAME
from enforcers.mechanisms.cgroup_io.iocost import ABSENT
from enforcers.mechanisms.cgroup_io.observed import (
    IO_COST_MODEL,
    IO_COST_QOS,
    IO_MAX,
    IO_WEIGHT,
    Group,
    device_number,
    disk_identity,
    io_mount,
    read_group,
    read_iocost,
)

NO_LIMITS = dict.fromkeys(io_text.IO_MAX_KEYS, io_text.UNLIMITED)


def find_unlike_default(host_fs: HostFs, config: CgroupIoConfig) -> Iterator[LedgerEntry]:
    """One entry per value that the agent may change, with the kernel's default as found."""
    mount = io_mount(host_fs)
    if mount is None:
        return
    groups = {group for subtree in config.subtrees for group in _below(host_fs, mount, subtree)}
    for device in sorted(config.devices):
        number = device_number(host_fs, device)
        if number is None:
            continue
        for group in sorted(groups):
            present = read_group(host_fs, f"{mount}{group}", number)
            for control, default in _strange(present):
                yield _entry(device, f"{group} {control}", default, present.identity)
        if device not in config.keep_iocost:
            for control in _strange_iocost(host_fs, mount, number):
                yield _entry(device, control, ABSENT, disk_identity(host_fs, number))


def _strange(present: Group) -> Iterator[tuple[str, str]]:
    if present.io_max is not None and dict(present.io_max) != NO_LIMITS:
        yield IO_MAX, io_text.format_io_max(NO_LIMITS)
    if present.weight not in {None, io_text.WEIGHT_FOLLOWS_DEFAULT}:
        yield IO_WEIGHT, io_text.WEIGHT_FOLLOWS_DEFAULT


def _strange_iocost(host_fs: HostFs, mount: str, number: str) -> Iterator[str]:
    present = read_iocost(host_fs, mount, number)
    if present.has_user_model:
        yield IO_COST_MODEL
    if present.is_enabled:
        yield IO_COST_QOS


def _entry(device: str, thing: str, found: str, identity: str | None) -> LedgerEntry:
    return LedgerEntry(mechanism=NAME, device=device, thing=thing, found=found, identity=identity)


def _below(host_fs: HostFs, mount: str, group: str) -> Iterator[str]:
    """A group and all groups in it, by path below the mount."""
    if host_fs.is_dir(f"{mount}{group}"):
        yield group.rstrip("/")
    for name in host_fs.folders(f"{mount}{group}"):
        yield from _below(host_fs, mount, f"{group.rstrip('/')}/{name}")
