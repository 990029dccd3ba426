"""Fixtures of the host agent's tests."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from enforcers import signals
from tests.enforcers.agent_bench import Bench
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.rig import Rig, start_rig


@pytest.fixture(autouse=True)
def own_run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Agents of a test share their locks with nobody else."""
    folder = tmp_path / "run"
    for user in ("assembly", "dead_man"):
        monkeypatch.setattr(f"enforcers.{user}.RUN_DIR", folder)
    return folder


@pytest.fixture
def deaf() -> Iterator[None]:
    """A signal that comes after the agent's end must not end the tests."""
    former = {number: signal.signal(number, signal.SIG_IGN) for number in signals.ALL}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.fixture
def tc() -> FakeTc:
    """A kernel with the uplink up0 and the vNICs p1, p2 and p3."""
    return FakeTc("up0", "p1", "p2", "p3")


@pytest.fixture
def rig(tmp_path: Path, tc: FakeTc) -> Rig:
    """An agent that has just started."""
    return start_rig(tmp_path, tc)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An agent with a service that has no policy yet."""
    return Bench(tmp_path)
