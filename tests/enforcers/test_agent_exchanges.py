"""The running agent tells the service of a datastore, and holds the host to what is answered."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from enforcers import cli
from enforcers.client import DOCUMENT_PATH, EXCHANGE_PATH, LIMITS_PATH
from enforcers.contract import encode_document
from enforcers.exchange import decode_exchange, encode_load, pooled
from enforcers.limit_exchange import LimitGrant, LimitsGranted, decode_told, encode_granted
from enforcers.mechanisms.cgroup_io import io_text
from tests.enforcers.agent_files import write_agent_toml
from tests.enforcers.fake_cgroups import MOUNT, FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import document, group
from tests.enforcers.web_service import WebService, web_service

pytestmark = pytest.mark.usefixtures("deaf")

PATIENCE_S = 60.0
NAMES = ("/machine.slice/vm1", "/machine.slice/vm2")


@pytest.fixture
def service() -> Iterator[WebService]:
    with web_service() as running:
        yield running


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCgroups:
    """Two groups on 8:0, and periods of a twentieth, so that nobody waits for long."""
    cgroups = FakeCgroups(tmp_path / "root", iocost=False)
    for name in NAMES:
        cgroups.add_group(name)
    monkeypatch.setattr("enforcers.assembly.SubprocessRunner", FakeTc)
    monkeypatch.setattr("enforcers.assembly.HostFs", lambda: cgroups)
    monkeypatch.setattr("enforcers.mechanisms.cgroup_io.joint_budget.PERIOD_S", 0.2)
    return cgroups


@pytest.fixture
def agent_toml(tmp_path: Path, service: WebService) -> Path:
    return write_agent_toml(
        tmp_path,
        service.url,
        '[cgroup_io]\nsubtrees = ["/machine.slice"]\ndevices = ["8:0"]\n'
        'capacity_is_measured = ["8:0"]\n',
    )


def answering(service: WebService, exchange: Callable[[BaseHTTPRequestHandler], None]) -> None:
    """Hand out a policy with tiers on 8:0, and leave the exchange to a test."""
    now = datetime.now(UTC)
    items = (group(NAMES[0], shares=300), group(NAMES[1], shares=100))
    given = document(*items, issued_at=now, expires_at=now + timedelta(minutes=15))

    def write(asked: BaseHTTPRequestHandler) -> None:
        if asked.path == EXCHANGE_PATH:
            exchange(asked)
        else:
            say(asked, encode_document(given) if asked.path == DOCUMENT_PATH else b"{}")

    service.write = write


def say(asked: BaseHTTPRequestHandler, body: bytes, *, status: int = 200) -> None:
    asked.send_response(status)
    asked.send_header("Content-Length", str(len(body)))
    asked.end_headers()
    asked.wfile.write(body)


def model(kernel: FakeCgroups) -> str:
    return kernel.read(f"{MOUNT}/io.cost.model")


@contextmanager
def at_work(kernel: FakeCgroups) -> Iterator[None]:
    """Counters that go on: 500 I/Os a second, of which both groups want more."""
    ended = threading.Event()

    def count() -> None:
        began_s = time.monotonic()
        while not ended.wait(0.01):
            done = int(500 * (time.monotonic() - began_s))
            waited = f"cost.usage=1 cost.wait={2000 * done}"
            for name in (*NAMES, "/machine.slice"):
                kernel.put(f"{MOUNT}{name}/io.stat", f"8:0 rios={done // 2} wios=0 {waited}\n")
            kernel.put("/sys/dev/block/8:0/stat", f"{done} 0 0 0 0 0 0 0 0 0 {2 * done} 0 0\n")

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def run_until(agent_toml: Path, is_done: Callable[[], object]) -> bool:
    """Run the agent until something is so; whether it came to be."""
    seen = []

    def watch() -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and not is_done():
            time.sleep(0.01)
        seen.append(bool(is_done()))
        signal.raise_signal(signal.SIGTERM)

    watching = threading.Thread(target=watch)
    watching.start()
    assert cli.main(["run", "--config", str(agent_toml)]) == 0
    watching.join()
    return seen[0]


def test_host_is_held_to_its_part_of_what_all_hosts_do(
    agent_toml: Path, service: WebService, kernel: FakeCgroups
) -> None:
    def exchange(asked: BaseHTTPRequestHandler) -> None:
        own = decode_exchange(service.bodies(EXCHANGE_PATH)[-1]).part
        other = replace(own, active_shares=1200.0, shares=1200.0, met_iops=0.0)
        load = replace(pooled([own, other]), threshold_ms=20.0, is_shared=True)
        say(asked, encode_load(load))

    answering(service, exchange)
    with at_work(kernel):
        # 400 of 1,600 shares of 2,000; back as it was found after the end.
        assert run_until(agent_toml, lambda: "rrandiops=500 " in model(kernel))

    told = decode_exchange(service.bodies(EXCHANGE_PATH)[0])
    assert (told.host, told.resource, told.part.shares) == ("h1", "ds1", 400)
    assert "ctrl=auto" in model(kernel)


def test_service_that_never_answers_holds_up_neither_the_loop_nor_the_end(
    agent_toml: Path,
    service: WebService,
    kernel: FakeCgroups,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("enforcers.client.EXCHANGE_TIMEOUT_S", 2 * PATIENCE_S)
    text = agent_toml.read_text().replace("[server]\n", "[server]\ntimeout_s = 120.0\n")
    agent_toml.write_text(text)
    ended = threading.Event()
    answering(service, lambda _: ended.wait(2 * PATIENCE_S) and None)
    looks = 0
    former = kernel.read_or_none

    def counted(path: str) -> str | None:
        nonlocal looks
        if path == "/sys/dev/block/8:0/stat" and service.bodies(EXCHANGE_PATH):
            looks += 1
        return former(path)

    monkeypatch.setattr(kernel, "read_or_none", counted)
    with at_work(kernel):
        # All the while the first question waits for its answer, and when the agent ends too.
        went_on = run_until(agent_toml, lambda: looks > 6)
    asked = len(service.bodies(EXCHANGE_PATH))
    ended.set()

    assert went_on
    assert asked == 1


@pytest.mark.parametrize("status", [400, 404, 503])
def test_service_that_does_not_know_it_changes_nothing(
    agent_toml: Path, service: WebService, kernel: FakeCgroups, status: int
) -> None:
    answering(service, lambda asked: say(asked, b"no", status=status))
    models: list[str] = []

    def is_done() -> bool:
        if "ctrl=user" in model(kernel):
            models.append(model(kernel))
        return bool(service.bodies(EXCHANGE_PATH)) and len(models) > 50

    with at_work(kernel):
        assert run_until(agent_toml, is_done)

    assert all("rrandiops=2000 " in shown for shown in models)


def reads_open(kernel: FakeCgroups) -> float:
    values = io_text.parse_io_max(kernel.text(NAMES[0], "io.max"), "8:0")
    return float(values["riops"].replace("max", "inf"))


def test_limit_of_several_hosts_is_told_and_its_part_taken(
    agent_toml: Path,
    service: WebService,
    kernel: FakeCgroups,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("enforcers.mechanisms.cgroup_io.joint_limits.PERIOD_S", 0.2)
    now = datetime.now(UTC)
    limited = group(NAMES[0], workload="db", limit=300.0, joint_limit=600.0)
    given = document(limited, issued_at=now, expires_at=now + timedelta(minutes=15))
    granted = LimitsGranted(limits=(LimitGrant(workload="db", part=40.0),))
    answers = {DOCUMENT_PATH: encode_document(given), LIMITS_PATH: encode_granted(granted)}
    service.write = lambda asked: say(asked, answers.get(asked.path, b"{}"))

    with at_work(kernel):
        # These counters heed no limit, and what is too much is made good.
        is_held = run_until(agent_toml, lambda: reads_open(kernel) <= 40)

    told = decode_told(service.bodies(LIMITS_PATH)[0])
    assert is_held
    assert (told.host, told.resource) == ("h1", "ds1")
    assert [(use.workload, use.own, use.claimed) for use in told.limits] == [("db", 300, 300)]
