"""What a loss of power leaves, and that faults strike the agent's real writes."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.simulation.disk import SimulatedDisk
from appliance.simulation.stand_ins import Turns
from appliance.simulation.strikes import Killed, Strike, Strikes
from enforcers.atomic_file import write_atomically
from enforcers.errors import StateError

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Host:
    """Whose turn it is."""

    def __init__(self, root: Path) -> None:
        self.struck: list[Strike] = []
        self.strikes = Strikes(self.struck.append)
        self.disk = SimulatedDisk(root, self.strikes)

    def now(self) -> datetime:
        return NOON


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    turns = Turns(lambda: NOON)
    host = Host(tmp_path)
    with turns.standing_in(), turns.of(host):
        yield host


def left(root: Path, host: Host) -> set[bytes | None]:
    """What a file can have after a loss of power, in forty of them."""
    found: set[bytes | None] = set()
    before = {path.name: path.read_bytes() for path in root.iterdir()}
    synced, durable = dict(host.disk._synced), dict(host.disk._durable)
    for seed in range(40):
        host.disk._synced, host.disk._durable = dict(synced), dict(durable)
        for path in root.iterdir():
            path.unlink()
        for name, content in before.items():
            (root / name).write_bytes(content)
        host.disk.lose_power(random.Random(seed))
        path = root / "file.json"
        found.add(path.read_bytes() if path.exists() else None)
    return found


def test_file_that_was_written_atomically_outlives_a_loss_of_power(
    tmp_path: Path, host: Host
) -> None:
    write_atomically(tmp_path / "file.json", b"old")
    write_atomically(tmp_path / "file.json", b"newer")

    assert left(tmp_path, host) == {b"newer"}


def test_name_whose_folder_was_not_synced_may_be_the_old_one(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_atomically(tmp_path / "file.json", b"old")
    monkeypatch.setattr("enforcers.atomic_file._sync_directory", lambda _: None)
    write_atomically(tmp_path / "file.json", b"newer")

    assert left(tmp_path, host) == {b"old", b"newer"}


def test_file_that_was_never_synced_may_be_there_without_its_content(
    tmp_path: Path, host: Host
) -> None:
    (tmp_path / "file.json").write_bytes(b"content")

    found = left(tmp_path, host)

    assert None in found
    assert any(one is not None and one != b"content" for one in found)


@pytest.mark.parametrize("step", range(1, 6))
def test_killed_agent_does_nothing_more_at_any_step(tmp_path: Path, host: Host, step: int) -> None:
    write_atomically(tmp_path / "file.json", b"old")
    host.strikes.arm(Strike.KILL, step)

    with pytest.raises(Killed):
        write_atomically(tmp_path / "file.json", b"newer")

    # The last of the five steps comes after the rename: it syncs the folder.
    assert host.struck == [Strike.KILL]
    assert (tmp_path / "file.json").read_bytes() == (b"newer" if step == 5 else b"old")


def test_full_disk_takes_no_file_until_it_has_room(tmp_path: Path, host: Host) -> None:
    host.strikes.is_disk_full = True
    with pytest.raises(StateError, match="No space left"):
        write_atomically(tmp_path / "file.json", b"new")

    host.strikes.disarm()
    write_atomically(tmp_path / "file.json", b"new")

    assert (tmp_path / "file.json").read_bytes() == b"new"


def test_error_strikes_once_and_kernel_faults_wait_for_the_kernel(
    tmp_path: Path, host: Host
) -> None:
    host.strikes.arm(Strike.KERNEL_REFUSES, 1)
    write_atomically(tmp_path / "file.json", b"new")

    with pytest.raises(OSError, match="Invalid argument") as refused:
        host.strikes.kernel_step()

    assert refused.value.errno == errno.EINVAL
    host.strikes.kernel_step()
