"""The audit log: one JSON line per write to the kernel."""

import json
import logging
from collections.abc import Callable, Sequence
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

    def record(self, changes: Sequence[Change], *, error: str | None) -> None:
        """Note writes that went the same way, a line each.

        Lines that cannot be written go to the log instead: with a full disk, too, it must be
        possible to put the kernel back.
        """
        at = self._clock().isoformat()
        try:
            self._rotate()
            with self._path.open("a", encoding="utf-8") as file:
                # Line by line: a first policy has hundreds.
                file.writelines(json.dumps(_line(change, at, error)) + "\n" for change in changes)
        except OSError:
            for change in changes:
                log.exception("audit line not written", extra=_line(change, at, error))

    def _rotate(self) -> None:
        if self._path.exists() and self._path.stat().st_size > LARGEST_FILE_BYTES:
            self._path.replace(self._path.with_suffix(".1.jsonl"))


def _line(change: Change, at: str, error: str | None) -> dict[str, str | None]:
    return {
        "at": at,
        "target": change.target,
        "before": change.before,
        "after": change.after,
        "write": str(change.write),
        "allocation": change.allocation,
        "error": error,
    }
