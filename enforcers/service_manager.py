"""Tells systemd how the process is, if systemd started it and listens (sd_notify(3))."""

import logging
import os
import socket
import time
from collections.abc import Mapping

from enforcers.signals import Call, Calls

log = logging.getLogger(__name__)

# Often enough for every watchdog that leaves time for one round.
SIGN_OF_LIFE_S = 10.0


class ServiceManager:
    """A socket that takes one message per datagram; without one nothing is said."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")

    def tell(self, *lines: str) -> None:
        """Send assignments such as READY=1. A failure is logged: it must not end enforcement."""
        if not self._address:
            return
        # An abstract socket's name begins with a zero byte, which @ stands for.
        address = "\0" + self._address[1:] if self._address[0] == "@" else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
                sending.connect(address)
                sending.send("\n".join(lines).encode())
        except OSError as error:
            log.debug("service manager not told", extra={"error": str(error)})

    def wait(self, calls: Calls, seconds: float) -> Call | None:
        """Wait for a call, with signs of life for the watchdog."""
        ends_s = time.monotonic() + seconds
        while True:
            self.tell("WATCHDOG=1")
            left_s = max(0.0, ends_s - time.monotonic())
            call = calls.wait(min(left_s, SIGN_OF_LIFE_S))
            if call is not None or left_s <= SIGN_OF_LIFE_S:
                return call
