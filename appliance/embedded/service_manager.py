"""Tells systemd how the whole is, if systemd started it and listens (sd_notify(3))."""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress


class ServiceManager:
    """Without systemd nothing is told."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        # A name that begins so is abstract, and belongs to no file.
        if self._address.startswith("@"):
            self._address = "\0" + self._address[1:]
        self._each_s = int(environment.get("WATCHDOG_USEC") or 0) / 1e6 / 3
        self._told_s = float("-inf")

    def ready(self, status: str) -> None:
        """Everything works."""
        self._tell(f"READY=1\nSTATUS={status}")

    def stopping(self) -> None:
        """Everything is being ended, which may take a while."""
        self._tell("STOPPING=1")

    def alive(self) -> None:
        """The supervisor looks after its children; told three times in the watchdog's time."""
        now_s = time.monotonic()
        if self._each_s and now_s - self._told_s >= self._each_s:
            self._told_s = now_s
            self._tell("WATCHDOG=1")

    def _tell(self, words: str) -> None:
        if not self._address:
            return
        # systemd starts anew what it does not hear of, which is all that can be done here.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.sendto(words.encode(), self._address)
