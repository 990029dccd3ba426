"""What keeps the configured devices and groups from being controlled, and what to do."""

from collections.abc import Iterator
from dataclasses import replace

from enforcers.host_fs import HostFs
from enforcers.mechanism import Obstacle
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.mechanisms.cgroup_io.file_systems import network_kind, unattributed_writes
from enforcers.mechanisms.cgroup_io.known_models import SOURCE, known_model
from enforcers.mechanisms.cgroup_io.observed import (
    device_number,
    io_mount,
    no_block_device,
    observe,
    why_no_io,
)
from enforcers.mechanisms.cgroup_io.ownership import NOBODY_MEASURED, TO_MEASURE, lacks_model
from enforcers.mechanisms.cgroup_io.standing import Standing


def obstacles(host_fs: HostFs, config: CgroupIoConfig) -> Iterator[tuple[str, Obstacle | None]]:
    """One for each device and each subtree, None where nothing stands in the way."""
    mount = io_mount(host_fs)
    for device in sorted(config.devices):
        yield device, _of_device(host_fs, device, mount) or _of_weights(host_fs, device, config)
    for subtree in sorted(config.subtrees):
        yield subtree, None if mount is None else _of_subtree(host_fs, f"{mount}{subtree}")


def _of_device(host_fs: HostFs, device: str, mount: str | None) -> Obstacle | None:
    if mount is None:
        remedy = "start the host with the io controller of cgroup v2"
        return Obstacle(reason=why_no_io(host_fs), remedy=remedy)
    number = device_number(host_fs, device)
    if number is None and network_kind(host_fs, device) is not None:
        reason, _, remedy = no_block_device(host_fs, device).partition("; ")
        return Obstacle(reason=reason, remedy=remedy)
    if number is None:
        return Obstacle(
            reason=f"there is no block device {device!r}",
            remedy="name one of those that lsblk shows in cgroup_io.devices",
        )
    if host_fs.read_or_none(f"/sys/dev/block/{number}/partition") is not None:
        return Obstacle(
            reason="it is a partition; I/O is controlled on whole devices only",
            remedy="name its disk in cgroup_io.devices",
        )
    return None


def _of_weights(host_fs: HostFs, device: str, config: CgroupIoConfig) -> Obstacle | None:
    """Why the device has limits alone, if that is not what the operator wants."""
    observed = observe(
        host_fs, device, groups=set(), config=config, entries=(), standing=Standing(), places={}
    )
    if observed.weightless is not None:
        reason = (
            f"limits hold; shares and reservations have no effect: {observed.weightless.reason}"
        )
        return replace(observed.weightless, reason=reason)
    if not observed.keeps_iocost and lacks_model(observed):
        return Obstacle(
            reason=f"limits hold; shares and reservations have no effect, for {NOBODY_MEASURED}",
            remedy=_to_measure(host_fs, device, observed.number),
            is_total=False,
        )
    if observed.unattributed is None:
        return None
    return Obstacle(
        reason=unattributed_writes(observed.unattributed),
        remedy="keep what shall be limited on ext4, xfs, btrfs or f2fs, or write it directly",
        is_total=False,
    )


def _to_measure(host_fs: HostFs, device: str, number: str) -> str:
    """What to do for a model; where others measured disks of this kind, theirs to judge."""
    known = known_model(host_fs, number)
    if known is None:
        return TO_MEASURE
    rates = " ".join(known.words)
    return (
        f"{TO_MEASURE}; or, if you agree with what {SOURCE} says of this kind of disk, put "
        f"{f'{device} {rates}'!r} into cgroup_io.models"
    )


def _of_subtree(host_fs: HostFs, path: str) -> Obstacle | None:
    if not host_fs.is_dir(path):
        return Obstacle(
            reason="there is no such control group",
            remedy="start a workload in it, or correct cgroup_io.subtrees",
        )
    if _is_off(host_fs, path):
        unit = path.rpartition("/")[2]
        return Obstacle(
            reason="the io controller is off for it",
            remedy=f"systemctl set-property {unit} IOAccounting=yes",
        )
    if _is_off_below(host_fs, path):
        return Obstacle(
            reason="the io controller is off for the groups in it",
            remedy="sluice-enforcer doctor --fix, or write +io to its cgroup.subtree_control",
        )
    return None


def group_lacks_io(host_fs: HostFs, path: str) -> bool:
    """Whether a group that is there has no io controller, or its own groups have none."""
    return host_fs.is_dir(path) and (_is_off(host_fs, path) or _is_off_below(host_fs, path))


def _is_off(host_fs: HostFs, path: str) -> bool:
    return "io" not in (host_fs.read_or_none(f"{path}/cgroup.controllers") or "").split()


def _is_off_below(host_fs: HostFs, path: str) -> bool:
    """A group without groups in it has nobody to give the controller to."""
    given = host_fs.read_or_none(f"{path}/cgroup.subtree_control")
    return given is not None and "io" not in given.split() and bool(host_fs.folders(path))
