"""Backups and the archived write-ahead log at one target: which objects there are, by what names.

owner.json                        whose backups these are
base/NAME/backup.json             written last: without it the backup is not whole
base/NAME/00000.part ...          the database, a tar packed by zstd, cut into parts
wal/SEGMENT.zst, wal/N.history    the write-ahead log
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from appliance.backup.errors import Damaged, Refused
from appliance.backup.record import BackupRecord, from_json, kept, to_json
from appliance.backup.store import Store
from appliance.backup.wal import (
    HISTORY,
    SEGMENT,
    SEGMENT_BYTES,
    Switch,
    newest_timeline,
    not_needed,
    read_history,
)

OWNER, BASE, WAL = "owner.json", "base", "wal"
RECORD = "backup.json"
PACKED = ".zst"
LEVEL = 3
OWNER_FILE = "owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What went from the target."""

    backups: tuple[str, ...]
    segments: int
    unfinished: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Archive:
    """All that one data directory keeps at a target."""

    store: Store

    def own(self, folder: Path, *, take_over: bool = False) -> None:
        """Make sure that the target belongs to the data directory with this folder of backups.

        The first one has it. Two that write there would mix their logs, such as a restored copy
        beside its origin. Raises Refused with the way to take it over.
        """
        ours = _own_name(folder)
        content = self.store.get(OWNER)
        if content is None or take_over:
            self.store.put(OWNER, json.dumps({"owner": ours}).encode())
        elif json.loads(content).get("owner") != ours:
            raise Refused(
                f"the backups at {self.store.target} are those of another data directory; to go "
                "on with them from here, and end that there, run once: sluice backup --take-over"
            )

    def records(self) -> list[BackupRecord]:
        """Every backup that is whole, oldest first."""
        names = [name for name in self.store.names(BASE) if name.endswith(f"/{RECORD}")]
        found = [self._record(name) for name in names]
        return sorted((one for one in found if one), key=lambda one: one.finished_at)

    def _record(self, name: str) -> BackupRecord | None:
        content = self.store.get(name)
        return None if content is None else from_json(content, name=name.split("/")[1])

    def finish(self, record: BackupRecord) -> None:
        """Make a backup whole whose parts are all there."""
        self.store.put(f"{BASE}/{record.name}/{RECORD}", to_json(record))

    def put_part(self, backup: str, part: str, content: bytes) -> None:
        """Store a piece of a backup."""
        self.store.put(f"{BASE}/{backup}/{part}", content)

    def part(self, backup: str, part: str) -> bytes:
        """A piece of a backup; raises Damaged if it is not there."""
        content = self.store.get(f"{BASE}/{backup}/{part}")
        if content is None:
            raise Damaged(f"{part} of the backup {backup} is missing at {self.store.target}")
        return content

    def wal_names(self) -> set[str]:
        """Segments and histories that are there."""
        names = (name.rpartition("/")[2] for name in self.store.names(WAL))
        return {name.removesuffix(PACKED) for name in names if _is_log(name.removesuffix(PACKED))}

    def put_wal(self, file: Path) -> None:
        """Store a finished segment or a history file; one that is there already stays.

        Raises Damaged if another one with its name is there.
        """
        content = file.read_bytes()
        there = self.wal(file.name)
        if there is None:
            self.store.put(_wal_object(file.name), _packed(file.name, content))
        elif there != content:
            raise Damaged(
                f"{file.name} at {self.store.target} differs from the one of this database; "
                "two databases write there, or it was damaged"
            )

    def wal(self, name: str) -> bytes | None:
        """The content of a segment or history file; None if it is not there.

        Raises Damaged if it cannot be unpacked.
        """
        content = self.store.get(_wal_object(name))
        if content is None or HISTORY.fullmatch(name):
            return content
        try:
            return zstandard.ZstdDecompressor().decompress(
                content, max_output_size=SEGMENT_BYTES, allow_extra_data=False
            )
        except zstandard.ZstdError as error:
            raise Damaged(
                f"{name} of the write-ahead log at {self.store.target} is damaged: {error}"
            ) from error

    def newest(self) -> tuple[int, tuple[Switch, ...]]:
        """The newest timeline, and the ones before it."""
        timeline = newest_timeline(self.wal_names())
        content = self.wal(f"{timeline:08X}.history")
        return timeline, () if content is None else read_history(content.decode())

    def prune(self, *, keep: int) -> Removed:
        """Take away all but the newest `keep` backups, what is unfinished, and WAL nobody needs.

        What makes a backup whole goes first, so one that is half gone is unfinished.
        """
        records = self.records()
        stay = kept(records, keep=keep)
        names = {one.name for one in stay}
        gone = [one.name for one in records if one.name not in names]
        for name in gone:
            self.store.delete(f"{BASE}/{name}/{RECORD}")
        objects = self.store.names(BASE)
        unfinished = {name.split("/")[1] for name in objects} - names
        for name in objects:
            if name.split("/")[1] in unfinished:
                self.store.delete(name)
        segments = 0
        if stay:
            first = min(one.first_segment[8:] for one in stay)
            for segment in not_needed(self.wal_names(), first_needed="0" * 8 + first):
                self.store.delete(_wal_object(segment))
                segments += 1
        return Removed(
            backups=tuple(gone),
            segments=segments,
            unfinished=tuple(sorted(unfinished - set(gone))),
        )


def _own_name(folder: Path) -> str:
    file = folder / OWNER_FILE
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        file.write_text(secrets.token_hex(16))
        return file.read_text()


def _is_log(name: str) -> bool:
    return bool(SEGMENT.fullmatch(name) or HISTORY.fullmatch(name))


def _wal_object(name: str) -> str:
    return f"{WAL}/{name}" if HISTORY.fullmatch(name) else f"{WAL}/{name}{PACKED}"


def _packed(name: str, content: bytes) -> bytes:
    if HISTORY.fullmatch(name):
        return content
    return zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(content)


def logs_in(folder: Path) -> Iterator[Path]:
    """Finished segments and histories in a directory, in the order of their names."""
    for path in sorted(folder.iterdir()):
        if _is_log(path.name):
            yield path
