"""The files that let HTB work: modules at boot, and the right to try it out."""

from collections.abc import Iterator

from enforcers.fix import Fix
from enforcers.host_fs import HostFs

MODULES_FILE = "/etc/modules-load.d/sluice-enforcer.conf"
TRY_OUT_FILE = "/etc/systemd/system/sluice-enforcer.service.d/50-try-out.conf"
# In the order in which systemd looks for them.
_UNITS = tuple(
    f"{folder}/systemd/system/sluice-enforcer.service" for folder in ("/etc", "/usr/lib", "/lib")
)
_MODULES = ("sch_htb", "cls_u32", "sch_fq_codel")
# With one of these a process without CAP_SYS_ADMIN gets no network namespace of its own.
_FORBIDDING = {
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
    "/proc/sys/kernel/unprivileged_userns_clone": "0",
    "/proc/sys/user/max_user_namespaces": "0",
}


def module_fixes(host_fs: HostFs) -> Iterator[Fix]:
    """For a kernel that did not load by itself what it has; requires that something is missing."""
    release = (host_fs.read_or_none("/proc/sys/kernel/osrelease") or "").strip()
    listed = host_fs.read_or_none(f"/lib/modules/{release}/modules.dep") or ""
    present = {
        line.partition(":")[0].rpartition("/")[2].partition(".")[0] for line in listed.splitlines()
    }
    missing = [
        name for name in _MODULES if name in present and not host_fs.is_dir(f"/sys/module/{name}")
    ]
    if not missing:
        return
    is_shut = (host_fs.read_or_none("/proc/sys/kernel/modules_disabled") or "").strip() == "1"
    yield Fix(
        path=MODULES_FILE,
        lines=("# Loads what the kernel needs for HTB at boot.", *missing),
        gives="bandwidth of uplinks: HTB",
        next_steps=(
            "Start this host again when it suits: this kernel takes no module until then.",
        )
        if is_shut
        else ("systemctl restart systemd-modules-load",),
        undo_steps=(f"modprobe -r {' '.join(missing)}, or start this host again",),
    )


def unit_fixes(host_fs: HostFs) -> Iterator[Fix]:
    """For a service that may not try HTB out, though a shell of root may."""
    is_forbidden = any(
        (host_fs.read_or_none(path) or "").strip() == value for path, value in _FORBIDDING.items()
    )
    texts = [text for path in _UNITS if (text := host_fs.read_or_none(path)) is not None]
    if not is_forbidden or not texts:
        return
    sets = [line for line in texts[0].splitlines() if line.startswith("CapabilityBoundingSet=")]
    if not sets or "CAP_SYS_ADMIN" in " ".join(sets):
        return
    yield Fix(
        path=TRY_OUT_FILE,
        lines=(
            "# This host forbids user namespaces, so the agent needs CAP_SYS_ADMIN to try HTB out",
            "# in a network namespace of its own.",
            "[Service]",
            "CapabilityBoundingSet=CAP_SYS_ADMIN",
        ),
        gives="bandwidth of uplinks: the agent as a service can see that HTB works",
        next_steps=(
            "systemctl daemon-reload",
            "systemctl kill --kill-whom=main --signal=SIGUSR1 sluice-enforcer",
        ),
        undo_steps=(
            "systemctl daemon-reload",
            "systemctl kill --kill-whom=main --signal=SIGUSR1 sluice-enforcer",
        ),
    )
