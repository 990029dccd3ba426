"""What the kernel has for one block device in the control groups that matter."""

from collections.abc import Mapping
from dataclasses import dataclass

from enforcers.host_fs import HostFs
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import Note, Obstacle
from enforcers.mechanisms.cgroup_io import io_text
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.mechanisms.cgroup_io.file_systems import Mounted, network_kind, without_writeback
from enforcers.mechanisms.cgroup_io.iocost import Iocost, Model
from enforcers.mechanisms.cgroup_io.standing import Standing
from enforcers.mechanisms.cgroup_io.weightless import why_weightless

IO_MAX = "io.max"
IO_WEIGHT = "io.weight"
IO_STAT = "io.stat"
IO_COST_QOS = "io.cost.qos"
IO_COST_MODEL = "io.cost.model"
DEBUG_STATS = "/sys/module/blk_cgroup/parameters/blkcg_debug_stats"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A control group's values for one device; None where it has no such control file.

    `identity` is that of the group as long as it lives.
    """

    identity: str | None
    io_max: Mapping[str, str] | None
    weight: str | None
    stat: Mapping[str, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IoObserved:
    """One device. `problem` says why nothing can be done for it at all.

    `identity` is that of the disk as long as it is there, whatever gets its number later.

    `refusal` says why nothing new may be done for it; what was noted may still be put back.
    `groups` has only the groups that exist, by path below the cgroup mount. `debug_stats` is
    whether io.stat shows how long a group waited: Y or N, None where the kernel has no choice.
    `weightless` is why it cannot have weights, and `unattributed` a filesystem on it whose
    buffered writes count for no group. `places` are the groups of allocations that name a
    workload, or why there is not just one.
    """

    device: str
    problem: str | None
    refusal: str | None
    number: str
    identity: str | None
    mount: str
    iocost: Iocost
    weightless: Obstacle | None
    unattributed: Mounted | None
    keeps_iocost: bool
    operators_model: Model | None
    is_capacity_measured: bool
    tracks_capacity: bool
    debug_stats: str | None
    groups: Mapping[str, Group]
    entries: tuple[LedgerEntry, ...]
    standing: Standing
    places: Mapping[str, str | Note]

    def control_path(self, group: str, control: str) -> str:
        """The host path of a control file."""
        return f"{self.mount}{group.rstrip('/')}/{control}"


def observe(
    host_fs: HostFs,
    device: str,
    *,
    groups: set[str],
    config: CgroupIoConfig,
    entries: tuple[LedgerEntry, ...],
    standing: Standing,
    places: Mapping[str, str | Note],
) -> IoObserved:
    """Read the control files of the groups. A file that is not there is an answer."""
    mount = io_mount(host_fs)
    number = device_number(host_fs, device)
    problem = None
    if mount is None:
        problem = why_no_io(host_fs)
    elif number is None:
        problem = no_block_device(host_fs, device)
    elif host_fs.read_or_none(f"/sys/dev/block/{number}/partition") is not None:
        problem = f"{device} is a partition; I/O is controlled on whole devices only"
    if problem is not None or mount is None or number is None:
        return IoObserved(
            device=device,
            problem=problem,
            refusal=None,
            number=number or "",
            identity=None,
            mount=mount or "",
            iocost=Iocost(model=None, qos=None),
            weightless=None,
            unattributed=None,
            keeps_iocost=True,
            operators_model=None,
            is_capacity_measured=False,
            tracks_capacity=False,
            debug_stats=None,
            groups={},
            entries=entries,
            standing=standing,
            places=places,
        )
    names = {name for name in config.devices if device_number(host_fs, name) == number}
    known = ", ".join(sorted(config.devices)) or "none"
    models = [model for name in sorted(names) if (model := config.model(name)) is not None]
    return IoObserved(
        device=device,
        problem=None,
        refusal=None
        if names
        else f"device {device!r} is not among cgroup_io.devices (now: {known})",
        number=number,
        identity=disk_identity(host_fs, number),
        mount=mount,
        iocost=read_iocost(host_fs, mount, number),
        weightless=why_weightless(host_fs, number, has_iocost=knows_iocost(host_fs, mount)),
        unattributed=without_writeback(host_fs, number),
        keeps_iocost=bool(names & config.keep_iocost),
        operators_model=models[0] if models else None,
        is_capacity_measured=bool(names & config.capacity_is_measured),
        tracks_capacity=bool(names & config.track_capacity),
        debug_stats=_stripped(host_fs.read_or_none(DEBUG_STATS)),
        groups={
            group: read_group(host_fs, f"{mount}{group.rstrip('/')}", number)
            for group in sorted(groups)
            if host_fs.is_dir_below(mount, group)
        },
        entries=entries,
        standing=standing,
        places=places,
    )


def io_mount(host_fs: HostFs) -> str | None:
    """Where the cgroup v2 tree with the io controller is mounted, None if there is none."""
    for path, kind, _ in _mounts(host_fs):
        if kind == "cgroup2":
            controllers = host_fs.read_or_none(f"{path}/cgroup.controllers") or ""
            if "io" in controllers.split():
                return path
    return None


def has_iocost(host_fs: HostFs, mount: str) -> bool:
    """Whether iocost, and with it the weights, works on any device."""
    lines = (host_fs.read_or_none(f"{mount}/{IO_COST_QOS}") or "").splitlines()
    return any(io_text.is_iocost_enabled(line, line.partition(" ")[0]) for line in lines)


def knows_iocost(host_fs: HostFs, mount: str) -> bool:
    """Whether this kernel has iocost."""
    return host_fs.read_or_none(f"{mount}/{IO_COST_QOS}") is not None


def why_no_io(host_fs: HostFs) -> str:
    """Why there is no usable io controller, and what would help."""
    for path, kind, options in _mounts(host_fs):
        if kind == "cgroup" and "blkio" in options:
            return (
                f"the io controller is bound to cgroup v1 at {path}; "
                "boot with systemd.unified_cgroup_hierarchy=1"
            )
    if not any(kind == "cgroup2" for _, kind, _ in _mounts(host_fs)):
        return "no cgroup v2 tree is mounted"
    return "CONFIG_BLK_CGROUP is off in this kernel, or cgroup_disable=io was given at boot"


def lacks_unified_tree(host_fs: HostFs) -> bool:
    """Whether the io controller is away because systemd mounts cgroup v1, or both."""
    kinds = [(kind, options) for _, kind, options in _mounts(host_fs)]
    is_in_v1 = any(kind == "cgroup" and "blkio" in options for kind, options in kinds)
    return is_in_v1 or not any(kind == "cgroup2" for kind, _ in kinds)


def device_number(host_fs: HostFs, device: str) -> str | None:
    """MAJ:MIN of a block device given by name or number, None if it is not there."""
    if ":" in device:
        return device if host_fs.is_dir(f"/sys/dev/block/{device}") else None
    if "/" in device or device.startswith("."):
        return None
    found = host_fs.read_or_none(f"/sys/class/block/{device}/dev")
    return None if found is None else found.strip()


def no_block_device(host_fs: HostFs, device: str) -> str:
    """Why there is nothing to control, and of a filesystem over the network what would."""
    kind = network_kind(host_fs, device)
    if kind is None:
        return f"there is no block device {device!r}"
    return (
        f"{device} is a filesystem over the network ({kind}), and no block device of this host "
        "carries its I/O; limit QEMU guests on it by qemu_throttle"
    )


def disk_identity(host_fs: HostFs, number: str) -> str | None:
    """What tells a disk from another that gets its MAJ:MIN after it: the number of its folder.

    `diskseq` changes with the medium too, which iocost outlives.
    """
    return host_fs.identity(f"/sys/dev/block/{number}")


def read_iocost(host_fs: HostFs, mount: str, number: str) -> Iocost:
    """What iocost says of a device."""
    qos = host_fs.read_or_none(f"{mount}/{IO_COST_QOS}")
    return Iocost(
        model=io_text.line_of(host_fs.read_or_none(f"{mount}/{IO_COST_MODEL}") or "", number),
        qos=io_text.line_of(qos or "", number),
    )


def _stripped(text: str | None) -> str | None:
    return None if text is None else text.strip()


def read_group(host_fs: HostFs, path: str, number: str) -> Group:
    """The values of one device in the group at a host path."""
    io_max = host_fs.read_or_none(f"{path}/{IO_MAX}")
    weight = host_fs.read_or_none(f"{path}/{IO_WEIGHT}")
    stat = host_fs.read_or_none(f"{path}/{IO_STAT}")
    return Group(
        identity=host_fs.identity(path),
        io_max=None if io_max is None else io_text.parse_io_max(io_max, number),
        weight=None if weight is None else io_text.parse_weight(weight, number),
        stat=None if stat is None else io_text.parse_io_stat(stat, number),
    )


def _mounts(host_fs: HostFs) -> list[tuple[str, str, list[str]]]:
    lines = (host_fs.read_or_none("/proc/self/mounts") or "").splitlines()
    words = [line.split() for line in lines]
    return [(w[1], w[2], w[3].split(",")) for w in words if len(w) > 3]
