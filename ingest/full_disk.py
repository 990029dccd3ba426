"""An ASGI layer that takes no samples while the disk of the database is nearly full.

PostgreSQL ends in the middle of its work when a disk is full, and comes back only with room.
Before that collectors are told to keep what they have: they send it later, and pages and decisions
still find the room that they need.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from accounts.json_answers import error_answer
from ingest.admission import SAMPLE_PATHS
from ingest.asgi import Application, Receive, Send, ServerScope
from ingest.write_app import send_answer

RETRY_AFTER_S = 30
LOOKED_EACH_S = 1.0
ROOM_AGAIN = 1.25
"""Samples are taken again with so many times the least room, so that it does not flutter."""


class FullDisk:
    """Wraps an application: samples are answered 503 while there is too little room."""

    def __init__(self, application: Application, folder: Path, *, least_free_bytes: int) -> None:
        self._application = application
        self._folder = folder
        self._least_free_bytes = least_free_bytes
        self._is_full = False
        self._look_at_s = 0.0

    async def __call__(self, scope: ServerScope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI 3)."""
        if scope["type"] != "http" or scope["path"] not in SAMPLE_PATHS or not self.is_full():
            return await self._application(scope, receive, send)
        answer = error_answer(503, "unavailable", self.words)
        answer["Retry-After"] = str(RETRY_AFTER_S)
        return await send_answer(answer, send)

    @property
    def words(self) -> str:
        """What collectors are told."""
        mebibytes = self._least_free_bytes // 2**20
        return (
            f"the disk of {self._folder} has less than {mebibytes} MiB left; nothing of this body "
            "is stored; send it again later"
        )

    def is_full(self) -> bool:
        """Whether too little room is left, as of the last second."""
        now_s = time.monotonic()
        if now_s >= self._look_at_s:
            self._look_at_s = now_s + LOOKED_EACH_S
            least = self._least_free_bytes * (ROOM_AGAIN if self._is_full else 1.0)
            self._is_full = _free_bytes(self._folder) < least
        return self._is_full


def _free_bytes(folder: Path) -> float:
    """What everybody may still use there; a folder that is not there is no reason to refuse."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return float("inf")
    return float(found.f_bavail * found.f_frsize)
