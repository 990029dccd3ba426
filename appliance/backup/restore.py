"""A backup comes back into a data directory, and the log is replayed until a moment."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import zstandard

from appliance.backup.archive import Archive
from appliance.backup.directory_store import NO_ROOM
from appliance.backup.errors import Damaged, NoSpace, NotReachable, Refused, WrongVersion
from appliance.backup.record import BackupRecord, choose
from appliance.backup.recovery import Until, recovered
from appliance.backup.wal import SEGMENT_BYTES, Switch, way
from appliance.embedded.errors import NoServerProgram
from appliance.embedded.leftovers import processes_in
from appliance.embedded.postgres_cluster import PostgresCluster, find_cluster
from appliance.embedded.service_user import make_directory, process_identity, service_user
from config.paths import DataDir

Say = Callable[[str], None]
Progress = Callable[[int, int], None]
"""Told how many bytes are done, and of how many."""

LOG_FOLDER = "restore-wal"
COPY_BYTES = 1 << 20
MAY_BE_THERE = {"secret-key"}
"""What may lie in a directory that counts as empty: every command makes the key it lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A backup, and the log that leads on from it."""

    record: BackupRecord
    timeline: int
    history: tuple[Switch, ...]
    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came back: the backup, and the last transaction that is in it."""

    record: BackupRecord
    newest_at: datetime | None
    moved_to: Path | None


def choose_backup(archive: Archive, *, until: datetime | None, name: str | None = None) -> Chosen:
    """The backup that leads to a moment (None: the newest one there is), with its log.

    Raises NotReachable, and Damaged where the log has a hole and no moment was asked for.
    """
    timeline, history = archive.newest()
    records = [one for one in archive.records() if name in (None, one.name)]
    if name is not None and not records:
        raise NotReachable(f"no whole backup is called {name}; see: sluice backup --list")
    record = choose(records, until=until, timeline=timeline, history=history)
    found = way(archive.wal_names(), first=record.first_segment, to=timeline, history=history)
    if found.missing is not None and until is None:
        raise Damaged(
            f"the segment {found.missing} of the log is missing at {archive.store.target}, and "
            "later ones are there; restore to a moment before it with --to"
        )
    return Chosen(record=record, timeline=timeline, history=history, segments=found.segments)


def restore(
    archive: Archive,
    into: DataDir,
    *,
    until: datetime | None,
    force: bool,
    say: Say,
    progress: Progress,
) -> Restored:
    """Bring the database of a moment (None: the newest there is) into a data directory.

    Raises BackupError. What was there before is never deleted: with `force` it is moved aside.
    """
    into.check_socket_paths()
    _check_free_to_use(into, force=force)
    chosen = choose_backup(archive, until=until)
    with _unpacked(archive, into, chosen, say=say, progress=progress) as (cluster, moved_to):
        say("replaying the log")
        with recovered(
            cluster,
            log=into.root / LOG_FOLDER,
            timeline=chosen.timeline,
            until=Until(moment=until),
            say=say,
        ) as newest_at:
            pass
    return Restored(record=chosen.record, newest_at=newest_at, moved_to=moved_to)


@contextmanager
def _unpacked(
    archive: Archive, into: DataDir, chosen: Chosen, *, say: Say, progress: Progress
) -> Iterator[tuple[PostgresCluster, Path | None]]:
    """The cluster, unpacked and checked, beside the log; the log is removed at the end.

    A cluster that could not be brought to its end is removed too, so that nobody starts it, with
    all else that was made for it: the directory is as it was, and can be used again.
    """
    user = service_user()
    try:
        into.root.mkdir(mode=0o700 if user is None else 0o711, parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"{into.root} cannot be made: {error.strerror}") from error
    _check_room(into.root, chosen)
    before = set(into.root.iterdir())
    moved_to = _move_aside(into)
    try:
        unpack(archive, into, chosen, say=say, progress=progress)
        yield check_unpacked(into, chosen.record, say), moved_to
    except BaseException:
        shutil.rmtree(into.postgres, ignore_errors=True)
        if moved_to is not None:
            moved_to.rename(into.postgres)
        _remove_new(into.root, before)
        raise
    finally:
        shutil.rmtree(into.root / LOG_FOLDER, ignore_errors=True)


def unpack(
    archive: Archive, into: DataDir, chosen: Chosen, *, say: Say, progress: Progress
) -> None:
    """The files of the backup and the segments of its log, owned by the database's user.

    Raises Damaged with what is, NoSpace.
    """
    record, user = chosen.record, service_user()
    log = into.root / LOG_FOLDER
    try:
        say(f"unpacking the backup {record.name}")
        make_directory(into.postgres, user)
        _extract(archive, record, into.postgres, progress)
        say(f"fetching the log: {len(chosen.segments)} segments")
        make_directory(log, user)
        for number, name in enumerate(chosen.segments):
            _fetch(archive, name, log)
            progress(number + 1, len(chosen.segments))
        if chosen.history:
            _fetch(archive, f"{chosen.timeline:08X}.history", log)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise NoSpace(f"the disk of {into.root} is full") from error
        raise Refused(f"{into.root} cannot be written: {error.strerror}") from error
    if user is not None:
        for path in (into.postgres, log):
            _give(path, user.uid, user.gid)


def _extract(archive: Archive, record: BackupRecord, into: Path, progress: Progress) -> None:
    source = _Parts(archive, record, progress)
    try:
        with (
            zstandard.ZstdDecompressor().stream_reader(source) as plain,  # type: ignore[arg-type]  # it reads
            tarfile.open(fileobj=plain, mode="r|") as tar,
        ):
            for member in tar:
                _write(tar, member, into)
    except (zstandard.ZstdError, tarfile.TarError, EOFError) as error:
        raise Damaged(f"the backup {record.name} cannot be unpacked: {error}") from error
    into.chmod(0o700)


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, into: Path) -> None:
    """A file or directory of the database, within the directory, for its owner alone.

    Raises Damaged for anything else: the private database has no other.
    """
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or not (member.isdir() or member.isfile()):
        raise Damaged(f"the backup has {member.name}, which no database of Sluice has")
    if member.isdir():
        (into / path).mkdir(mode=0o700, parents=True, exist_ok=True)
        return
    content = tar.extractfile(member)
    assert content is not None
    (into / path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (into / path).open("wb") as file:
        shutil.copyfileobj(content, file, COPY_BYTES)
    (into / path).chmod(0o600)


class _Parts:
    """The parts of a backup as one stream; each is compared with what it must hash to."""

    def __init__(self, archive: Archive, record: BackupRecord, progress: Progress) -> None:
        self._archive = archive
        self._record = record
        self._progress = progress
        self._left = iter(record.parts)
        self._held = memoryview(b"")
        self._done = 0

    def read(self, size: int) -> bytes:
        """The next bytes; empty at the end. Raises Damaged."""
        if not self._held:
            part = next(self._left, None)
            if part is None:
                return b""
            content = self._archive.part(self._record.name, part.name)
            if hashlib.sha256(content).hexdigest() != part.sha256:
                raise Damaged(
                    f"{part.name} of the backup {self._record.name} at "
                    f"{self._archive.store.target} is damaged: its SHA-256 differs"
                )
            self._held = memoryview(content)
        block, self._held = bytes(self._held[:size]), self._held[size:]
        self._done += len(block)
        self._progress(self._done, self._record.stored_bytes)
        return block


def _fetch(archive: Archive, name: str, into: Path) -> None:
    content = archive.wal(name)
    if content is None:
        raise Damaged(f"{name} of the log went away from {archive.store.target} meanwhile")
    (into / name).write_bytes(content)


def _give(folder: Path, uid: int, gid: int) -> None:
    os.chown(folder, uid, gid)
    for path in folder.rglob("*"):
        os.chown(path, uid, gid, follow_symlinks=False)


def check_unpacked(into: DataDir, record: BackupRecord, say: Say) -> PostgresCluster:
    """The cluster, each of whose files is what PostgreSQL's own list of them says.

    Raises WrongVersion, Damaged.
    """
    try:
        cluster = find_cluster(into, service_user())
    except NoServerProgram as error:
        raise WrongVersion(
            f"the backup {record.name} is of PostgreSQL {record.postgres_version}: {error}"
        ) from error
    say("comparing every file with the list that PostgreSQL made of them")
    done = subprocess.run(
        [cluster.programs.bin_dir / "pg_verifybackup", "--exit-on-error", into.postgres],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        **process_identity(cluster.user),
    )
    if done.returncode != 0:
        raise Damaged(f"the backup {record.name} is damaged: {done.stderr.strip()}")
    return cluster


def _check_free_to_use(into: DataDir, *, force: bool) -> None:
    """Raises Refused for a directory that is in use, or has something and no force is used."""
    root = into.root
    if root.exists() and not root.is_dir():
        raise Refused(f"{root} is no directory")
    if processes_in(into.postgres):
        raise Refused(f"a database runs in {root}; stop it first (Ctrl-C of its sluice run)")
    found = {path.name for path in root.iterdir()} if root.is_dir() else set()
    if found - MAY_BE_THERE and not force:
        raise Refused(
            f"{root} is not empty; choose a new directory, or move its database aside with --force"
        )


def _check_room(root: Path, chosen: Chosen) -> None:
    needed = chosen.record.raw_bytes + len(chosen.segments) * SEGMENT_BYTES
    free = shutil.disk_usage(root).free
    if free < needed:
        raise NoSpace(
            f"{root} has {free / 1e9:.2f} GB free, and the restored database with its log takes "
            f"{needed / 1e9:.2f} GB"
        )


def _remove_new(root: Path, before: set[Path]) -> None:
    for path in set(root.iterdir()) - before:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _move_aside(into: DataDir) -> Path | None:
    if not into.postgres.exists():
        return None
    stamp = re.sub(r"[^0-9T]", "", datetime.now(UTC).isoformat(timespec="seconds")[:19])
    aside = into.postgres.with_name(f"postgres-before-{stamp}")
    into.postgres.rename(aside)
    return aside
