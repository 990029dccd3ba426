"""What is known of backups, in files of the data directory."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from advisor.pipeline.backup_state import (
    LastBackup,
    LogState,
    read_last,
    read_log,
    write_last,
    write_log,
)

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def test_nothing_is_known_without_files(tmp_path: Path) -> None:
    assert read_last(tmp_path) == LastBackup()
    assert read_log(tmp_path) is None


def test_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    last = LastBackup(made_at=NOW, failed_at=NOW + timedelta(hours=1))
    log = LogState(since=NOW, looked_at=NOW + timedelta(seconds=1), waiting_since=None)

    write_last(tmp_path, last)
    write_log(tmp_path, log)

    assert read_last(tmp_path) == last
    assert read_log(tmp_path) == log


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"made_at": 5}', "\0"])
def test_damaged_file_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "last.json").write_text(content)

    assert read_last(tmp_path) == LastBackup()
