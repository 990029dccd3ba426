"""Answers requests for /metrics in a thread of its own.

A reader that hangs or asks too much costs nobody else anything: the number of readers, their
time, their rate, the length of a request and the number of texts in memory are bounded.
"""

import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from enforcers.metrics.address import Address
from enforcers.metrics.exposition import CONTENT_TYPE
from enforcers.metrics.listening import listening_at

log = logging.getLogger(__name__)

MOST_READERS = 4
READER_S = 5.0
"""A reader that is not done after so long is cut off."""
LONGEST_REQUEST_BYTES = 8192
# At most 20 readers a second, and one text a second.
BETWEEN_READERS_S = 0.05
TEXT_LASTS_S = 1.0
PIECE_BYTES = 65536
ENDING_S = 2.0


@dataclass(slots=True, kw_only=True)
class _Reader:
    """One connection: first its request, then head and text of the answer."""

    connection: socket.socket
    ends_s: float
    request: bytes = b""
    head: bytes = b""
    text: bytes = b""
    sent: int = 0
    is_answered: bool = False


@contextmanager
def serving(address: Address, text: Callable[[], bytes]) -> Iterator[None]:
    """Serve what `text` gives within the block.

    An address that cannot be had is logged, and the block runs without.
    """
    with ExitStack() as ends:
        try:
            listener = ends.enter_context(listening_at(address))
        except OSError as error:
            log.error(  # noqa: TRY400  (the address is wrong, not the program)
                "metrics not served",
                extra={"at": str(address), "error": error.strerror or str(error)},
            )
        else:
            ends.enter_context(_thread(listener, text))
            log.info("metrics served", extra={"at": str(address)})
        yield


@contextmanager
def _thread(listener: socket.socket, text: Callable[[], bytes]) -> Iterator[None]:
    woken, waker = socket.socketpair()
    thread = threading.Thread(
        target=_Endpoint(listener, woken, text).run, name="metrics", daemon=True
    )
    with woken:
        thread.start()
        try:
            yield
        finally:
            waker.close()
            thread.join(ENDING_S)


class _Endpoint:
    """The readers of one listener, until `woken` ends."""

    def __init__(
        self, listener: socket.socket, woken: socket.socket, text: Callable[[], bytes]
    ) -> None:
        self._listener = listener
        self._woken = woken
        self._make_text = text
        self._text = b""
        self._text_ends_s = 0.0
        self._next_reader_s = 0.0
        self._readers: dict[socket.socket, _Reader] = {}

    def run(self) -> None:
        """Answer until the end."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._woken, selectors.EVENT_READ)
            try:
                while self._serve(waiting):
                    pass
            finally:
                for reader in self._readers.values():
                    reader.connection.close()

    def _serve(self, waiting: selectors.BaseSelector) -> bool:
        """Wait for something and do it; False at the end."""
        now_s = time.monotonic()
        for reader in [one for one in self._readers.values() if one.ends_s <= now_s]:
            self._end(reader, waiting)
        self._open_or_shut(waiting, now_s)
        for key, _ in waiting.select(self._patience_s(now_s)):
            if key.fileobj is self._woken:
                return False
            if key.fileobj is self._listener:
                self._accept(waiting)
            else:
                self._go_on(key.data, waiting)
        return True

    def _open_or_shut(self, waiting: selectors.BaseSelector, now_s: float) -> None:
        """Whoever comes while there are enough readers waits in the kernel."""
        is_open = self._listener in waiting.get_map()
        shall_be = len(self._readers) < MOST_READERS and now_s >= self._next_reader_s
        if shall_be and not is_open:
            waiting.register(self._listener, selectors.EVENT_READ)
        elif is_open and not shall_be:
            waiting.unregister(self._listener)

    def _patience_s(self, now_s: float) -> float | None:
        """Until the next thing that comes by itself; None if only others can bring one."""
        times_s = [reader.ends_s for reader in self._readers.values()]
        if self._next_reader_s > now_s:
            times_s.append(self._next_reader_s)
        return max(0.0, min(times_s) - now_s) if times_s else None

    def _accept(self, waiting: selectors.BaseSelector) -> None:
        now_s = time.monotonic()
        self._next_reader_s = now_s + BETWEEN_READERS_S
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            log.debug("reader of metrics not taken", extra={"error": str(error)})
            return
        connection.setblocking(False)
        reader = _Reader(connection=connection, ends_s=now_s + READER_S)
        self._readers[connection] = reader
        waiting.register(connection, selectors.EVENT_READ, reader)

    def _go_on(self, reader: _Reader, waiting: selectors.BaseSelector) -> None:
        try:
            is_done = self._send(reader) if reader.is_answered else self._read(reader, waiting)
        except OSError:
            is_done = True
        if is_done:
            self._end(reader, waiting)

    def _read(self, reader: _Reader, waiting: selectors.BaseSelector) -> bool:
        """Take what came of the request; True if nothing more can come of it."""
        data = reader.connection.recv(LONGEST_REQUEST_BYTES)
        reader.request += data
        is_whole = b"\r\n\r\n" in reader.request or b"\n\n" in reader.request
        if is_whole or len(reader.request) > LONGEST_REQUEST_BYTES:
            reader.head, reader.text = self._answer(reader.request, is_whole=is_whole)
            reader.request = b""
            reader.is_answered = True
            waiting.modify(reader.connection, selectors.EVENT_WRITE, reader)
            return False
        return not data

    def _answer(self, request: bytes, *, is_whole: bool) -> tuple[bytes, bytes]:
        """Head and body of the answer."""
        if not is_whole:
            return _head("431 Request Header Fields Too Large", 0), b""
        words = request.split(b"\r\n", 1)[0].split()
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return _head("400 Bad Request", 0), b""
        method, path = words[0], words[1].partition(b"?")[0]
        if method not in {b"GET", b"HEAD"}:
            return _head("405 Method Not Allowed", 0, "Allow: GET, HEAD\r\n"), b""
        if path != b"/metrics":
            return _head("404 Not Found", 0), b""
        try:
            text = self._present_text()
        except Exception:
            # What is shown must never end what is done.
            log.exception("metrics not made")
            return _head("500 Internal Server Error", 0), b""
        return _head("200 OK", len(text)), text if method == b"GET" else b""

    def _present_text(self) -> bytes:
        """The text of the last second; while an older one is being sent there is no third one."""
        now_s = time.monotonic()
        is_older_in_use = any(
            reader.text and reader.text is not self._text for reader in self._readers.values()
        )
        if now_s >= self._text_ends_s and not is_older_in_use:
            self._text = self._make_text()
            self._text_ends_s = now_s + TEXT_LASTS_S
        return self._text

    def _send(self, reader: _Reader) -> bool:
        """Send what goes without waiting; True when all is sent."""
        if reader.head:
            reader.head = reader.head[reader.connection.send(reader.head) :]
            return not reader.head and not reader.text
        piece = memoryview(reader.text)[reader.sent : reader.sent + PIECE_BYTES]
        reader.sent += reader.connection.send(piece)
        return reader.sent >= len(reader.text)

    def _end(self, reader: _Reader, waiting: selectors.BaseSelector) -> None:
        waiting.unregister(reader.connection)
        del self._readers[reader.connection]
        reader.connection.close()


def _head(status: str, length: int, more: str = "") -> bytes:
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {length}\r\n"
        f"{more}Connection: close\r\n\r\n"
    ).encode()
