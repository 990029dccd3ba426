"""Fixtures on the real kernel."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from enforcers.mechanisms.tc_htb.kernel_probe import missing_in_kernel
from enforcers.runner import SubprocessRunner
from tests.enforcers.rig import Rig, start_rig
from tests.host.network import SENDER, SINK, Network, network


@pytest.fixture(scope="session")
def htb() -> None:
    """The kernel has what HTB needs."""
    missing = missing_in_kernel(SubprocessRunner(), is_privileged=True)
    if missing is not None:
        pytest.skip(f"no HTB here: {missing}")


@pytest.fixture
def quiet_network(htb: None) -> Iterator[Network]:
    """Three workloads that are silent."""
    with network(3) as built:
        yield built


@pytest.fixture(scope="module")
def busy_network(htb: None) -> Iterator[Network]:
    """Three workloads that send all the time, as much as they can."""
    with network(3) as built:
        built.start(built.sink, SINK)
        for number in built.numbers:
            built.start(built.workload(number), SENDER)
        yield built


@pytest.fixture
def host_rig(quiet_network: Network, tmp_path: Path) -> Rig:
    """An agent on the host of the quiet network."""
    return start_rig(tmp_path, quiet_network.runner)
