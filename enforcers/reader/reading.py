"""One pass over the host: every figure and fact, under one time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from zlib import crc32

from enforcers.reader.cgroup_names import Maker, Named, WorkloadKind
from enforcers.reader.cgroups import Cgroup, CgroupWatch, cgroup_line, find_mount
from enforcers.reader.containers import ContainerNames
from enforcers.reader.device_facts import Facts, device_facts, wwid
from enforcers.reader.diskstats import Disk, disk_line, number_line, read_disks
from enforcers.reader.facts import FactMemory, Subject, fact_lines
from enforcers.reader.guest_disks import GuestDisks
from enforcers.reader.host_facts import host_facts, nic_facts
from enforcers.reader.host_figures import system_line, tcp_line
from enforcers.reader.host_tree import HostTree
from enforcers.reader.interfaces import Interface, interface_line, read_interfaces
from enforcers.reader.line import whole
from enforcers.reader.mounts import Mount, by_source, mount_facts, nfs_lines, read_mounts
from enforcers.reader.processes import (
    TURNS,
    ProcessWatch,
    RunningGuest,
    guest_facts,
    workload_of,
)
from enforcers.reader.volumes import read_volumes

# Whose VMs and containers have numbers.
_NUMBERED = frozenset({Maker.PROXMOX_VM, Maker.LXC})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one pass found.

    `lines` are line protocol with times in ns, `facts` all that is known by kind and name.
    `problems` say what could not be read and why; `young` cgroups wait for their second pass.
    """

    lines: tuple[str, ...]
    facts: dict[Subject, Facts]
    problems: dict[str, str]
    young: int


class Reader:
    """Reads one host again and again. What a device or workload is, is looked up when it appears

    and again in turns of `TURNS` passes, because it takes many files and seldom changes.
    """

    def __init__(self, tree: HostTree, *, host: str, ask_qemu: bool = False) -> None:
        """`ask_qemu` allows questions to the monitors of guests, which serve one at a time."""
        self._tree = tree
        self._guest_disks = GuestDisks() if ask_qemu else None
        self._host = host
        self._turn = -1
        self._cgroups = CgroupWatch()
        self._processes = ProcessWatch()
        self._containers = ContainerNames()
        self._memory = FactMemory()
        self._facts: dict[Subject, Facts] = {}
        self._wwids: dict[str, str | None] = {}
        self._interfaces: frozenset[str] | None = None

    def read(self, *, at_ns: int, now_s: float) -> Reading:
        """One pass; `at_ns` is the time of day that its lines carry, `now_s` never jumps."""
        self._turn += 1
        tree = self._tree
        tree.problems = {}
        disks, mounts = read_disks(tree), read_mounts(tree)
        interfaces = self._watched(read_interfaces(tree))
        mount = find_mount(tree)
        groups = self._cgroups.look(tree, mount) if mount else []
        guests = self._processes.look(tree, turn=self._turn)
        figures = [
            *(self._guest_disks.lines(self._host, guests, tree) if self._guest_disks else ()),
            *(cgroup_line(self._host, tree, f"{mount}{one.path}") for one in groups),
            *nfs_lines(self._host, tree, mounts),
            tcp_line(self._host, tree),
            system_line(self._host, tree),
        ]
        self._renew_facts(disks, interfaces, mounts)
        self._renew_workloads(guests, groups, mounts, mount or "")
        figures += [*self._disk_lines(disks), *self._interface_lines(interfaces)]
        due = self._memory.due(self._facts, now_s=now_s)
        told = [line for one, facts in due.items() for line in fact_lines(self._host, one, facts)]
        return Reading(
            lines=tuple(f"{line} {at_ns}" for line in [*figures, *told] if line),
            facts=self._facts,
            problems=tree.problems,
            young=self._cgroups.young,
        )

    def _watched(self, interfaces: dict[str, Interface]) -> dict[str, Interface]:
        """Those that were there in the last pass too; at first, all.

        Containers that live for seconds have an interface each, under a name that never returns.
        """
        before, self._interfaces = self._interfaces, frozenset(interfaces)
        if before is None:
            return interfaces
        return {name: one for name, one in interfaces.items() if name in before}

    def _disk_lines(self, disks: dict[str, Disk]) -> Iterator[str]:
        for name, disk in disks.items():
            yield disk_line(self._host, disk, self._wwids.get(name))
            if self._turn % TURNS == 0:
                yield number_line(self._host, disk)

    def _interface_lines(self, interfaces: dict[str, Interface]) -> Iterator[str]:
        for name, interface in interfaces.items():
            (speed,) = self._facts.get(("nic", name), {}).get("speed", ("",))
            yield interface_line(self._host, interface, whole(speed))

    def _renew_facts(
        self,
        disks: dict[str, Disk],
        interfaces: dict[str, Interface],
        mounts: list[Mount],
    ) -> None:
        tree = self._tree
        volumes = read_volumes(tree)
        for name, disk in disks.items():
            former = self._facts.get(("device", name), {}).get("majmin")
            if former != (disk.majmin,) or self._has_turn(name):
                self._facts["device", name] = device_facts(tree, name, disk.majmin)
                self._wwids[name] = wwid(tree, name)
            # They come and go with pods.
            claimed = volumes.get(disk.majmin) or volumes.get(name) or ()
            self._facts["device", name] = _with("volume", claimed, self._facts["device", name])
        self._look_up("nic", interfaces, lambda name: nic_facts(tree, name))
        sources = by_source(mounts)
        self._look_up("mount", sources, lambda source: mount_facts(sources[source]))
        self._look_up("host", [""], lambda _: host_facts(tree))
        for name in self._wwids.keys() - disks.keys():
            del self._wwids[name], self._facts["device", name]

    def _renew_workloads(
        self,
        guests: list[RunningGuest],
        groups: list[Cgroup],
        mounts: list[Mount],
        mount: str,
    ) -> None:
        tree = self._tree
        self._containers.renew(tree)
        found: dict[str, Callable[[], dict[str, str]]] = {}
        for running in guests:
            found[workload_of(running).key] = self._guest_look(running, mounts, mount)
        for group in groups:
            if group.name is not None and group.name.key not in found:
                found[group.name.key] = self._group_look(group.name, f"{mount}{group.path}")
        self._containers.keep_only({group.name.own for group in groups if group.name})
        self._look_up("workload", found, lambda key: _single(found[key]()))

    def _guest_look(
        self, running: RunningGuest, mounts: list[Mount], mount: str
    ) -> Callable[[], dict[str, str]]:
        def look() -> dict[str, str]:
            facts = guest_facts(running, self._tree, mounts) | {"kind": str(WorkloadKind.VM)}
            if running.cgroup.strip("/"):
                facts["cgroup"] = mount + running.cgroup
            return facts

        return look

    def _group_look(self, workload: Named, path: str) -> Callable[[], dict[str, str]]:
        def look() -> dict[str, str]:
            facts = {"kind": str(workload.kind), "cgroup": path}
            if workload.maker is Maker.SYSTEMD:
                facts |= {"unit": workload.own, "name": workload.own.removesuffix(".service")}
            elif workload.kind is WorkloadKind.VM:
                facts["name"] = workload.own
            if workload.maker in _NUMBERED and workload.own.isdecimal():
                facts["vmid"] = workload.own
            return facts | self._containers.facts(workload, self._tree)

        return look

    def _look_up(self, kind: str, names: Iterable[str], look: Callable[[str], Facts]) -> None:
        """Renew the facts of a kind where they are new or have their turn; forget what is gone."""
        present = {name: (kind, name) for name in names}
        for name, subject in present.items():
            if subject not in self._facts or self._has_turn(name):
                self._facts[subject] = look(name)
        gone = [one for one in self._facts if one[0] == kind and one[1] not in present]
        for subject in gone:
            del self._facts[subject]

    def _has_turn(self, name: str) -> bool:
        return crc32(name.encode("utf-8", "surrogateescape")) % TURNS == self._turn % TURNS


def _with(key: str, values: tuple[str, ...], facts: Facts) -> Facts:
    """The facts with these values of one of them, which is left out where there are none."""
    rest = {name: found for name, found in facts.items() if name != key}
    return {**rest, key: values} if values else rest


def _single(facts: dict[str, str]) -> Facts:
    return {name: (value,) for name, value in facts.items() if value}
