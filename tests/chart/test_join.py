"""A node of a cluster joins by the script that the chart gives its agent, at the real server."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.services.join_tokens import Terms, make_join_token
from enforcers import config
from ingest.models import Host
from tests.chart.programs_here import CHART
from tests.ingest.scenario import Tenant, make_tenant

pytestmark = [pytest.mark.django_db(transaction=True)]

SCRIPT = CHART / "files" / "join.py"


@pytest.fixture
def northgate(transactional_db: None) -> Tenant:
    return make_tenant("northgate")


class Node:
    """A node whose /etc/sluice-enforcer is a scratch folder."""

    def __init__(self, folder: Path, url: str) -> None:
        self.etc, self._url, self._line = folder / "etc", url, folder / "join"

    def join(self, secret: str, **more: str) -> subprocess.CompletedProcess[str]:
        """What the init container does."""
        self._line.write_text(f"{secret}\n")
        environment = {
            "PATH": os.environ["PATH"], "SLUICE_HOST": "node-7", "SLUICE_URL": self._url,
            "SLUICE_ETC": str(self.etc), "SLUICE_JOIN_FILE": str(self._line), **more,
        }  # fmt: skip
        return subprocess.run(
            [sys.executable, "-I", SCRIPT], env=environment,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip


@pytest.fixture
def node(tmp_path: Path, live_server: LiveServer) -> Node:
    return Node(tmp_path, live_server.url)


def line_of(tenant: Tenant, **terms: object) -> str:
    _, secret = make_join_token(
        organisation=tenant.organisation, terms=Terms(**terms), now=timezone.now()
    )  # fmt: skip
    return secret


def test_node_gets_a_configuration_that_its_agent_takes(node: Node, northgate: Tenant) -> None:
    done = node.join(line_of(northgate), SLUICE_DISKS="sda sdb", SLUICE_INTERFACES="bond0")

    assert done.returncode == 0, done.stderr
    loaded = config.load(node.etc / "agent.toml")
    assert loaded.host == "node-7"
    assert loaded.reader is not None
    assert sorted(loaded.mechanisms["cgroup_io"].devices) == ["sda", "sdb"]
    assert list(loaded.mechanisms["tc_htb"].interfaces) == ["bond0"]
    assert {stat.S_IMODE(one.stat().st_mode) for one in node.etc.iterdir()} == {0o600}
    assert Host.objects.filter(name="node-7").exists()


def test_node_that_has_joined_asks_nobody(node: Node, northgate: Tenant) -> None:
    secret = line_of(northgate)
    node.join(secret)
    before = {one.name: one.read_bytes() for one in node.etc.iterdir()}

    done = node.join(secret, SLUICE_URL="http://127.0.0.1:1")

    assert done.returncode == 0, done.stderr
    assert {one.name: one.read_bytes() for one in node.etc.iterdir()} == before


def test_refused_node_says_why_and_has_no_configuration(node: Node, northgate: Tenant) -> None:
    secret = line_of(northgate)
    Host.objects.create(organisation=northgate.organisation, name="node-7")

    done = node.join(secret)

    assert done.returncode == 1
    assert 'a host "node-7" is known already' in done.stderr
    assert not (node.etc / "agent.toml").exists()


def test_server_that_does_not_answer_is_named(node: Node, northgate: Tenant) -> None:
    done = node.join(line_of(northgate), SLUICE_URL="http://127.0.0.1:1")

    assert done.returncode == 1
    assert "http://127.0.0.1:1 did not answer" in done.stderr
