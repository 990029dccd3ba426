"""QEMU guests in memory: their processes as files of `/proc`, their monitors as QEMU answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from enforcers.errors import MonitorError, MonitorRefused
from enforcers.qmp import Monitor, Order

RATES = ("bps", "bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr")
FOLDER = "/mnt/vm"


@dataclass
class FakeDisk:
    """A disk; `group` is None while nothing is throttled."""

    file: str
    group: str | None = None
    ios: int = 0
    size_bytes: int = 0


@dataclass
class FakeGuest:
    """A process with a monitor. As in QEMU, what is limited is a property of a group of disks."""

    pid: int
    path: str
    disks: dict[str, FakeDisk]
    groups: dict[str, dict[str, int]] = field(default_factory=dict)
    hangs: bool = False
    loses_answers: bool = False
    refuses: str | None = None
    orders: list[Order] = field(default_factory=list)

    def throttle(self, disk: str, group: str | None = None, **values: int) -> None:
        """As somebody says it beside the agent."""
        self._set({"id": qdev(disk), **dict.fromkeys(RATES, 0), **values}, group=group or disk)

    def shown(self, disk: str) -> dict[str, Any]:
        """What limits a disk, by its names in QEMU; empty without a limit."""
        group = self.disks[disk].group
        if group is None:
            return {}
        return {**{k: v for k, v in self.groups[group].items() if v}, "group": group}

    def answer(self, order: Order) -> Any:
        match order.command:
            case "query-block":
                return [self._block(name) for name in self.disks]
            case "query-blockstats":
                return [self._stats(name) for name in self.disks]
            case "block_set_io_throttle":
                if self.refuses is not None:
                    raise MonitorRefused(f"refused {order.command}: {self.refuses}")
                self.orders.append(order)
                arguments = dict(order.arguments)
                own = self.disks[self._name(arguments)].group
                group = arguments.pop("group", own or arguments["id"])
                self._set(arguments, group=group)
                return {}
        raise AssertionError(order)

    def _set(self, arguments: dict[str, Any], *, group: str) -> None:
        """As `qmp_block_set_io_throttle` of block/qapi-sysemu.c."""
        disk = self.disks[self._name(arguments)]
        values = {key: value for key, value in arguments.items() if key != "id"}
        assert set(RATES) <= set(values)
        if any(values[rate] for rate in RATES):
            disk.group = group
            self.groups[group] = values
        else:
            disk.group = None
        used = {one.group for one in self.disks.values()}
        self.groups = {name: held for name, held in self.groups.items() if name in used}

    def _name(self, arguments: dict[str, Any]) -> str:
        return next(name for name in self.disks if qdev(name) == arguments["id"])

    def _block(self, name: str) -> dict[str, Any]:
        return {
            "device": f"drive-{name}",
            "qdev": qdev(name),
            "inserted": {
                **dict.fromkeys(RATES, 0),
                **self.shown(name),
                "file": self.disks[name].file,
            },
        }

    def _stats(self, name: str) -> dict[str, Any]:
        disk = self.disks[name]
        stats = {
            "rd_operations": disk.ios, "wr_operations": 0,
            "rd_bytes": disk.size_bytes, "wr_bytes": 0,
        }  # fmt: skip
        return {"device": f"drive-{name}", "qdev": qdev(name), "stats": stats}


class FakeGuests:
    """All guests of a host whose tree is below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._by_path: dict[str, FakeGuest] = {}
        self.asked: list[int] = []
        root.mkdir(exist_ok=True)

    def start(
        self,
        vmid: int,
        *disks: str,
        pid: int | None = None,
        started_at: int = 1000,
        has_monitor: bool = True,
    ) -> FakeGuest:
        """A guest of Proxmox, its disks in files of FOLDER, at its own socket."""
        path = f"/run/{vmid}.qmp"
        argv = ["kvm", "-id", str(vmid), "-name", f"vm{vmid}"]
        if has_monitor:
            argv += ["-qmp", f"unix:{path},server=on,wait=off"]
        guest = FakeGuest(
            pid=pid or 4000 + vmid,
            path=path,
            disks={name: FakeDisk(file=f"{FOLDER}/{vmid}-{name}.qcow2") for name in disks},
        )
        own = f"/proc/{guest.pid}"
        self.put(f"{own}/comm", "kvm\n")
        self.put(f"{own}/cmdline", "\0".join(argv) + "\0")
        self.put(f"{own}/cgroup", f"0::/qemu.slice/{vmid}.scope\n")
        # Field 22 is the time of the start; a name may have spaces and brackets.
        self.put(f"{own}/stat", f"{guest.pid} (kvm) x) S {'0 ' * 18}{started_at} 0 0\n")
        self._by_path[path] = guest
        return guest

    def stop(self, guest: FakeGuest) -> None:
        """End its process; the socket's file stays, as QEMU leaves it after a kill."""
        for name in ("comm", "cmdline", "cgroup", "stat"):
            (self._root / f"proc/{guest.pid}/{name}").unlink()
        (self._root / f"proc/{guest.pid}").rmdir()
        del self._by_path[guest.path]

    def put(self, path: str, text: str) -> None:
        place = self._root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def say(self, monitor: Monitor, orders: Sequence[Order]) -> list[Any]:
        self.asked.append(monitor.pid)
        guest = self._by_path.get(monitor.path.removeprefix(str(self._root)))
        if guest is None:
            raise MonitorError("Connection refused")
        if guest.pid != monitor.pid:
            raise MonitorRefused(f"belongs to process {guest.pid}, not to {monitor.pid}")
        if guest.hangs:
            raise MonitorError("did not answer in 1 s; another may use it")
        answers = [guest.answer(order) for order in orders]
        if guest.loses_answers and orders[-1].command == "block_set_io_throttle":
            raise MonitorError("closed the connection")
        return answers


def qdev(disk: str) -> str:
    """Where QEMU has the device in its tree of objects."""
    return f"/machine/peripheral/{disk}/virtio-backend"
