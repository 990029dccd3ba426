"""A host with an agent and busy workloads, whose packets have at most one frame each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from enforcers.contract import Allocation, Pool
from enforcers.mechanisms.tc_htb.observed import MAJOR
from enforcers.mechanisms.tc_htb.tc_text import ClassCounters, parse_counters
from tests.enforcers.policies import LINK, document
from tests.enforcers.rig import Rig, start_rig
from tests.host.network import SENDER, SINK, NamespaceRunner, Network, network, sender

LINK_MBPS = LINK / 1e6
# Connections open, and TCP finds its rate.
SETTLE_S = 2.0
# BBR, the default of some kernels, leaves its queue empty for seconds. Reno is always there.
CONGESTION_CONTROL = "/proc/sys/net/ipv4/tcp_congestion_control"
FRAMES = ("gso_max_segs", "1", "gso_max_size", "1500")
_FIRST_WORKLOAD = 0x10


@dataclass(slots=True)
class Host:
    """The agent's enforcement on the host of a network, and who sends there."""

    network: Network
    rig: Rig
    revision: int = 0

    def enforce(self, *allocations: Allocation, pools: tuple[Pool, ...] = ()) -> None:
        """Bring a policy in force. Raises RuntimeError with the agent's reasons."""
        self.revision += 1
        wanted = document(*allocations, pools=pools, revision=self.revision)
        result = self.rig.enforcement.run(wanted, previous=None, now_s=time.monotonic())
        if result.has_failed or not result.is_in_force:
            raise RuntimeError(f"not enforced: {result.problems or result.enforced}")

    def follow(self) -> None:
        """What the agent does each half second."""
        self.rig.enforcement.follow(clock_s=time.monotonic)

    def put_back(self) -> None:
        """As it was found, so that the classes of the next policy are numbered from the start."""
        self.rig.enforcement.run(None, previous=None, now_s=time.monotonic())

    def let_send(self, *numbers: int) -> None:
        """Let these workloads send as much as they can, from now on."""
        for number in numbers:
            self.network.start(self.network.workload(number), SENDER)

    def let_host_send(self, *ports: int) -> None:
        """Let the host itself send as much as it can to these ports."""
        for port in ports:
            self.network.start(self.network.host, sender(port))

    def silence(self) -> None:
        """Nobody sends any more, and nobody receives."""
        self.network.stop_all()

    def listen(self) -> None:
        """From now on the sink takes whatever comes."""
        self.network.start(self.network.sink, SINK)

    def settle(self) -> None:
        """Give those who send time to find their rate."""
        time.sleep(SETTLE_S)

    def counters(self) -> Mapping[str, ClassCounters]:
        """What the classes of the uplink count, by number."""
        # Asked beside the agent, which may follow at the same time.
        return parse_counters(self.network.runner.run(["tc", "-s", "class", "show", "dev", "up0"]))


def class_of(place: int) -> str:
    """The class of the allocation at this place of a first policy, counted from 0."""
    return f"{MAJOR}:{_FIRST_WORKLOAD + place:x}"


@contextmanager
def host(workloads: int, *kinds: str, frames_only: bool = False) -> Iterator[Host]:
    """Build it with so many silent workloads, and take everything away at the end.

    The host's own traffic is divided by default, and as `kinds` say. The agent must expect offload
    packets on every vNIC, as on most hosts, but for `frames_only`.
    """
    with (
        TemporaryDirectory(prefix="sluice-testbed-") as folder,
        network(workloads) as built,
    ):
        for interface in ("up0", *(f"p{number}" for number in built.numbers if frames_only)):
            built.runner.run(["ip", "link", "set", interface, *FRAMES])
        for name in built.names:
            NamespaceRunner(name).run(["tee", CONGESTION_CONTROL], stdin="reno")
        rig = start_rig(Path(folder), built.runner, host_kinds=frozenset(kinds))
        yield Host(network=built, rig=rig)
