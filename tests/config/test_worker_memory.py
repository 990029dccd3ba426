"""A process of a worker's pool that grew is replaced after its task, and the queue goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.embedded import children
from appliance.embedded.child import Child
from appliance.embedded.memory_bounds import task_process_bytes
from appliance.embedded.postgres_memory import GIB, KIB, MIB
from config.celery import app
from config.paths import DataDir
from tests.config.queued import empty

DEADLINE_S = 120.0
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("memory_bytes", "expected"),
    [(GIB, 512 * MIB), (16 * GIB, GIB), (1024 * GIB, 4 * GIB)],
)
def test_bound_follows_the_machine(memory_bytes: int, expected: int) -> None:
    assert task_process_bytes(memory_bytes) == expected


@pytest.fixture
def upkeep(valkey_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Child]:
    """The worker of the queue upkeep as `sluice run` starts it on a small machine."""
    monkeypatch.setattr(children, "machine_memory_bytes", lambda: GIB)
    data = DataDir(tmp_path)
    data.logs.mkdir()
    (spec,) = [one for one in children.workers(data) if one.name == "worker-upkeep"]
    argv = [part.replace("config.celery", "tests.config.growing_worker") for part in spec.argv]
    environment = {**spec.environment, "PYTHONPATH": str(ROOT), "REDIS_URL": valkey_url}
    empty(valkey_url)
    child = Child(replace(spec, argv=tuple(argv), environment=environment, is_ready=None))
    yield child
    child.stop()
    empty(valkey_url)


@pytest.mark.valkey
@pytest.mark.slow
def test_process_that_grew_is_replaced_after_its_task(upkeep: Child, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    assert f"--max-memory-per-child={512 * MIB // KIB}" in upkeep.spec.argv

    for size_bytes in (MIB, 600 * MIB, MIB, MIB):
        app.send_task("celery.grow", [str(noted), size_bytes], queue="upkeep")

    rows = wait_for_rows(noted, 4, upkeep)
    assert [size for _, size in rows] == [MIB, 600 * MIB, MIB, MIB]
    first, grown, next_one, last = [pid for pid, _ in rows]
    assert (first == grown, grown == next_one, next_one == last) == (True, False, True)


def wait_for_rows(noted: Path, count: int, worker: Child) -> list[tuple[int, int]]:
    deadline = time.monotonic() + DEADLINE_S
    while not noted.exists() or len(lines := noted.read_text().splitlines()) < count:
        assert time.monotonic() < deadline, worker.spec.log.read_text()[-4000:]
        time.sleep(0.1)
    return [(int(pid), int(size)) for pid, size in (line.split() for line in lines)]
