"""The agent's reader against the real web server: what it reads of this machine is stored."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingest.models import (
    CollectorSample,
    DiskioSample,
    NetSample,
    NstatSample,
    RejectedLine,
    SystemSample,
    UnknownMeasurement,
)
from tests.ingest.scenario import Tenant, make_tenant
from tests.ingest.wire import WebServer, eventually

HOST = "reader-1"


@pytest.fixture
def northgate(committed: None) -> Tenant:
    return make_tenant("northgate")


@pytest.fixture
def server(committed: None, tmp_path: Path) -> Iterator[WebServer]:
    """The web server, not started yet."""
    found = WebServer(tmp_path)
    yield found
    found.stop()


@contextmanager
def reading(folder: Path, *, url: str, secret: str) -> Iterator[Path]:
    """The agent's reader as a process of its own; gives its log, and kills it as a crash does."""
    folder.mkdir(exist_ok=True)
    (folder / "ingest-token").write_text(secret)
    (folder / "ingest-token").chmod(0o600)
    (folder / "agent.toml").write_text(
        f'[agent]\nhost = "{HOST}"\nstate_dir = "state"\n'
        f"[server]\nurl = {json.dumps(url)}\n"
        '[reader]\non = true\ntoken_file = "ingest-token"\ninterval_s = 1\n'
    )
    log = folder / "reader.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "enforcers", "read", "--config", folder / "agent.toml"],
            stdout=output,
            stderr=output,
        )
    try:
        yield log
    finally:
        process.kill()
        process.wait()


def test_this_machine_is_stored_and_nothing_of_it_is_refused(
    server: WebServer, northgate: Tenant, tmp_path: Path
) -> None:
    server.start()

    with reading(tmp_path / "agent", url=server.url, secret=northgate.secret) as log:
        for model in (SystemSample, CollectorSample, NstatSample):
            eventually(
                lambda model=model: model.objects.count() >= 3,
                what=f"samples of {model._meta.db_table}: {log.read_text()}",
            )

    assert set(SystemSample.objects.values_list("series__host__name", flat=True)) == {HOST}
    assert not RejectedLine.objects.exists()
    assert not UnknownMeasurement.objects.exists()
    row = SystemSample.objects.latest("time")
    assert None not in (row.load1, row.load5, row.load15, row.n_cpus, row.uptime)
    own = CollectorSample.objects.latest("time")
    assert own.metrics_written > 0
    assert own.metrics_dropped == own.metrics_rejected == 0
    disks = {
        path.parent.name.replace("!", "/")
        for path in Path("/sys/class/block").glob("*/stat")
        if not path.parent.name.startswith(("loop", "ram", "zram"))
    }
    assert set(DiskioSample.objects.values_list("series__subject", flat=True)) == disks
    nics = set(NetSample.objects.values_list("series__subject", flat=True))
    assert nics <= {name for _, name in socket.if_nameindex()} - {"lo"}


def test_one_pass_has_one_time(server: WebServer, northgate: Tenant, tmp_path: Path) -> None:
    server.start()

    with reading(tmp_path / "agent", url=server.url, secret=northgate.secret) as log:
        eventually(lambda: SystemSample.objects.count() >= 2, what=log.read_text())

    times = set(SystemSample.objects.values_list("time", flat=True))
    assert times <= set(CollectorSample.objects.values_list("time", flat=True))
    assert times <= set(NstatSample.objects.values_list("time", flat=True))


def test_samples_survive_an_absent_server_and_a_killed_agent(
    server: WebServer, northgate: Tenant, tmp_path: Path
) -> None:
    folder = tmp_path / "agent"
    waiting = folder / "state" / "samples"

    def passes() -> set[str]:
        return {path.name for path in waiting.glob("*.lp.gz")}

    with reading(folder, url=server.url, secret=northgate.secret) as log:
        eventually(lambda: len(passes()) >= 4, what=log.read_text())
    kept = len(passes())
    server.start()

    with reading(folder, url=server.url, secret=northgate.secret) as log:
        eventually(lambda: SystemSample.objects.count() > kept, what=log.read_text())
        eventually(lambda: not passes(), what=f"an empty buffer: {log.read_text()}")

    assert not RejectedLine.objects.exists()


def test_token_of_another_scope_is_told_and_samples_wait(
    server: WebServer, northgate: Tenant, tmp_path: Path
) -> None:
    server.start()

    with reading(tmp_path / "agent", url=server.url, secret="slu_unknown-secret-0001") as log:
        eventually(lambda: "status 401" in log.read_text(), what=log.read_text())

    assert list((tmp_path / "agent" / "state" / "samples").glob("*.lp.gz"))
    assert "slu_unknown-secret-0001" not in log.read_text()
