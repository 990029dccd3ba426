"""A mechanism of one folder, from an allocation stored in the service to its read-back there.

It is the example of docs/adding-a-mechanism.md; the service has no word of it anywhere.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from itertools import count
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from advisor.models import ComplianceRecord, Enforcer
from enforcers import config
from enforcers.agent import Agent
from enforcers.clocks import clocks_of
from enforcers.contract import Outcome
from enforcers.host_fs import HostFs
from enforcers.policy_store import PolicyStore
from enforcers.registry import MECHANISMS
from enforcers.signature import SignatureKind
from enforcers.wire_signatures import REPORT_HEADER, document_media, signed_report
from tests.advisor.scenario import Cluster, make_cluster
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.rig import host_of_root, start_rig
from tests.enforcers.throttle.mechanism import Throttle, ThrottleConfig
from tests.web import agents
from tests.web.html import page_of

pytestmark = pytest.mark.django_db

LIMIT_FILE = "/sys/class/throttle/ds0/port7/limit"


class ServiceByRequests:
    """The service as an agent reaches it, by requests with its token and signed by its key."""

    def __init__(self, server: config.ServerConfig) -> None:
        accept = document_media(SignatureKind.ED25519)
        self._client = Client(
            headers={"Authorization": f"Bearer {server.token}", "Accept": accept}
        )
        self._secret, self._numbers = server.report_key, count(1)

    def fetch_document(self) -> bytes:
        return bytes(self._ask("get", "/api/v1/enforcer/document").content)

    def send_report(self, report: bytes) -> None:
        assert self._secret is not None
        signed = signed_report(report, number=next(self._numbers), secret=self._secret)
        self._ask(
            "post", "/api/v1/enforcer/report", report, content_type="application/json",
            headers={REPORT_HEADER: signed},
        )  # fmt: skip

    def _ask(self, method: str, *what: object, **more: object):
        answer = getattr(self._client, method)(*what, **more)
        assert answer.status_code == 200, answer.content
        return answer


def sluice(*words: str) -> str:
    out = StringIO()
    call_command(*words, "--organisation", "acme", stdout=out)
    return out.getvalue()


@pytest.fixture
def cluster() -> Cluster:
    """An enrolled host whose disk ds0 is a datastore counted in bytes/s; no agent spoke yet."""
    cluster = make_cluster()
    Enforcer.objects.update(support=[])
    sluice(
        *("resource", "add", "ds", "--kind", "datastore", "--at", "h1:ds0"),
        *("--unit", "bytes_per_s", "--capacity", "200MB"),
    )
    return cluster


class Sysfs(HostFs):
    """Files of the kernel: what is written replaces what was there."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.root = root

    def write(self, host_path: str, text: str) -> None:
        (self.root / host_path.lstrip("/")).write_text(f"{text}\n")


@pytest.fixture
def host_fs(tmp_path: Path) -> HostFs:
    """A host with a throttle on ds0."""
    host_of_root(tmp_path / "root")
    found = Sysfs(tmp_path / "root")
    (found.root / LIMIT_FILE.lstrip("/")).parent.mkdir(parents=True)
    found.write(LIMIT_FILE, "max")
    return found


def start_agent(folder: Path, host_fs: HostFs, cluster: Cluster) -> Agent:
    """The agent with one mechanism more, as `sluice enroll` configured it."""
    sluice("enroll", "h1", "--out", str(folder), "--allow", "throttle.devices=ds0")
    loaded = config.load(folder / "agent.toml", (*MECHANISMS, Throttle))
    assert loaded.mechanisms["throttle"] == ThrottleConfig(devices=frozenset({"ds0"}))
    rig = start_rig(
        folder, FakeTc("up0"), host_fs=host_fs, more=(Throttle,), configs=loaded.mechanisms
    )
    clocks = clocks_of(host_fs)
    return Agent(
        config=loaded,
        service=ServiceByRequests(loaded.server),
        enforcement=rig.enforcement,
        store=PolicyStore(
            folder / "policy.json", key=loaded.server.document_key, moment=clocks.moment()
        ),
        support=lambda: tuple(item.support() for item in rig.mechanisms.values()),
        clocks=clocks,
        status_file=folder / "status.json",
    )


@pytest.fixture
def agent(tmp_path: Path, cluster: Cluster, host_fs: HostFs) -> Agent:
    """An agent that has said what it supports, then got a policy, and holds it."""
    agent = start_agent(tmp_path / "agent", host_fs, cluster)
    agent.tick()
    sluice(
        *("allocation", "set", "ds", "db", "--cgroup", "/machine.slice/db"),
        *("--selector", "port=port7", "--limit", "50MB"),
    )
    agents.publish(
        cluster.organisation.resources.get(name="ds"),
        by=cluster.people.owner,
        now=datetime.now(UTC),
        entitlements={"db": 50e6},
    )
    agent.tick()
    return agent


def test_allocation_reaches_the_kernel_by_the_added_mechanism_and_is_read_back(
    agent: Agent, host_fs: HostFs
) -> None:
    (record,) = ComplianceRecord.objects.filter(resource__name="ds")
    assert host_fs.read(LIMIT_FILE) == "50000000\n"
    assert record.outcome == Outcome.APPLIED
    assert record.reason == "ds0 limit of port7: max -> 50000000"
    assert record.read_back == {
        "reservation": None, "limit": 50e6, "shares": None, "native": "limit 50000000",
    }  # fmt: skip


def test_words_of_the_added_mechanism_are_shown(agent: Agent, cluster: Cluster) -> None:
    page = page_of(_viewer(cluster).get("/hosts/"))
    rows = json.loads(sluice("hosts", "--json"))

    assert page.row("table", "throttle") == [
        "no a throttle guarantees nothing",
        "yes the limit file of the port",
        "no a throttle knows no shares",
        "h1",
    ]
    (told,) = [item for item in rows[0]["support"] if item["mechanism"] == "throttle"]
    assert told["holds"]["limit"] == {"is_held": True, "words": "the limit file of the port"}
    assert told["selectors"] == ["port"]


def test_added_mechanism_puts_back_what_it_found(agent: Agent, host_fs: HostFs) -> None:
    agent.stop()

    assert host_fs.read(LIMIT_FILE) == "max\n"


def _viewer(cluster: Cluster) -> Client:
    client = Client()
    client.force_login(cluster.people.viewer)
    return client
