"""The demo's host on the real kernel: namespaces, TCP, Telegraf and the agent."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from appliance.demo import network
from appliance.demo.errors import DemoError
from appliance.demo.host import HostProcesses
from appliance.demo.network import Network, NetworkPlan
from appliance.demo.service import Service
from appliance.embedded.telegraf import CONFIGURATION, find_telegraf

SINK_PORT = 5001
STREAMS = 8
RELAY_PORT = 8000  # Free in a namespace that was just made.


@dataclass(frozen=True, slots=True, kw_only=True)
class RealHost:
    """A hypervisor in a network namespace; see `network.py` for the picture."""

    name: str
    network: Network
    processes: HostProcesses
    scratch: Path
    interval_s: float
    telegraf: Path

    @property
    def uplink(self) -> str:
        return network.UPLINK

    @property
    def service_url(self) -> str:
        return f"http://127.0.0.1:{RELAY_PORT}"

    def vnic(self, number: int) -> str:
        return network.vnic(number)

    def start_collector(self, token: str) -> None:
        buffer = self.scratch / "telegraf-buffer"
        buffer.mkdir()
        self._start_in(
            self.network.hypervisor,
            "telegraf",
            *(
                str(self.telegraf),
                "--strict-env-handling",
                "--config-directory",
                str(CONFIGURATION),
            ),
            environment={
                "SLUICE_URL": self.service_url,
                "SLUICE_TOKEN": token,
                "SLUICE_BUFFER_DIR": str(buffer),
                "SLUICE_HOSTNAME": self.name,
                "SLUICE_INTERVAL": f"{round(self.interval_s * 1000)}ms",
            },
        )

    def start_traffic(self) -> None:
        sink = (network.SINK_ADDRESS, str(SINK_PORT))
        self._start_python(self.network.sink, "sink", "traffic", "sink", *sink)
        for number in self.network.workload_numbers():
            place, name = self.network.workload(number), f"sender-{number}"
            self._start_python(place, name, "traffic", "send", *sink, str(STREAMS))

    def start_agent(self, configuration: Path) -> None:
        command = (sys.executable, "-m", "enforcers", "run", "--config", str(configuration))
        self._start_in(self.network.hypervisor, "agent", *command)

    def uplink_settings(self) -> str:
        return network.uplink_settings(self.network)

    def start_relay(self, socket: Path) -> None:
        """Let this host's processes reach the service, which listens on `socket`."""
        arguments = (str(RELAY_PORT), str(socket))
        self._start_python(self.network.hypervisor, "relay", "relay", *arguments)

    def _start_python(self, place: str, name: str, module: str, *arguments: str) -> None:
        command = (sys.executable, "-m", f"appliance.demo.{module}", *arguments)
        self._start_in(place, name, *command)

    def _start_in(
        self, place: str, name: str, *argv: str, environment: Mapping[str, str] | None = None
    ) -> None:
        inside = ("ip", "netns", "exec", place, *argv)
        self.processes.start(name, *inside, environment=environment)


@contextmanager
def real_host(
    name: str, service: Service, *, plan: NetworkPlan, scratch: Path, interval_s: float
) -> Iterator[RealHost]:
    """Build the host; at the end its processes and its network are gone.

    Raises DemoError where there is no Telegraf.
    """
    telegraf = find_telegraf()
    if telegraf is None:
        raise DemoError(
            "there is no Telegraf; obtain it with: make telegraf, or play the simulated demo: "
            "make demo ARGS=--simulated"
        )
    processes = HostProcesses(logs=scratch)
    with network.network(plan) as built:
        host = RealHost(
            name=name,
            network=built,
            processes=processes,
            scratch=scratch,
            interval_s=interval_s,
            telegraf=telegraf,
        )
        try:
            host.start_relay(service.data.web_socket)
            yield host
        finally:
            processes.stop()
