"""QEMU processes of the host, and the workload that each is."""

from dataclasses import dataclass

from enforcers.reader.cgroup_names import Maker, Named, WorkloadKind, named
from enforcers.reader.host_tree import HostTree
from enforcers.reader.mounts import Mount, export_path
from enforcers.reader.qemu import Guest, read_guest

# A process is looked at when it appears, and its turn comes again after so many passes.
TURNS = 6
_COMMANDS = ("qemu-system-", "qemu-kvm", "kvm")


@dataclass(frozen=True, slots=True)
class RunningGuest:
    """A guest, its process and its control group below the mount; "" or "/" where it has none."""

    pid: int
    cgroup: str
    guest: Guest


class ProcessWatch:
    """Finds QEMU processes without reading every process in every pass."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._guests: dict[int, RunningGuest] = {}

    def look(self, tree: HostTree, *, turn: int) -> list[RunningGuest]:
        """The guests that run, in order of their process ids."""
        pids = {int(name) for name in tree.names("/proc") if name.isdigit()}
        self._guests = {pid: one for pid, one in self._guests.items() if pid in pids}
        for pid in pids:
            if pid in self._known and pid % TURNS != turn % TURNS:
                continue
            running = _running_guest(tree, pid)
            if running is None:
                self._guests.pop(pid, None)
            else:
                self._guests[pid] = running
        self._known = pids
        return [self._guests[pid] for pid in sorted(self._guests)]


def workload_of(running: RunningGuest) -> Named:
    """The name of a guest's workload: by Proxmox's number, by its control group, by itself."""
    found = named(running.cgroup)
    if found is not None and found.kind is WorkloadKind.VM:
        return found
    if running.guest.vmid:
        return Named(Maker.PROXMOX_VM, WorkloadKind.VM, running.guest.vmid)
    own = running.guest.name or running.guest.uuid or str(running.pid)
    return Named(Maker.VM, WorkloadKind.VM, own)


def guest_facts(running: RunningGuest, tree: HostTree, mounts: list[Mount]) -> dict[str, str]:
    """The facts of a guest's workload, by name."""
    guest = running.guest
    facts = {"host_pid": str(running.pid)}
    said = {"name": guest.name, "uuid": guest.uuid, "vmid": guest.vmid}
    facts |= {name: value for name, value in said.items() if value}
    for instance, place in guest.disks.items():
        facts[f"disk.{instance}"] = _disk_place(place, tree, mounts)
    nics = {**guest.nics, **_tap_devices(running, tree)}
    return facts | {f"nic.{instance}": device for instance, device in nics.items()}


def _running_guest(tree: HostTree, pid: int) -> RunningGuest | None:
    command = tree.word(f"/proc/{pid}/comm")
    if command is None or not command.startswith(_COMMANDS):
        return None
    argv = tree.text(f"/proc/{pid}/cmdline").rstrip("\0").split("\0")
    guest = read_guest(argv)
    if not (guest.name or guest.uuid or guest.vmid or guest.disks):
        return None
    lines = tree.lines(f"/proc/{pid}/cgroup")
    cgroup = next((line[3:] for line in lines if line.startswith("0::")), "")
    return RunningGuest(pid, _whole_guest(cgroup), guest)


def _whole_guest(cgroup: str) -> str:
    """The control group of the whole guest: its emulator may be in one below."""
    parts = cgroup.split("/")
    for length in range(len(parts), 1, -1):
        above = "/".join(parts[:length])
        if (found := named(above)) and found.kind is WorkloadKind.VM:
            return above
    return cgroup


def _disk_place(place: str, tree: HostTree, mounts: list[Mount]) -> str:
    """A device under the kernel's own name, a file on a network mount by its server."""
    if place.startswith("/dev/"):
        resolved = tree.resolved(place)
        return resolved if resolved.startswith("/dev/") else place
    return export_path(place, mounts) or place


def _tap_devices(running: RunningGuest, tree: HostTree) -> dict[str, str]:
    """The tap devices that were handed over as open files."""
    found = {}
    for instance, descriptor in running.guest.nic_fds.items():
        if not descriptor.isdigit():
            continue
        for line in tree.lines(f"/proc/{running.pid}/fdinfo/{descriptor}"):
            key, _, value = line.partition(":")
            if key == "iff" and value.strip():
                found[instance] = value.strip()
    return found
