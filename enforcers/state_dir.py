"""The agent's directory on disk: what lies where, and who may use it."""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from enforcers.atomic_file import remove_unfinished
from enforcers.errors import StateError
from enforcers.file_lock import try_lock

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDir:
    """Names of the files below the state directory."""

    root: Path

    @property
    def ledger(self) -> Path:
        """What was found before the first write."""
        return self.root / "ledger.json"

    @property
    def policy(self) -> Path:
        """The policies held."""
        return self.root / "policy.json"

    @property
    def audit(self) -> Path:
        """One line per write to the kernel."""
        return self.root / "audit.jsonl"

    @property
    def status(self) -> Path:
        """The last report."""
        return self.root / "status.json"

    @property
    def left(self) -> Path:
        """What the last agent left in force at its end."""
        return self.root / "left.json"

    @property
    def in_force(self) -> Path:
        """Since when allocations have been in force."""
        return self.root / "in_force.json"

    @property
    def lock(self) -> Path:
        """Held while an agent runs; contains its process id."""
        return self.root / "lock"

    @property
    def locks(self) -> Path:
        """Locks of devices, where the agent may not use the folder of all agents."""
        return self.root / "locks"

    def create(self) -> None:
        """Make the directory, open to its owner only. Raises StateError."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StateError(f"{self.root} cannot be made: {error.strerror}") from error

    def running_pid(self) -> int | None:
        """The process id of the agent that runs, None if none does."""
        try:
            with self.lock.open("r", encoding="ascii") as file:
                if try_lock(file.fileno(), fcntl.LOCK_SH):
                    return None
                return int(file.read().strip() or 0)
        except (OSError, ValueError):
            return None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Be the only agent on this directory. Raises StateError if another one is."""
        self.create()
        try:
            file = self.lock.open("a+", encoding="ascii")
        except OSError as error:
            raise StateError(f"{self.lock} cannot be opened: {error.strerror}") from error
        with file:
            if not try_lock(file.fileno()):
                file.seek(0)
                raise StateError(
                    f"an agent runs already on {self.root} (process {file.read().strip()}); "
                    "end it first: SIGTERM restores the kernel unless on_exit is keep"
                )
            _write_pid(file)
            remove_unfinished(self.root)
            yield


def _write_pid(file: TextIO) -> None:
    """For `status`; the lock counts without it, so a full disk keeps no agent from restoring."""
    try:
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
    except OSError as error:
        log.warning("process id not kept", extra={"error": str(error)})
