"""Why a device cannot have weights, found out before anything is written to it."""

from enforcers.host_fs import HostFs
from enforcers.mechanism import Obstacle


def why_weightless(host_fs: HostFs, number: str, *, has_iocost: bool) -> Obstacle | None:
    """What stands in the way, and the one thing to do; None where iocost can be had.

    The kernel takes weights for a loop device and beside BFQ, and they do not do what they say.
    """
    place = f"/sys/dev/block/{number}"
    if not has_iocost:
        return _obstacle(
            "this kernel has no io.weight (CONFIG_BLK_CGROUP_IOCOST is off)",
            "start a kernel that has it",
        )
    if host_fs.is_dir(f"{place}/loop"):
        file = (host_fs.read_or_none(f"{place}/loop/backing_file") or "its file").strip()
        return _obstacle(
            f"{number} is a loop device, whose I/O waits in the disk of {file} anyway",
            "name that disk instead",
        )
    if not host_fs.is_dir(f"{place}/mq"):
        return _obstacle(
            f"{number} has no request queue of its own, which iocost needs",
            "name the disks below it",
        )
    if "[bfq]" in (host_fs.read_or_none(f"{place}/queue/scheduler") or "").split():
        return _obstacle(
            f"{number} has the scheduler BFQ, which goes by weights of its own (io.bfq.weight) "
            "and not by io.weight",
            f"write mq-deadline to {place}/queue/scheduler",
        )
    return None


def _obstacle(reason: str, remedy: str) -> Obstacle:
    return Obstacle(reason=reason, remedy=remedy, is_total=False)
