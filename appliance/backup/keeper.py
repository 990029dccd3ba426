"""`python -m appliance.backup.keeper`: ships the database's log, and makes backups in time.

A target that is away, or a full disk, passes: it tries again for ever, and what waits stays in
the spool. Backups run in a process of their own, so that the log goes on meanwhile.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from advisor.pipeline.backup_state import LogState, read_last, write_log
from appliance.backup.archive import Archive, logs_in
from appliance.backup.errors import BackupError
from appliance.backup.places import BackupPlaces
from appliance.backup.store import open_store
from config.env import SettingError
from config.paths import DataDir

LOOK_EACH_S = 1.0
AFTER_A_FAILURE_S = 10.0
TRY_AGAIN = timedelta(minutes=15)
OWNER_EACH_S = 60.0


def main() -> None:
    """Work until the process is ended."""
    import django

    django.setup()
    from django.conf import settings

    keeper = Keeper(
        data=settings.DATA_DIR,
        target=settings.BACKUP_TARGET,
        period=timedelta(hours=settings.BACKUP_EVERY_HOURS),
        start=_start_backup,
    )
    while True:
        time.sleep(keeper.look(now=datetime.now(UTC)))


@dataclass(slots=True, kw_only=True)
class Keeper:
    """The log and the backups of one data directory; a period of nothing makes no backups."""

    data: DataDir
    target: str
    period: timedelta
    start: Callable[[], subprocess.Popen[bytes]]
    _since: datetime | None = None
    _said: str = ""
    _owner_at: float | None = None
    _running: subprocess.Popen[bytes] | None = None
    _not_before: datetime | None = None

    def look(self, *, now: datetime) -> float:
        """Ship what is there and begin a backup that is due; gives seconds until the next look."""
        places = BackupPlaces(self.data)
        self._since = self._since or now
        pause_s = LOOK_EACH_S
        try:
            archive = Archive(open_store(self.target))
            self._check_owner(archive, places)
            ship(archive, places.spool)
            self._say("")
            self._make_backups(now)
        except (BackupError, SettingError) as error:
            self._say(str(error))
            pause_s = AFTER_A_FAILURE_S
        except OSError as error:
            self._say(f"the spool cannot be used: {error}")
            pause_s = AFTER_A_FAILURE_S
        self._note(places, now)
        return pause_s

    def _check_owner(self, archive: Archive, places: BackupPlaces) -> None:
        """Now and then: another data directory may have taken the target over."""
        if self._owner_at is None or time.monotonic() - self._owner_at > OWNER_EACH_S:
            self._owner_at = None
            archive.own(places.folder)
            self._owner_at = time.monotonic()

    def _make_backups(self, now: datetime) -> None:
        if self._running is not None:
            if self._running.poll() is None:
                return
            self._not_before = now + TRY_AGAIN
            self._running = None
        last = read_last(self.data.backup).made_at
        is_due = bool(self.period) and (last is None or now - last >= self.period)
        if is_due and (self._not_before is None or now >= self._not_before):
            self._running = self.start()

    def _say(self, text: str) -> None:
        """Tell a failure once, and that it is over."""
        if text != self._said:
            print(text or "the log goes to the target again", flush=True)
        self._said = text

    def _note(self, places: BackupPlaces, now: datetime) -> None:
        assert self._since is not None
        try:
            waiting = [path.stat().st_mtime for path in logs_in(places.spool)]
            state = LogState(
                since=self._since,
                looked_at=now,
                waiting_since=datetime.fromtimestamp(min(waiting), UTC) if waiting else None,
            )
            write_log(places.folder, state)
        except OSError as error:
            print(f"the state of backups cannot be kept: {error}", flush=True)


def ship(archive: Archive, spool: Path) -> int:
    """Bring every finished piece to the target, then take it from the spool; how many were there.

    Raises BackupError, and what is left stays.
    """
    shipped = 0
    for file in logs_in(spool):
        archive.put_wal(file)
        file.unlink()
        shipped += 1
    for file in spool.glob("*.backup"):
        # Notes of where a backup began; nothing reads them at the target.
        file.unlink()
    return shipped


def _start_backup() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "django", "backup"])


if __name__ == "__main__":
    main()
