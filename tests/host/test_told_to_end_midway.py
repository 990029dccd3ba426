"""The agent's process is told to end while half of a batch is in the kernel."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.enforcers.policies import vnic
from tests.host.agent_process import Host
from tests.host.network import Network
from tests.host.test_agent_process import is_enforcing, until
from tests.host.test_htb_settings import tc

pytestmark = pytest.mark.root

FOUND = "limit 100p"

# The first batch that makes the tree stops in its middle until a file is there that lets it go on.
SLOW_TC = """#!/bin/sh
case "$*" in *-batch*) ;; *) exec {tc} "$@" ;; esac
cat >{folder}/lines
if ! grep -q "51ce: htb" {folder}/lines || ! mkdir {folder}/midway; then
    exec {tc} "$@" <{folder}/lines
fi
half=$(( $(wc -l <{folder}/lines) / 2 ))
head -n $half {folder}/lines | {tc} "$@"
echo $$ >{folder}/process
until [ -e {folder}/go ]; do sleep 0.05; done
tail -n +$(( half + 1 )) {folder}/lines | {tc} "$@"
"""


@pytest.fixture
def host(
    quiet_network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Host]:
    """An agent that has half of its first policy in the kernel, on an uplink of somebody."""
    real = shutil.which("tc")
    tc(quiet_network, "qdisc add dev up0 root pfifo limit 100")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tc").write_text(SLOW_TC.format(tc=real, folder=tmp_path))
    (tmp_path / "bin/tc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    running = Host(quiet_network, tmp_path)
    running.publish(vnic(1, 75e6), vnic(2), vnic(3, limit=9e6))
    running.start()
    assert until((tmp_path / "process").exists)
    yield running
    if running.agent is not None and running.agent.poll() is None:
        running.end(signal.SIGKILL)


def uplink(network: Network) -> str:
    return tc(network, "qdisc show dev up0")


def test_batch_is_ended_and_all_is_put_back(host: Host, quiet_network: Network) -> None:
    between = uplink(quiet_network)
    host.tell(signal.SIGTERM)
    (host.folder / "go").touch()

    assert host.agent is not None
    status = host.agent.wait(30)

    assert "htb 51ce:" in between
    assert status == 0
    assert FOUND in uplink(quiet_network)


def test_all_is_put_back_where_the_batch_is_told_to_end_too(
    host: Host, quiet_network: Network
) -> None:
    between = uplink(quiet_network)
    # As a service manager does that tells all processes of a unit.
    os.killpg(int((host.folder / "process").read_text()), signal.SIGTERM)
    host.tell(signal.SIGTERM)

    assert host.agent is not None
    status = host.agent.wait(30)

    assert "htb 51ce:" in between
    assert status == 0
    assert FOUND in uplink(quiet_network)


def test_agent_goes_on_where_only_the_batch_is_ended(host: Host, quiet_network: Network) -> None:
    os.killpg(int((host.folder / "process").read_text()), signal.SIGKILL)

    assert until(lambda: FOUND in uplink(quiet_network))
    host.publish(vnic(1, 75e6), vnic(2), revision=2)
    host.report(is_enforcing(2))
    between = uplink(quiet_network)
    status = host.end(signal.SIGTERM)

    assert "htb 51ce:" in between
    assert status == 0
    assert FOUND in uplink(quiet_network)
