"""The demo's host without root: real service, real agent, simulated kernel and traffic."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from appliance.demo.errors import DemoError
from appliance.demo.host import HostProcesses
from appliance.demo.network import UPLINK, NetworkPlan, vnic
from appliance.demo.service import Service
from appliance.demo.simulated_programs import ask, write_programs

KERNEL_DEADLINE_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedHost:
    """A host whose kernel and traffic are a model; everything else is real."""

    name: str
    plan: NetworkPlan
    service: Service
    processes: HostProcesses
    scratch: Path
    interval_s: float

    @property
    def uplink(self) -> str:
        return UPLINK

    @property
    def service_url(self) -> str:
        return self.service.url

    @property
    def kernel_socket(self) -> Path:
        return self.scratch / "kernel.sock"

    @property
    def programs(self) -> Path:
        return self.scratch / "bin"

    def vnic(self, number: int) -> str:
        return vnic(number)

    def start_traffic(self) -> None:
        ask(self.kernel_socket, ["start-senders"])

    def start_collector(self, token: str) -> None:
        arguments = [str(self.kernel_socket), self.service_url, self.name, str(self.interval_s)]
        self._start_python("simulated_collector", arguments, SLUICE_TOKEN=token)

    def start_agent(self, configuration: Path) -> None:
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        command = (sys.executable, "-m", "enforcers", "run", "--config", str(configuration))
        self.processes.start("agent", *command, environment={"PATH": path})

    def uplink_settings(self) -> str:
        shown = ""
        for kind in ("qdisc", "class", "filter"):
            _, printed, _ = ask(self.kernel_socket, ["tc", kind, "show", "dev", UPLINK])
            shown += printed
        return shown

    def start_kernel(self) -> None:
        """Start the simulated kernel and wait until it answers."""
        vnics = [vnic(number) for number in range(1, self.plan.workloads + 1)]
        arguments = [str(self.kernel_socket), str(self.plan.wire_bits_per_s), UPLINK, *vnics]
        self._start_python("simulated_kernel", arguments)
        deadline = time.monotonic() + KERNEL_DEADLINE_S
        while not self.kernel_socket.exists():
            self.processes.check()
            if time.monotonic() > deadline:
                raise DemoError(f"no simulated kernel after {KERNEL_DEADLINE_S:.0f} s")
            time.sleep(0.05)

    def _start_python(self, module: str, arguments: list[str], **environment: str) -> None:
        command = (sys.executable, "-m", f"appliance.demo.{module}", *arguments)
        self.processes.start(module, *command, environment=environment)


@contextmanager
def simulated_host(
    name: str, service: Service, *, plan: NetworkPlan, scratch: Path, interval_s: float
) -> Iterator[SimulatedHost]:
    """Make the host; at the end its processes are gone."""
    host = SimulatedHost(
        name=name,
        plan=plan,
        service=service,
        processes=HostProcesses(logs=scratch),
        scratch=scratch,
        interval_s=interval_s,
    )
    write_programs(host.programs, host.kernel_socket)
    try:
        host.start_kernel()
        yield host
    finally:
        host.processes.stop()
