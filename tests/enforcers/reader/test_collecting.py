"""The reader at work: on the clock's grid, over outages, and to the end."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers import cli
from enforcers.client import DOCUMENT_PATH
from enforcers.config import Endpoint, ReaderConfig
from enforcers.reader.collecting import (
    WRITE_PATH,
    Collecting,
    collecting,
    seconds_to_grid,
    spread_s,
)
from enforcers.reader.reading import Reading
from tests.enforcers.web_service import WebService, web_service


@pytest.fixture
def service() -> Iterator[WebService]:
    with web_service() as running:
        running.status, running.answer = 204, b""
        yield running


def config(folder: Path, url: str) -> ReaderConfig:
    return ReaderConfig(
        host="h1",
        interval_s=1.0,
        ask_qemu=False,
        buffer_dir=folder / "samples",
        buffer_bytes=10**6,
        endpoint=Endpoint(url=urlsplit(url), timeout_s=5.0, ca_file=None),
        token="secret-token",
    )


def lines(service: WebService) -> list[str]:
    """All lines that arrived."""
    bodies = service.bodies(WRITE_PATH)
    return [line for body in bodies for line in gzip.decompress(body).decode().split("\n")]


def times(found: list[str]) -> list[int]:
    return sorted({int(line.rpartition(" ")[2]) for line in found})


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@given(st.floats(0, 2e9), st.sampled_from([1.0, 10.0, 60.0]))
def test_next_pass_is_on_the_grid(now_s: float, interval_s: float) -> None:
    wait_s = seconds_to_grid(now_s, interval_s)

    assert interval_s / 10 < wait_s <= interval_s * 1.1 + 1e-6
    rest = (now_s + wait_s) % interval_s
    assert min(rest, interval_s - rest) < 1e-5


def test_hosts_send_spread_over_three_seconds() -> None:
    waits = [spread_s(f"host-{number}", 10.0) for number in range(1000)]

    assert min(waits) < 0.1
    assert 2.9 < max(waits) < 3.0
    assert sum(waits) / 1000 == pytest.approx(1.5, abs=0.1)
    assert max(spread_s(f"host-{number}", 3.0) for number in range(1000)) < 1.0


def test_samples_go_to_the_service_with_the_token(tmp_path: Path, service: WebService) -> None:
    with collecting(config(tmp_path, service.url)):
        eventually(lambda: len(times(lines(service))) >= 3)

    method, path, headers, _ = service.asked[0]
    assert (method, path) == ("POST", "/api/v2/write?bucket=sluice&precision=ns")
    assert headers["Authorization"] == "Token secret-token"
    assert headers["Content-Encoding"] == "gzip"
    found = lines(service)
    assert any(line.startswith("internal_write,host=h1,output=sluice ") for line in found)
    assert any(line.startswith("system,host=h1 ") for line in found)
    # From the second pass on they follow the clock: soon after a second's beginning.
    assert any(at % 10**9 < 0.5 * 10**9 for at in times(found)[1:])


def test_samples_of_an_outage_are_sent_after_it_also_by_the_next_agent(
    tmp_path: Path, service: WebService
) -> None:
    service.status = 503
    with collecting(config(tmp_path, service.url)):
        eventually(lambda: len(list((tmp_path / "samples").glob("*.gz"))) >= 3)
    refused = times(lines(service))
    service.asked.clear()
    service.status = 204

    with collecting(config(tmp_path, service.url)):
        eventually(lambda: len(times(lines(service))) >= 3)

    assert set(refused) <= set(times(lines(service)))
    eventually(lambda: not list((tmp_path / "samples").glob("*.gz")))


def test_pass_that_is_read_while_the_agent_ends_is_delivered(
    tmp_path: Path, service: WebService, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Collecting(config(tmp_path, service.url))
    begun = threading.Event()

    def read_for_long(**_: object) -> Reading:
        begun.set()
        running._stopping.wait(30)
        (sending,) = (one for one in running._threads if one.name == "send")
        sending.join(30)
        return Reading(lines=("system,host=h1 load1=1 5",), facts={}, problems={}, young=0)

    monkeypatch.setattr(running._reader, "read", read_for_long)
    running.start()
    assert begun.wait(30)

    running.stop()

    assert lines(service)[0] == "system,host=h1 load1=1 5"
    assert list((tmp_path / "samples").iterdir()) == []


@pytest.mark.parametrize(("young", "told"), [(0, []), (3, ["cgroups wait for their second pass"])])
def test_what_was_not_read_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, young: int, told: list[str]
) -> None:
    caplog.set_level("DEBUG")
    running = Collecting(config(tmp_path, "http://127.0.0.1:1"))
    denied = {"/proc/diskstats": "Permission denied"}

    for problems in (denied, denied, {}, denied):
        running._tell(Reading(lines=(), facts={}, problems=problems, young=young))

    messages = [record.message for record in caplog.records]
    # Again only after it was over.
    assert messages.count("not read") == 2
    assert sorted(set(messages) - {"not read"}) == told


def test_one_pass_is_printed_and_nothing_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["read", "--once", "--host", "h9"])

    shown = capsys.readouterr().out.splitlines()
    assert status == 0
    assert all(",host=h9" in line for line in shown)
    assert any(line.startswith("sluice_host,") for line in shown)


def test_output_of_which_somebody_has_enough_is_no_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "enforcers", "read", "--once", "--root", tmp_path]

    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)

    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_facts_are_printed_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/machine-id").write_text("abc\n")

    status = cli.main(["read", "--once", "--json", "--host", "h9", "--root", str(tmp_path)])

    assert status == 0
    assert json.loads(capsys.readouterr().out) == {
        "host": "h9",
        "facts": {
            "host": {"": {"machine_id": ["abc"]}},
            "device": {}, "nic": {}, "mount": {}, "workload": {},
        },
        "problems": {},
    }  # fmt: skip


def test_agent_enforces_and_reads_until_it_is_told_to_stop(
    tmp_path: Path, service: WebService
) -> None:
    secrets = {
        "token": "sluice-token-0001",
        "signing-key": "ab" * 32,
        "ingest": "sluice-ingest-01",
    }
    for name, secret in secrets.items():
        (tmp_path / name).write_text(secret)
        (tmp_path / name).chmod(0o600)
    (tmp_path / "agent.toml").write_text(
        '[agent]\nhost = "h1"\nstate_dir = "state"\npoll_s = 0.5\n'
        f'[server]\nurl = "{service.url}"\ntoken_file = "token"\n'
        'signing_key_file = "signing-key"\n'
        '[reader]\non = true\ntoken_file = "ingest"\ninterval_s = 1\n'
    )
    command = [sys.executable, "-m", "enforcers", "run", "--config", tmp_path / "agent.toml"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as agent:
        eventually(lambda: len(times(lines(service))) >= 2)
        eventually(lambda: any(path == DOCUMENT_PATH for _, path, _, _ in service.asked))
        agent.send_signal(signal.SIGTERM)

        assert agent.wait(30) == 0

    # What was read last is delivered before the end.
    assert list((tmp_path / "state" / "samples").iterdir()) == []
    tokens = {path: headers["Authorization"] for _, path, headers, _ in service.asked}
    assert tokens[DOCUMENT_PATH] == "Bearer sluice-token-0001"
    assert tokens[WRITE_PATH] == "Token sluice-ingest-01"
