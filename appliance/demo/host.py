"""What the scenario needs of a host, real or simulated."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from appliance.demo.errors import DemoError
from appliance.embedded.child import Child, ChildSpec


@dataclass(slots=True, kw_only=True)
class HostProcesses:
    """The processes of a demo host; each has a log in `logs`."""

    logs: Path
    children: list[Child] = field(default_factory=list)

    def start(self, name: str, *argv: str, environment: Mapping[str, str] | None = None) -> None:
        """Start a process; it ends with the demo, however that ends."""
        log = self.logs / f"{name}.log"
        self.children.append(
            Child(ChildSpec(name=name, argv=argv, log=log, environment=environment or {}))
        )

    def check(self) -> None:
        """Raise DemoError, with the end of its log, if a process has ended on its own."""
        for child in self.children:
            if child.exit_status is not None:
                raise DemoError(child.describe_end())

    def stop(self) -> None:
        """End all of them, the newest first."""
        for child in reversed(self.children):
            child.stop()
        self.children.clear()


class DemoHost(Protocol):
    """A host with an uplink, workloads behind vNICs, a collector and an agent."""

    @property
    def processes(self) -> HostProcesses:
        """What runs on it for the demo."""
        ...

    @property
    def uplink(self) -> str:
        """The interface that all workloads share."""
        ...

    @property
    def service_url(self) -> str:
        """Where processes of this host reach the service."""
        ...

    def vnic(self, number: int) -> str:
        """Name the interface of workload `number`, counted from 1."""
        ...

    def start_collector(self, token: str) -> None:
        """Begin to measure and to send samples to the service."""
        ...

    def start_traffic(self) -> None:
        """Let every workload send as much as it can, until the end."""
        ...

    def start_agent(self, configuration: Path) -> None:
        """Start the enforcer agent with its configuration file."""
        ...

    def uplink_settings(self) -> str:
        """Show what traffic control is set on the uplink, without counters."""
        ...
