"""A pasted line on this machine: the real script, web server, agent and Telegraf.

What the script writes lies below a scratch folder, and the agent observes: this machine's own
files and kernel stay as they are.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from accounts.models import Collects, JoinMode, JoinToken, Membership
from accounts.services.join_tokens import Terms, make_join_token, revoke_join_token
from advisor.core.join_checklist import Check, CheckState
from advisor.decisions.discovery import discover
from advisor.models import Allocation
from advisor.queries.joins import followed_hosts
from advisor.queries.scope import Scope
from ingest.models import Host, HostJoin
from tests.ingest.scenario import Tenant, make_tenant
from tests.ingest.wire import WebServer, eventually

pytestmark = [pytest.mark.root, pytest.mark.django_db(transaction=True)]

ENDS_S = 30.0
"""The agent puts back what it changed, and the script waits for it."""


@pytest.fixture
def northgate(transactional_db: None) -> Tenant:
    return make_tenant("northgate")


@pytest.fixture
def server(transactional_db: None, tmp_path: Path) -> Iterator[WebServer]:
    server = WebServer(tmp_path)
    server.start()
    yield server
    server.stop()


class Scratch:
    """A host below a folder, on which lines are pasted."""

    def __init__(self, folder: Path, server: WebServer) -> None:
        self.folder, self._server = folder, server
        self.log = folder.with_suffix(".log")
        folder.mkdir()

    @property
    def etc(self) -> Path:
        return self.folder / "etc/sluice-enforcer"

    def line(self, secret: str) -> str:
        return f"curl -fsSL {self._server.url}/join/{secret} | sh"

    def environment(self, **more: str) -> dict[str, str]:
        return {**os.environ, "SLUICE_PREFIX": str(self.folder), "SLUICE_HOST": "h1", **more}

    def paste(self, secret: str, **more: str) -> tuple[int, str]:
        """Paste a line that does not come so far as to start the agent."""
        done = subprocess.run(
            ["sh", "-c", self.line(secret)], env=self.environment(**more), timeout=60,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    @contextmanager
    def joined(self, secret: str, **more: str) -> Iterator[None]:
        """Paste a line that starts the agent, and press Ctrl-C at the end."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                ["sh", "-c", self.line(secret)], env=self.environment(**more),
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            yield
            os.killpg(process.pid, signal.SIGINT)
            process.wait(ENDS_S)
            eventually(lambda: not is_alive(process.pid), what="an end of all that was started")
        finally:
            if is_alive(process.pid):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def said(self) -> str:
        return self.log.read_text()


def is_alive(group: int) -> bool:
    """Whether a process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def scratch(tmp_path: Path, server: WebServer) -> Scratch:
    return Scratch(tmp_path / "h1", server)


def make(tenant: Tenant, **terms: object) -> tuple[JoinToken, str]:
    return make_join_token(
        organisation=tenant.organisation, terms=Terms(**terms), now=timezone.now()
    )


class Domain:
    """A control group as libvirt makes one, in files that count I/O on this machine's disk."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "machine.slice/machine-qemu\\x2d1\\x2dweb.scope/io.stat"
        self._file.parent.mkdir(parents=True)
        self._file.with_name("io.pressure").write_text(
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
        )
        self.glob = str(folder / "*.slice/*")
        self._count = 0
        self.work()

    def work(self) -> None:
        self._count += 50
        lines = [
            f"{number} rbytes={self._count * 4096} wbytes=0 rios={self._count} wios=0 "
            "dbytes=0 dios=0\n"
            for number in disk_numbers()
        ]
        new = self._file.with_suffix(".new")
        new.write_text("".join(lines))
        new.rename(self._file)


def disk_numbers() -> list[str]:
    return [
        (block / "dev").read_text().strip()
        for block in Path("/sys/block").iterdir()
        if (block / "device").exists()
    ]


def followed(tenant: Tenant, token: JoinToken) -> dict[str, Check]:
    """The checklist of the one host that joined, by the names of its lines; none before."""
    owner, _ = get_user_model().objects.get_or_create(username="owner")
    Membership.objects.get_or_create(organisation=tenant.organisation, user=owner, role="owner")
    scope = Scope(user=owner, organisation=tenant.organisation)
    found = followed_hosts(scope, token, now=timezone.now())
    return {check.name: check for host in found for check in host.checks}


def states(tenant: Tenant, token: JoinToken) -> dict[str, CheckState]:
    return {name: check.state for name, check in followed(tenant, token).items()}


@pytest.mark.telegraf
@pytest.mark.timeout(300)
def test_pasted_line_connects_a_host_until_its_workloads_are_seen(
    northgate: Tenant, scratch: Scratch, telegraf: Path, tmp_path: Path
) -> None:
    if not disk_numbers():
        pytest.skip("does not apply without a whole disk: workloads are found by what they read")
    domain = Domain(tmp_path / "cgroups")
    token, secret = make(northgate, collects=Collects.TELEGRAF)
    more = {
        "SLUICE_TELEGRAF": str(telegraf), "SLUICE_CGROUPS": domain.glob, "SLUICE_INTERVAL": "2s",
    }  # fmt: skip

    with scratch.joined(secret, **more):

        def is_green() -> bool:
            domain.work()
            discover(organisation=northgate.organisation)
            found = states(northgate, token)
            return len(found) > 4 and not {CheckState.WAITING, CheckState.WRONG} & {
                *found.values()
            }

        eventually(
            is_green, what=f"{followed(northgate, token)}\n{scratch.said()}", deadline_s=120
        )
        checks = followed(northgate, token)

    assert "observes and changes nothing" in checks["Agent"].text
    assert checks["Samples"].text.startswith("Telegraf sends them")
    assert "1 VM" in checks["Workloads"].text
    assert Allocation.objects.filter(host__name="h1", workload__name__contains="web").exists()
    row = JoinToken.objects.get(pk=token.pk)
    assert (row.hosts_joined, HostJoin.objects.get(token=token).host.name) == (1, "h1")


@pytest.mark.timeout(240)
def test_line_may_be_pasted_again_and_all_it_wrote_can_be_removed(
    northgate: Tenant, scratch: Scratch
) -> None:
    _, secret = make(northgate)

    with scratch.joined(secret):
        eventually(lambda: Host.objects.exclude(heard_at=None).exists(), what=scratch.said())
    kept = (scratch.etc / "token").read_text()
    with (scratch.etc / "agent.toml").open("a") as configuration:
        configuration.write("# seen by a person\n")
    _, enforcing = make(northgate, mode=JoinMode.ENFORCE)
    with scratch.joined(enforcing, SLUICE_HOST=""):
        eventually(lambda: HostJoin.objects.count() == 2, what=scratch.said())
        eventually(
            lambda: "dry_run = false" in (scratch.etc / "agent.toml").read_text(),
            what=scratch.said(),
        )

    assert (scratch.etc / "token").read_text() == kept
    assert (scratch.etc / "agent.toml").read_text().endswith("# seen by a person\n")
    assert "has joined already" in scratch.said()
    assert list(JoinToken.objects.order_by("pk").values_list("hosts_joined", flat=True)) == [1, 0]
    assert {path.stat().st_mode & 0o077 for path in scratch.etc.iterdir()} == {0}

    uninstall = scratch.folder / "usr/local/lib/sluice-enforcer/uninstall"
    subprocess.run(["sh", uninstall], check=True, timeout=60)

    assert [path for path in scratch.folder.rglob("*") if path.is_file()] == []


@pytest.mark.timeout(240)
def test_an_exchange_has_the_same_id_in_the_logs_of_agent_and_server(
    northgate: Tenant, tmp_path: Path
) -> None:
    server = WebServer(tmp_path, SLUICE_LOG_LEVEL="DEBUG", SLUICE_LOG_FORMAT="json")
    server.start()
    scratch = Scratch(tmp_path / "h1", server)
    _, secret = make(northgate)

    try:
        with scratch.joined(secret, SLUICE_LOG_FORMAT="json"):
            eventually(lambda: bool(ids_in(scratch.log)), what=scratch.said())
    finally:
        server.stop()

    found = ids_in(server.log)
    told = {found.get(one) for one in ids_in(scratch.log)}
    assert told == {("/api/v1/enforcer/document", "h1")}


def ids_in(log: Path) -> dict[str, tuple[str | None, str | None]]:
    """The path and host, as far as they are told, by the id of each line that has one."""
    whole = log.read_text().rpartition("\n")[0].splitlines()
    lines = [json.loads(line) for line in whole if line.startswith("{")]
    return {
        line["request_id"]: (line.get("path"), line.get("host"))
        for line in lines
        if "request_id" in line
    }


@pytest.mark.timeout(240)
def test_agent_reads_where_telegraf_cannot_be_had(
    northgate: Tenant, scratch: Scratch, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    apt = programs / "apt-get"
    apt.write_text('#!/bin/sh\necho "E: Unable to locate package telegraf"\nexit 100\n')
    apt.chmod(0o755)
    token, secret = make(northgate, collects=Collects.TELEGRAF)
    more = {"SLUICE_TELEGRAF": "telegraf-away", "PATH": f"{programs}:{os.environ['PATH']}"}

    with scratch.joined(secret, **more):
        eventually(lambda: Host.objects.exclude(heard_at=None).exists(), what=scratch.said())
        samples = followed(northgate, token)["Samples"]

    assert "E: Unable to locate package telegraf" in scratch.said()
    assert samples.state == CheckState.DONE
    assert samples.text.startswith(
        "The agent's reader (Telegraf is not here, and the host's package sources do not have it)"
    )


def test_refused_line_says_why_and_writes_nothing(northgate: Tenant, scratch: Scratch) -> None:
    Host.objects.create(organisation=northgate.organisation, name="h1")
    _, secret = make(northgate)
    token, revoked = make(northgate)
    revoke_join_token(organisation=northgate.organisation, pk=token.pk, now=timezone.now())

    taken, ended, unknown = (scratch.paste(one) for one in (secret, revoked, "slj_unknown"))

    assert [status for status, _ in (taken, ended, unknown)] == [1, 1, 1]
    assert 'a host "h1" is known already, and stays as it is' in taken[1]
    assert "this join token was revoked" in ended[1]
    assert "this join token is not known; was the line copied whole?" in unknown[1]
    assert [path for path in scratch.folder.rglob("*") if path.is_file()] == []
    assert not JoinToken.objects.exclude(hosts_joined=0).exists()


def test_wrong_interval_is_told_before_anything_is_done(
    northgate: Tenant, scratch: Scratch
) -> None:
    _, secret = make(northgate)

    status, said = scratch.paste(secret, SLUICE_INTERVAL="0.5s")

    assert status == 1
    assert "SLUICE_INTERVAL=0.5s is not 1 to 60 seconds; nothing was changed" in said
    assert not Host.objects.exists()


def test_host_with_an_old_python_is_told_before_anything_is_done(
    northgate: Tenant, scratch: Scratch, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for version in ("", ".11", ".12", ".13", ".14"):
        old = programs / f"python3{version}"
        old.write_text("#!/bin/sh\nexit 1\n")
        old.chmod(0o755)
    _, secret = make(northgate)

    status, said = scratch.paste(secret, PATH=f"{programs}:{os.environ['PATH']}")

    assert status == 1
    assert "the agent needs Python 3.11 or later, which is not here; install the package" in said
    assert not Host.objects.exists()
