"""The process that ships the log and makes backups in time."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from advisor.pipeline.backup_state import LastBackup, read_log, write_last
from appliance.backup.keeper import AFTER_A_FAILURE_S, LOOK_EACH_S, TRY_AGAIN, Keeper
from appliance.backup.places import BackupPlaces, archive_command, kept_apart
from config.paths import DataDir

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SEGMENT = "000000010000000000000001"


@dataclass(slots=True)
class Backups:
    """Counts those that were started; each ends at once with a status."""

    status: int = 0
    started: int = 0

    def start(self) -> subprocess.Popen[bytes]:
        self.started += 1
        process = subprocess.Popen([sys.executable, "-c", f"raise SystemExit({self.status})"])
        process.wait()
        return process


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    found = DataDir(tmp_path / "d")
    found.root.mkdir()
    (tmp_path / "target").mkdir()
    BackupPlaces(found).make(None)
    return found


@pytest.fixture
def keeper(data: DataDir, tmp_path: Path) -> Callable[..., Keeper]:
    def make(backups: Backups, period: timedelta = DAY) -> Keeper:
        target = str(tmp_path / "target")
        return Keeper(data=data, target=target, period=period, start=backups.start)

    return make


def test_finished_pieces_go_to_the_target_and_leave_the_spool(data, keeper, tmp_path) -> None:
    spool = BackupPlaces(data).spool
    (spool / SEGMENT).write_bytes(b"log")
    (spool / "00000002.history").write_bytes(b"1\t0/3000060\twhy\n")
    (spool / f".{SEGMENT}.part").write_bytes(b"half")
    (spool / f"{SEGMENT}.00000028.backup").write_bytes(b"note")

    pause_s = keeper(Backups()).look(now=NOW)

    assert pause_s == LOOK_EACH_S
    assert {path.name for path in (tmp_path / "target/wal").iterdir()} == {
        "00000002.history",
        f"{SEGMENT}.zst",
    }
    assert [path.name for path in spool.iterdir()] == [f".{SEGMENT}.part"]
    state = read_log(data.backup)
    assert state is not None
    assert (state.looked_at, state.waiting_since) == (NOW, None)


def test_log_waits_while_the_target_is_away_and_goes_when_it_is_back(
    data, keeper, tmp_path, capsys
) -> None:
    (BackupPlaces(data).spool / SEGMENT).write_bytes(b"log")
    (tmp_path / "target").rename(tmp_path / "away")
    one = keeper(Backups())

    assert one.look(now=NOW) == AFTER_A_FAILURE_S
    one.look(now=NOW + timedelta(seconds=10))
    state = read_log(data.backup)
    (tmp_path / "away").rename(tmp_path / "target")
    one.look(now=NOW + timedelta(seconds=20))

    assert state is not None
    assert state.waiting_since is not None
    assert (tmp_path / f"target/wal/{SEGMENT}.zst").is_file()
    # Told once, and that it is over.
    said = capsys.readouterr().out.splitlines()
    assert [("is its disk mounted" in line) for line in said] == [True, False]


def test_log_of_another_data_directory_is_not_mixed_in(data, keeper, tmp_path, capsys) -> None:
    (tmp_path / "target/owner.json").write_text('{"owner": "somebody else"}')
    (BackupPlaces(data).spool / SEGMENT).write_bytes(b"log")

    keeper(Backups()).look(now=NOW)

    assert not (tmp_path / "target/wal").exists()
    assert "--take-over" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("age", "period", "started"),
    [
        pytest.param(None, DAY, 1, id="none yet"),
        pytest.param(DAY, DAY, 1, id="due"),
        pytest.param(DAY - timedelta(seconds=1), DAY, 0, id="not due"),
        pytest.param(None, timedelta(0), 0, id="by hand alone"),
    ],
)
def test_backup_is_made_when_it_is_due(data, keeper, age, period, started) -> None:
    if age is not None:
        write_last(data.backup, LastBackup(made_at=NOW - age))
    backups = Backups()

    keeper(backups, period).look(now=NOW)

    assert backups.started == started


def test_backup_that_failed_is_tried_again_after_a_while(data, keeper) -> None:
    backups = Backups(status=1)
    one = keeper(backups)

    one.look(now=NOW)
    one.look(now=NOW + timedelta(seconds=1))  # It has ended.
    one.look(now=NOW + TRY_AGAIN)
    assert backups.started == 1
    one.look(now=NOW + TRY_AGAIN + timedelta(seconds=1))

    assert backups.started == 2


def test_script_copies_a_piece_once_and_refuses_another_one(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "a b'c%d")
    data.root.mkdir()
    places = BackupPlaces(data)
    places.make(None)
    piece = tmp_path / SEGMENT
    piece.write_bytes(b"log")
    # As PostgreSQL fills its placeholders in.
    command = archive_command(places).replace("%p", str(piece)).replace("%f", SEGMENT)
    command = command.replace("%%", "%")

    def run() -> int:
        return subprocess.run(["/bin/sh", "-c", command], check=False).returncode

    assert run() == 0
    assert (places.spool / SEGMENT).read_bytes() == b"log"
    assert run() == 0
    piece.write_bytes(b"other")
    assert run() != 0
    assert (places.spool / SEGMENT).read_bytes() == b"log"


def test_what_is_kept_apart_is_named_without_its_contents(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    (tmp_path / "secret-key").write_text("a secret")
    (tmp_path / "lock").write_text("1")
    (tmp_path / "postgres").mkdir()
    environment = {"SLUICE_URL": "https://a", "AWS_SECRET_ACCESS_KEY": "hidden", "HOME": "/"}

    found = kept_apart(data, environment)

    assert found == (
        str(tmp_path / "secret-key"),
        "the setting AWS_SECRET_ACCESS_KEY",
        "the setting SLUICE_URL",
    )
