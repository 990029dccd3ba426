"""Line protocol over UDP, as Proxmox sends it by default.

Nothing is acknowledged: what the network, a full buffer, a quota or a database that is away loses
is lost, and whoever sent it does not know. Each datagram has whole lines, so they are stored
together, once a second. A datagram bears no token, so one token stands for all that is received.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections
from django.utils import timezone

from accounts.authentication import AuthenticationError, ForbiddenError, authenticate
from accounts.models import Scope, Token
from ingest.body import line_count
from ingest.core.line_protocol import Precision
from ingest.core.quota.limits import QuotaExceededError
from ingest.quotas.entry import counted
from ingest.quotas.new_series import OverQuota
from ingest.series_rows import SeriesDeletedError
from ingest.write import store

log = logging.getLogger(__name__)

PORT = 8089
FLUSH_EVERY_S = 1.0
MOST_BYTES = 8 * 1024 * 1024
"""So much waits while the database is away; more is dropped, the newest first."""
_LARGEST_DATAGRAM = 65_535
_RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024
_TOLD_EVERY_S = 60.0


class Receiver:
    """Takes datagrams from a socket and stores their lines with a token."""

    def __init__(self, listening: socket.socket, *, secret: str, retention: timedelta) -> None:
        self._socket = listening
        self._secret = secret
        self._retention = retention
        self._lines: list[bytes] = []
        self._bytes = 0
        self._dropped = 0
        self._told_s = -_TOLD_EVERY_S

    def run(self, stops: Callable[[], bool]) -> None:
        """Receive until `stops` says so; what was received by then is stored."""
        flush_s = time.monotonic() + FLUSH_EVERY_S
        while not stops():
            self._receive(max(0.0, flush_s - time.monotonic()))
            if time.monotonic() >= flush_s:
                self._flush(timezone.now())
                flush_s = time.monotonic() + FLUSH_EVERY_S
        self._flush(timezone.now())

    def _receive(self, timeout_s: float) -> None:
        self._socket.settimeout(max(timeout_s, 0.01))
        try:
            datagram = self._socket.recv(_LARGEST_DATAGRAM)
        except TimeoutError:
            return
        if self._bytes + len(datagram) > MOST_BYTES:
            self._dropped += 1
            self._tell("%d datagrams were dropped: the database does not keep up", self._dropped)
            return
        self._lines.append(datagram)
        self._bytes += len(datagram) + 1

    def _flush(self, now: datetime) -> None:
        if not self._lines:
            return
        close_old_connections()
        try:
            authorization = f"Token {self._secret}"
            token = authenticate(authorization, scope=Scope.INGEST, now=now)
            self._store(token, now)
        except (OperationalError, InterfaceError, SeriesDeletedError) as error:
            # They wait for the next second.
            self._tell("%d datagrams wait: %s", len(self._lines), error)
            return
        except (
            AuthenticationError,
            ForbiddenError,
            QuotaExceededError,
            # What the database refuses once, it refuses always.
            DatabaseError,
        ) as error:
            self._tell("%d datagrams were dropped: %s", len(self._lines), error)
        self._lines.clear()
        self._bytes = 0

    def _store(self, token: Token, now: datetime) -> None:
        lines = sum(map(line_count, self._lines))
        with counted(token.organisation, lost_points=lines) as use:
            use.add(points=lines, size_bytes=self._bytes)
            store(
                b"\n".join(self._lines),
                token=token,
                precision=Precision.NS,
                now=now,
                retention=self._retention,
                # Nobody keeps what has to wait.
                over_quota=OverQuota.REFUSE,
            )

    def _tell(self, message: str, *arguments: object) -> None:
        """Once a minute, because datagrams come by the thousand."""
        if time.monotonic() - self._told_s >= _TOLD_EVERY_S:
            self._told_s = time.monotonic()
            log.warning(message, *arguments)


def listen(address: str, port: int) -> socket.socket:
    """A socket that receives datagrams for this address, by IPv4 or IPv6."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = socket.socket(family, socket.SOCK_DGRAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
    try:
        found.bind((address, port))
    except OSError:
        found.close()
        raise
    return found
