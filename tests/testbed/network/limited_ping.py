"""The own ping of a workload at its limit, on the guest's kernel."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

from enforcers import runner
from tests.enforcers.rig import start_rig
from tests.host.limited_ping import LimitedPing, limited_ping
from tests.host.network import network
from tests.testbed.network.classify import DEADLINE_S


def run() -> LimitedPing:
    """What `tests.host.limited_ping` saw."""
    runner.TIMEOUT_S = DEADLINE_S
    with network(2) as built:
        return limited_ping(built, start_rig(Path(mkdtemp(prefix="agent-")), built.runner))
