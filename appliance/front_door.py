"""How the web server keeps connections: who is slow or silent costs a socket, for a while.

Deadlines and limits that uvicorn has not; the body of a request is `ingest.whole_requests`'.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import socket
import ssl
import sys
import termios
import time
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_remote_addr

from config import env

log = logging.getLogger(__name__)

CONNECTIONS_PER_ADDRESS = 1000
_TLS_SETTINGS = "SLUICE_TLS_CERTIFICATE and SLUICE_TLS_KEY"
HEAD_S = 20.0
"""From the connection, or from the first byte of a later request, to the end of its head."""
LONGEST_HEAD_BYTES = 64 * 1024
"""Beyond what came in one piece with its begin, which the event loop bounds."""
ANSWER_STANDS_S, LEAST_TAKEN_BYTES = 60.0, 64 * 1024
"""In each such time a client takes so much at least of an answer that waits for it."""
MOST_WAITING_BYTES = 1024 * 1024
"""Of an answer that nobody takes yet: a whole page, so that no thread waits for its reader."""
_TOLD_EACH_S = 60.0


class Callers:
    """How many connections each address has, and how many may be. Of one event loop."""

    def __init__(self, most_of_an_address: int) -> None:
        """No limit with 0, as where all come through one proxy."""
        self._most = most_of_an_address
        self.addresses: Counter[str] = Counter()
        self._refused = 0
        self._told_at = float("-inf")

    def come(self, address: str) -> bool:
        """Whether one more is let in; who is leaves again."""
        if self._most and self.addresses[address] >= self._most:
            self._tell(address)
            return False
        self.addresses[address] += 1
        return True

    def leave(self, address: str) -> None:
        """One that was let in is gone."""
        self.addresses[address] -= 1
        if not self.addresses[address]:
            del self.addresses[address]

    def _tell(self, address: str) -> None:
        self._refused += 1
        now = time.monotonic()
        if now - self._told_at >= _TOLD_EACH_S:
            log.warning(
                "%s has %d connections; %d more were closed at once "
                "(SLUICE_CONNECTIONS_PER_ADDRESS)",
                address, self._most, self._refused,
            )  # fmt: skip
            self._told_at, self._refused = now, 0


class Certificate:
    """A certificate with its key, in files that may be renewed at any time."""

    def __init__(self, certificate: str, key: str) -> None:
        """Raises SettingError where they cannot be used."""
        self._files = (certificate, key)
        self._loaded = self._load(self._changed())
        self.listening = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.listening.load_cert_chain(*self._files)
        # Called for each handshake, also where the client names no server.
        self.listening.sni_callback = self._use_newest

    @classmethod
    def of_environment(cls) -> Certificate | None:
        """The one that settings name, if any."""
        files = [env.text("SLUICE_TLS_CERTIFICATE", ""), env.text("SLUICE_TLS_KEY", "")]
        if not any(files):
            return None
        if not all(files):
            raise env.SettingError(f"{_TLS_SETTINGS} are set together, or neither")
        return cls(*files)

    def _use_newest(self, agreeing: ssl.SSLObject, *_: object) -> None:
        """Anew where the files changed, as before where those cannot be used."""
        try:
            if (changed := self._changed()) != self._loaded[0]:
                self._loaded = self._load(changed)
        except env.SettingError as error:
            log.warning("the certificate is the former one: %s", error)
        agreeing.context = self._loaded[1]

    def _changed(self) -> tuple[int, ...]:
        try:
            return tuple(Path(file).stat().st_mtime_ns for file in self._files)
        except OSError as error:
            raise self._wrong(error) from error

    def _load(self, changed: tuple[int, ...]) -> tuple[tuple[int, ...], ssl.SSLContext]:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(*self._files)
        except OSError as error:
            raise self._wrong(error) from error
        return changed, context

    def _wrong(self, error: OSError) -> env.SettingError:
        return env.SettingError(
            f"{_TLS_SETTINGS}: {' and '.join(self._files)} cannot be used: {error}"
        )


class GuardedProtocol(HttpToolsProtocol):
    """HTTP on one connection, which waits for its client for a limited time in each state."""

    head_s = HEAD_S
    longest_head_bytes = LONGEST_HEAD_BYTES
    answer_stands_s = ANSWER_STANDS_S
    least_taken_bytes = LEAST_TAKEN_BYTES
    callers = Callers(env.integer("SLUICE_CONNECTIONS_PER_ADDRESS", CONNECTIONS_PER_ADDRESS))

    _address: str | None = None
    _deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection and give it time for its first head."""
        carrier = cast("asyncio.Transport", transport)
        # Who comes by the machine's own socket has no address.
        if (address := get_remote_addr(carrier)) is not None:
            if not self.callers.come(address[0]):
                return carrier.abort()
            self._address = address[0]
        super().connection_made(carrier)
        carrier.set_write_buffer_limits(high=MOST_WAITING_BYTES)
        return self._end_in(self.head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        self._end_in(None)
        if self._address is not None:
            self.callers.leave(self._address)
            self._address = None
        if self.transport is not None:
            super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A head begins with this byte."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self._end_in(self.head_s)

    def on_headers_complete(self) -> None:
        """The head is whole; its body has time of its own."""
        self._in_head = False
        self._end_in(None)
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Take what came, unless the head has no end."""
        # A value that goes on and on stays in the parser, and comes to no `on_header`.
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > self.longest_head_bytes:
            self._refuse_head()

    def pause_writing(self) -> None:
        """The client takes less than it asked for; it has a while to take some."""
        super().pause_writing()
        self._see_some_taken_in_time()

    def resume_writing(self) -> None:
        """It took some."""
        self._end_in(None)
        super().resume_writing()

    def _see_some_taken_in_time(self) -> None:
        waits = self._waiting_bytes()

        def look() -> None:
            if self._waiting_bytes() > waits - self.least_taken_bytes:
                self.transport.abort()
            else:
                self._see_some_taken_in_time()

        self._end_in(self.answer_stands_s, look)

    def _waiting_bytes(self) -> int:
        """What the client has not taken, here and in the kernel (SIOCOUTQ of tcp(7), unix(7))."""
        sent = fcntl.ioctl(self.transport.get_extra_info("socket"), termios.TIOCOUTQ, bytes(4))
        return self.transport.get_write_buffer_size() + int.from_bytes(sent, sys.byteorder)

    def _refuse_head(self) -> None:
        if self.transport.is_closing():
            return
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        self.transport.write(
            f"HTTP/1.1 {status.value} {status.phrase}\r\n"
            "content-length: 0\r\nconnection: close\r\n\r\n".encode()
        )
        self.transport.close()

    def _end_in(self, seconds: float | None, end: Callable[[], None] | None = None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if seconds is not None and self.transport is not None:
            self._deadline = self.loop.call_later(seconds, end or self.transport.abort)


class Loop(uvloop.Loop):
    """An event loop whose servers speak TLS on addresses, and not on the machine's own socket."""

    certificate = Certificate.of_environment()
    handshake_s = HEAD_S

    async def create_server(  # type: ignore[override]  # four signatures
        self, *arguments: Any, **options: Any
    ) -> asyncio.AbstractServer:
        """Begin to serve; see the standard library."""
        listening: socket.socket | None = options.get("sock")
        is_local = listening is not None and listening.family == socket.AF_UNIX
        if self.certificate is not None and not is_local:
            options |= {
                "ssl": self.certificate.listening, "ssl_handshake_timeout": self.handshake_s
            }  # fmt: skip
        return await super().create_server(*arguments, **options)
