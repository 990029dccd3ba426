"""The audit log: one JSON line per write to the kernel."""

import json
import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from enforcers.change import Change

log = logging.getLogger(__name__)

LARGEST_FILE_BYTES = 8 * 1024 * 1024


class AuditLog:
    """Appends to a file and keeps one older file when it has grown too large."""

    def __init__(self, path: Path, clock: Callable[[], datetime]) -> None:
        self._path = path
        self._clock = clock

    def record(self, change: Change, *, error: str | None) -> None:
        """Note a write and how it went.

        A line that cannot be written goes to the log instead: with a full disk, too, it must be
        possible to put the kernel back.
        """
        line = {
            "at": self._clock().isoformat(),
            "target": change.target,
            "before": change.before,
            "after": change.after,
            "write": str(change.write),
            "allocation": change.allocation,
            "error": error,
        }
        try:
            self._rotate()
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError:
            log.exception("audit line not written", extra=line)

    def _rotate(self) -> None:
        if self._path.exists() and self._path.stat().st_size > LARGEST_FILE_BYTES:
            self._path.replace(self._path.with_suffix(".1.jsonl"))
