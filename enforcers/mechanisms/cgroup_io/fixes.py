"""The files that bring the io controller to the host, or to the groups of the configuration."""

from collections.abc import Iterator

from enforcers.fix import Fix
from enforcers.host_fs import HostFs
from enforcers.mechanisms.cgroup_io.observed import io_mount, lacks_unified_tree
from enforcers.mechanisms.cgroup_io.obstacles import group_lacks_io

UPDATE_GRUB = "/usr/sbin/update-grub"
SYSTEMD = "/run/systemd/system"
UNIFIED = "systemd.unified_cgroup_hierarchy=1"
GRUB_FILE = "/etc/default/grub.d/50-sluice-enforcer.cfg"
ACCOUNTING_FILE = "/etc/systemd/system.conf.d/50-sluice-enforcer.conf"
_UNITS = (".slice", ".scope", ".service")


def fixes(host_fs: HostFs, subtrees: frozenset[str]) -> Iterator[Fix]:
    """What a file can mend; what needs another kernel or another device has none."""
    if not host_fs.is_dir(SYSTEMD):
        return
    mount = io_mount(host_fs)
    if mount is None:
        has_grub = host_fs.read_or_none(UPDATE_GRUB) is not None
        is_asked_for = UNIFIED in (host_fs.read_or_none("/proc/cmdline") or "").split()
        if has_grub and lacks_unified_tree(host_fs) and not is_asked_for:
            yield _unified_tree()
        return
    lacking = [
        subtree
        for subtree in sorted(subtrees)
        if subtree.endswith(_UNITS) and group_lacks_io(host_fs, f"{mount}{subtree}")
    ]
    if lacking:
        yield _accounting(lacking)


def _unified_tree() -> Fix:
    return Fix(
        path=GRUB_FILE,
        lines=(
            "# Only cgroup v2, with the io controller, is mounted.",
            "# What needs cgroup v1 stops working.",
            f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {UNIFIED}"',
        ),
        gives="limits, shares and reservations on disks: the io controller of cgroup v2",
        next_steps=("update-grub", "Start this host again when it suits; nothing else does."),
        undo_steps=("update-grub", "Start this host again."),
    )


def _accounting(lacking: list[str]) -> Fix:
    return Fix(
        path=ACCOUNTING_FILE,
        lines=(
            "# Gives the control groups of all units the io controller, also of units to come.",
            "[Manager]",
            "DefaultIOAccounting=yes",
        ),
        gives=f"limits, shares and reservations for the groups of {', '.join(lacking)}",
        next_steps=(
            "systemctl daemon-reload",
            "What `sluice-enforcer doctor` shows as off then has it when its unit starts again.",
        ),
        undo_steps=("systemctl daemon-reload",),
    )
