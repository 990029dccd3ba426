"""A host with three virtual machines on one uplink, in network namespaces, and nothing of ours.

    db-01  ─┐ tap101i0                 eno1
    web-02 ─┤ tap102i0   kvm-01 (forwards) ───── wire (forwards, 20 Mbit/s) ───── sink
    etl-03 ─┘ tap103i0

The traffic is TCP through this machine's kernel. In the place of each QEMU stands a process of
its name with its words, which sleeps: a software-emulated guest could not send as much.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from appliance.demo import network
from appliance.demo.network import Network, NetworkPlan

HOST = "kvm-01"
UPLINK = "eno1"
SINK_PORT = 5001
WIRE_MBIT = 20
WANTED_MBIT = 12
"""What the database sends as long as it can."""
VMS = ("db-01", "web-02", "etl-03")
STREAMS = {"db-01": 4, "web-02": 2, "etl-03": 24}
CHECKOUT = Path(__file__).parents[2]


@dataclass
class Site:
    """The host: what is pasted on it, and what its virtual machines send."""

    network: Network
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def paste(self, line: str) -> None:
        """Paste the line into a terminal on the host; what it starts goes on."""
        guests = "".join(f"{shlex.join(self._guest(number))} &\n" for number in range(1, 4))
        self._start(
            "terminal", self.network.hypervisor,
            # As after a boot: what runs on the host is in a process table of its own.
            "unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
            "sh", "-c", f"{guests}{line}",
            SLUICE_HOST=HOST, SLUICE_PREFIX=str(self.folder / "root"), SLUICE_INTERFACES=UPLINK,
            SLUICE_INTERVAL="1",
        )  # fmt: skip

    def said(self) -> str:
        """What stands in the terminal."""
        return (self.folder / "terminal.log").read_text()

    def send(self, name: str) -> None:
        """Let a virtual machine send as much as it can."""
        number = VMS.index(name) + 1
        self._start(
            name, self.network.workload(number), sys.executable, "-m", "appliance.demo.traffic",
            "send", network.SINK_ADDRESS, str(SINK_PORT), str(STREAMS[name]),
        )  # fmt: skip

    def stop_sending(self, name: str) -> None:
        _end(self.processes.pop(name))

    def uplink(self) -> str:
        """All that is set on the uplink."""
        inside = ["tc", "-n", self.network.hypervisor]
        return "".join(
            subprocess.run(
                [*inside, kind, "show", "dev", UPLINK], capture_output=True, text=True, check=True
            ).stdout
            for kind in ("qdisc", "class")
        )

    def press_ctrl_c(self) -> None:
        """End what was pasted, as a person does."""
        terminal = self.processes.pop("terminal")
        os.killpg(terminal.pid, signal.SIGINT)
        terminal.wait(60)

    def reach(self, port: int, socket: Path) -> None:
        """Let the host reach the service under the address that browsers have."""
        self._start(
            "relay", self.network.hypervisor, sys.executable, "-m", "appliance.demo.relay",
            str(port), str(socket),
        )  # fmt: skip

    def _guest(self, number: int) -> list[str]:
        program = self.folder / "qemu-system-x86_64"
        name, tap = VMS[number - 1], _tap(number)
        return [
            str(program), "-id", str(100 + number), "-name", f"guest={name},debug-threads=on",
            "-netdev", f"type=tap,id=net0,ifname={tap},vhost=on",
        ]  # fmt: skip

    def _start(self, name: str, namespace: str, *argv: str, **environment: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                ["ip", "netns", "exec", namespace, *argv], cwd=CHECKOUT, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env={**os.environ, **environment}, start_new_session=True,
            )  # fmt: skip


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    """The host, at the end with all that was started on it gone."""
    program = folder / "qemu-system-x86_64"
    program.write_text("#!/bin/sh\nsleep 3600\n")
    program.chmod(0o755)
    with network.network(
        NetworkPlan(workloads=len(VMS), wire_bits_per_s=WIRE_MBIT * 1e6)
    ) as built:
        _name_interfaces(built)
        found = Site(network=built, folder=folder)
        found._start(
            "sink", built.sink, sys.executable, "-m", "appliance.demo.traffic", "sink",
            network.SINK_ADDRESS, str(SINK_PORT),
        )  # fmt: skip
        try:
            yield found
        finally:
            for process in reversed(found.processes.values()):
                _end(process)


def _name_interfaces(built: Network) -> None:
    """As Proxmox VE and Debian call them."""
    hypervisor = built.hypervisor
    names = {network.UPLINK: UPLINK} | {network.vnic(n): _tap(n) for n in range(1, 4)}
    for before, after in names.items():
        _ip(hypervisor, f"link set {before} down")
        _ip(hypervisor, f"link set {before} name {after}")
        _ip(hypervisor, f"link set {after} up")
    _ip(hypervisor, "route add default via 10.77.255.2")
    shaped = f"qdisc add dev eth0 root tbf rate {WANTED_MBIT}mbit burst 30kb latency 50ms"
    subprocess.run(["tc", "-n", built.workload(1), *shaped.split()], check=True)
    shaped = "qdisc add dev eth0 root tbf rate 2mbit burst 15kb latency 50ms"
    subprocess.run(["tc", "-n", built.workload(2), *shaped.split()], check=True)


def _tap(number: int) -> str:
    return f"tap{100 + number}i0"


def _ip(namespace: str, words: str) -> None:
    subprocess.run(["ip", "-n", namespace, *words.split()], check=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(30)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
        return
