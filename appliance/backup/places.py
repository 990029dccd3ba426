"""Files of backups in the data directory, and what no backup holds."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from appliance.backup.errors import Refused
from appliance.embedded.service_user import ServiceUser, make_directory
from config.paths import DataDir

NO_SECRET = {"lock", "running"}
"""Files of the data directory that a new run makes anew."""
OURS = ("SLUICE_", "DATABASE_URL", "REDIS_URL", "AWS_")
SCRIPT = """#!/bin/sh
# PostgreSQL calls this with the path and the name of each finished piece of its log.
# It is copied to a spool, from where Sluice brings it to the target of backups.
set -eu
spool={spool}
if [ -e "$spool/$2" ]; then exec cmp -s "$1" "$spool/$2"; fi
cp "$1" "$spool/.$2.part"
sync "$spool/.$2.part"
mv "$spool/.$2.part" "$spool/$2"
sync "$spool"
"""


@dataclass(frozen=True, slots=True)
class BackupPlaces:
    """The folder `backup` of a data directory."""

    data: DataDir

    @property
    def folder(self) -> Path:
        """What backups need and leave here."""
        return self.data.backup

    @property
    def spool(self) -> Path:
        """Finished pieces of the log that are not at the target yet."""
        return self.folder / "spool"

    @property
    def script(self) -> Path:
        """What PostgreSQL runs for each finished piece."""
        return self.folder / "archive.sh"

    def make(self, user: ServiceUser | None) -> None:
        """Make the folder; as root the database's user owns its spool."""
        self.folder.mkdir(mode=0o700 if user is None else 0o711, parents=True, exist_ok=True)
        make_directory(self.spool, user)
        self.script.write_text(SCRIPT.format(spool=_quoted(self.spool)))
        self.script.chmod(0o644 if user else 0o600)

    @contextmanager
    def held(self) -> Iterator[None]:
        """One backup of a data directory at a time; raises Refused while another runs."""
        self.folder.mkdir(mode=0o711, exist_ok=True)
        with (self.folder / "lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Refused(
                    "another backup of this data directory runs; wait until it ends"
                ) from None
            yield


def archive_command(places: BackupPlaces) -> str:
    """The setting of PostgreSQL that hands finished pieces of the log to the script."""
    # A percent sign begins a placeholder there.
    return f"/bin/sh {_quoted(places.script)}".replace("%", "%%") + ' "%p" "%f"'


def kept_apart(data: DataDir, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """What a full return needs beside the database: key files, and the settings in force.

    They are named and never read: whoever has them and a backup can read all of it.
    """
    files = [
        str(path)
        for path in sorted(data.root.iterdir())
        if path.is_file() and path.name not in NO_SECRET
    ]
    names = sorted(name for name in environ if name.startswith(OURS))
    return (*files, *(f"the setting {name}" for name in names))


def _quoted(path: Path) -> str:
    """The path for a shell."""
    return "'" + str(path).replace("'", "'\\''") + "'"
