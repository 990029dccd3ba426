"""Whichever system call of the agent fails on a real kernel, HTB is that of one policy."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.enforcers.policies import document, vnic
from tests.enforcers.rig import start_rig
from tests.host.network import Network
from tests.testbed.failing_pass import Host, failing_pass, other_calls
from tests.testbed.struck import CALLS, ERROR, KILL

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(400)]

OLD = document(vnic(1, 20e6), vnic(2), revision=1)
NEW = document(vnic(1, 10e6), vnic(3, limit=5e6), revision=2)
FEWEST = {"write": 10, "rename": 3, "fsync": 6, "ftruncate": 1}
"""Fewer would mean that files of the agent's own, or what is told to tc, are no longer written."""


@pytest.fixture(autouse=True)
def strace() -> None:
    """The program that tampers with system calls."""
    if shutil.which("strace") is None:
        pytest.skip("no strace (package strace)")


def host(network: Network, state: Path) -> Host:
    """A new agent on the host of the network."""
    state.mkdir()
    # Names of the network's namespaces are those of this process, and the agent's is another.
    runner = network.runner

    def kernel() -> Mapping[str, str]:
        words = (f"{kind} show dev up0" for kind in ("qdisc", "class", "filter"))
        shown = "\n".join(runner.run(["tc", *one.split()]) for one in words)
        # The kernel numbers filters anew; the rest are numbers of readers and of packets.
        return {"tc": re.sub(r"fh \S+|order \d+|(refcnt|direct_packets_stat) \d+", "", shown)}

    return Host(state=state, start=lambda: start_rig(state, runner), kernel=kernel)


def test_all_calls_that_write_rename_or_sync_are_known(
    quiet_network: Network, tmp_path: Path
) -> None:
    assert other_calls(host(quiet_network, tmp_path / "state"), OLD) == []


@pytest.mark.parametrize("fault", [ERROR, KILL])
@pytest.mark.parametrize("call", CALLS)
def test_state_is_the_old_or_the_new_one_whichever_call_goes_wrong(
    quiet_network: Network, tmp_path: Path, call: str, fault: str
) -> None:
    for at in range(1, 200):
        one = failing_pass(
            host(quiet_network, tmp_path / f"{at}"), OLD, NEW, call=call, fault=fault, at=at
        )
        if one is None:
            break
        assert one.pop("kernel") in ("old", "new"), at
        assert all(one.values()), (at, one)

    assert at > FEWEST[call]
