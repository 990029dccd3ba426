"""What is known of backups on this machine: two small files in the data directory.

The commands that make backups write one, the process that ships the log the other; pages read
both. The database itself is the wrong place: after a restore it would speak of the past.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

LAST, LOG = "last.json", "log.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastBackup:
    """The newest full backup, and whether a later try failed; None is: never."""

    made_at: datetime | None = None
    failed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """The log's way to the target, as it was at `looked_at`.

    `waiting_since` is the age of the oldest piece that is not there; None if none waits.
    """

    since: datetime
    looked_at: datetime
    waiting_since: datetime | None


def read_last(folder: Path) -> LastBackup:
    """The newest full backup; nothing is known without a file."""
    return LastBackup(**_read(folder / LAST))


def read_log(folder: Path) -> LogState | None:
    """The log's way; None before the process that ships it looked once."""
    found = _read(folder / LOG)
    return LogState(**found) if found else None


def write_last(folder: Path, state: LastBackup) -> None:
    """Keep it; the folder is there."""
    _write(folder / LAST, dataclasses.asdict(state))


def write_log(folder: Path, state: LogState) -> None:
    """Keep it; the folder is there."""
    _write(folder / LOG, dataclasses.asdict(state))


def _read(file: Path) -> dict[str, Any]:
    try:
        plain = json.loads(file.read_text())
        return {name: at and datetime.fromisoformat(at) for name, at in plain.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        # Another process, or another version, writes it anew.
        return {}


def _write(file: Path, plain: dict[str, datetime | None]) -> None:
    new = file.with_suffix(".new")
    new.write_text(json.dumps(plain, default=datetime.isoformat))
    new.replace(file)
