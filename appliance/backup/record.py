"""What is known of a full backup: the file that is written last and makes it whole."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from appliance.backup.errors import Damaged, NotReachable
from appliance.backup.wal import Switch, leads_on, lsn_bytes, segment_at

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of the packed database, and what it must hash to (SHA-256)."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSum:
    """Rows of a table, and a sum over their contents; None where it is too large for that."""

    rows: int
    content: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What every table held at a named place of the log."""

    restore_point: str
    at: datetime
    tables: Mapping[str, TableSum]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupRecord:
    """A full backup that is whole.

    It can be restored to any moment from `finished_at` on. `raw_bytes` is its size unpacked.
    `counted` is None where tables could not be counted; `kept_apart` names what is not in it.
    """

    name: str
    started_at: datetime
    finished_at: datetime
    postgres_version: str
    timescaledb: bool
    system_identifier: str
    timeline: int
    start_lsn: str
    stop_lsn: str
    raw_bytes: int
    parts: tuple[Part, ...]
    counted: Counted | None
    kept_apart: tuple[str, ...]

    @property
    def first_segment(self) -> str:
        """The first segment of the log that it needs."""
        return segment_at(self.timeline, self.start_lsn)

    @property
    def stored_bytes(self) -> int:
        """Its size as it is stored."""
        return sum(part.size_bytes for part in self.parts)


def to_json(record: BackupRecord) -> bytes:
    """The record as a file."""
    plain = {"format": FORMAT, **dataclasses.asdict(record)}
    return json.dumps(plain, indent=1, default=datetime.isoformat).encode()


def from_json(content: bytes, *, name: str) -> BackupRecord:
    """The record of a file; raises Damaged with the name of the backup."""
    try:
        plain = json.loads(content)
        if plain.pop("format") != FORMAT:
            raise Damaged(f"the backup {name} was written by another version of Sluice")
        return BackupRecord(
            **plain
            | {
                "started_at": datetime.fromisoformat(plain["started_at"]),
                "finished_at": datetime.fromisoformat(plain["finished_at"]),
                "parts": tuple(Part(**part) for part in plain["parts"]),
                "counted": _counted(plain["counted"]),
                "kept_apart": tuple(plain["kept_apart"]),
            }
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"what the backup {name} says of itself cannot be read: {error}") from error


def _counted(plain: Any) -> Counted | None:
    if plain is None:
        return None
    return Counted(
        **plain
        | {
            "at": datetime.fromisoformat(plain["at"]),
            "tables": {name: TableSum(**one) for name, one in plain["tables"].items()},
        }
    )


def choose(
    records: Sequence[BackupRecord],
    *,
    until: datetime | None,
    timeline: int,
    history: Sequence[Switch],
) -> BackupRecord:
    """The newest backup that leads to a moment; `until` None is the newest moment there is.

    Raises NotReachable with the oldest moment that can be had.
    """
    usable = [
        one
        for one in sorted(records, key=lambda one: one.finished_at)
        if leads_on(one.timeline, end_bytes=lsn_bytes(one.stop_lsn), to=timeline, history=history)
    ]
    if not usable:
        raise NotReachable("there is no whole backup at the target; make one with: sluice backup")
    early = [one for one in usable if until is None or one.finished_at <= until]
    if not early:
        raise NotReachable(
            f"the oldest moment that can be restored is {usable[0].finished_at.isoformat()}, "
            f"the end of backup {usable[0].name}"
        )
    return early[-1]


def kept(records: Sequence[BackupRecord], *, keep: int) -> tuple[BackupRecord, ...]:
    """The newest `keep` backups, at least one, oldest first."""
    return tuple(sorted(records, key=lambda one: one.finished_at)[-max(1, keep) :])
