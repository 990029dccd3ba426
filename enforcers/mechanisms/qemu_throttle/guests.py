"""The QEMU guests of this host that matter, their disks, and what limits them."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enforcers.errors import MonitorError
from enforcers.host_fs import HostFs
from enforcers.mechanisms.qemu_throttle.throttle import Throttle, read_throttle
from enforcers.qmp import Monitor, Monitors, Order
from enforcers.reader.guest_disks import disk_name
from enforcers.reader.host_tree import HostTree
from enforcers.reader.mounts import Mount, export_path, read_mounts
from enforcers.reader.processes import ProcessWatch, RunningGuest, workload_of
from enforcers.reader.qemu import spelled_place

MOST_S = 3.0
"""So long all guests of a look may take together; the agent does nothing else meanwhile."""
NO_MONITOR = (
    "has no QMP socket at which QEMU waits for clients; start it with one more, such as "
    "-qmp unix:/run/NAME.qmp,server=on,wait=off"
)
_ASKED = (Order(command="query-block"), Order(command="query-blockstats"))
# Of what follows the name in /proc/PID/stat: the time of the start (proc_pid_stat(5), field 22).
_STARTED_AT = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A virtual disk; `qdev` is how QEMU finds it, `places` are the names of where its data lies.

    `ios` and `size_bytes` count what was read and written since the guest started.
    """

    qdev: str
    throttle: Throttle
    places: tuple[str, ...]
    ios: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenGuest:
    """One QEMU process; `identity` is that of the process, and `monitor` has a host path.

    `problem` says why nothing is known of its disks.
    """

    key: str
    identity: str
    monitor: Monitor | None
    disks: Mapping[str, Disk]
    problem: str | None


class GuestWatch:
    """Asks guests; changes nothing."""

    def __init__(self, host_fs: HostFs, monitors: Monitors, *, most_s: float = MOST_S) -> None:
        self._host_fs = host_fs
        self._monitors = monitors
        self._most_s = most_s

    def running(self) -> dict[str, list[RunningGuest]]:
        """All guests that run, by the names of their workloads."""
        found: dict[str, list[RunningGuest]] = {}
        # A new watch reads every process: a number that is used again is another guest.
        for one in ProcessWatch().look(self._tree(), turn=0):
            found.setdefault(workload_of(one).key, []).append(one)
        return found

    def look(self, keys: Iterable[str], identities: Iterable[str]) -> list[SeenGuest]:
        """The guests of these names, and those that are these processes."""
        names, processes = set(keys), set(identities)
        mounts = read_mounts(self._tree())
        until_s = time.monotonic() + self._most_s
        found = []
        for key, guests in sorted(self.running().items()):
            for one in guests:
                identity = self.identity(one.pid)
                if identity is None or (key not in names and identity not in processes):
                    continue
                found.append(self._ask(key, identity, one, mounts, until_s=until_s))
        return found

    def is_alive(self, identity: str) -> bool:
        """Whether the process still runs."""
        pid = identity.partition("/")[0]
        return pid.isdecimal() and self.identity(int(pid)) == identity

    def identity(self, pid: int) -> str | None:
        """A process and when it started: a number alone is given again."""
        text = self._host_fs.read_or_none(f"/proc/{pid}/stat") or ""
        words = text.rpartition(")")[2].split()
        return f"{pid}/{words[_STARTED_AT]}" if len(words) > _STARTED_AT else None

    def _ask(
        self,
        key: str,
        identity: str,
        running: RunningGuest,
        mounts: list[Mount],
        *,
        until_s: float,
    ) -> SeenGuest:
        problem = NO_MONITOR
        for path in running.guest.monitors:
            monitor = Monitor(path=path, pid=running.pid)
            if time.monotonic() > until_s:
                problem = f"was not asked: other guests took {self._most_s:g} s to answer"
                break
            try:
                answers = self._say(monitor)
            except (MonitorError, ValueError) as error:
                problem = f"cannot be asked: its QMP socket {path} {error}"
                continue
            disks = read_disks(answers[0], answers[1], mounts)
            return SeenGuest(
                key=key, identity=identity, monitor=monitor, disks=disks, problem=None
            )
        return SeenGuest(key=key, identity=identity, monitor=None, disks={}, problem=problem)

    def _say(self, monitor: Monitor) -> list[Any]:
        place = str(self._host_fs.path(monitor.path))
        return self._monitors.say(Monitor(path=place, pid=monitor.pid), _ASKED)

    def _tree(self) -> HostTree:
        return HostTree(str(self._host_fs.path("/")))


def read_disks(blocks: Any, stats: Any, mounts: list[Mount]) -> dict[str, Disk]:
    """The disks by name, out of the answers to `query-block` and `query-blockstats`. Pure.

    Drives without a medium are none.
    """
    counted = {name: one for one in _objects(stats) if (name := disk_name(one)) is not None}
    found = {}
    for block in _objects(blocks):
        name, inserted = disk_name(block), block.get("inserted")
        qdev = block.get("qdev") or block.get("device")
        if name is None or not isinstance(inserted, dict) or not isinstance(qdev, str):
            continue
        totals = counted.get(name, {}).get("stats")
        totals = totals if isinstance(totals, dict) else {}
        found[name] = Disk(
            qdev=qdev,
            throttle=read_throttle(inserted),
            places=_places(inserted.get("file"), mounts),
            ios=_sum(totals, "rd_operations", "wr_operations"),
            size_bytes=_sum(totals, "rd_bytes", "wr_bytes"),
        )
    return found


def _objects(answer: Any) -> Sequence[dict[str, Any]]:
    return [one for one in answer if isinstance(one, dict)] if isinstance(answer, list) else []


def _places(file: Any, mounts: list[Mount]) -> tuple[str, ...]:
    """A path, and the export that it lies on; nothing where QEMU does not say it."""
    place = spelled_place(file) if isinstance(file, str) else None
    if place is None:
        return ()
    export = export_path(place, mounts)
    return (place,) if export is None else (place, export)


def _sum(totals: Mapping[str, Any], *names: str) -> int | None:
    numbers = [totals.get(name) for name in names]
    return sum(n for n in numbers if n is not None) if _are_counts(numbers) else None


def _are_counts(numbers: Sequence[Any]) -> bool:
    return all(type(number) is int for number in numbers)
