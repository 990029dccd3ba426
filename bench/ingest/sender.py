"""The client: whole requests over connections that it keeps, from one process of its own.

`python -m bench.ingest.sender FILE` reads what to send and prints how long it took, as JSON. It
does little for each request, because it shares the machine with what it measures.
"""

from __future__ import annotations

import json
import pickle
import selectors
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

END = b"\r\n\r\n"
DONE = b"HTTP/1.1 204"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Requests for each connection; with a rate (requests/s over all) each has its moment.

    `reconnects` says that each request has a connection of its own.
    """

    port: int
    requests: Sequence[Sequence[bytes]]
    rate: float | None = None
    reconnects: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """How long all took, and each request from the moment when it was due; seconds."""

    elapsed_s: float
    latencies_s: Sequence[float]

    def quantile_s(self, share: float) -> float:
        ordered = sorted(self.latencies_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def send(load: Load, folder: Path) -> Sent:
    """Send it from another process."""
    path = folder / "load.pickle"
    path.write_bytes(pickle.dumps(load))
    output = subprocess.run(
        [sys.executable, "-m", "bench.ingest.sender", str(path)],
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    return Sent(**json.loads(output))


class _Connection:
    """One connection, which has at most one request on its way."""

    def __init__(self, load: Load, selector: selectors.BaseSelector) -> None:
        self._load, self._selector = load, selector
        self._socket: socket.socket | None = None
        self._left = memoryview(b"")
        self._request = self._answer = b""
        self.due_s = 0.0

    def start(self, request: bytes, due_s: float) -> None:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._load.port))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setblocking(False)
            self._selector.register(self._socket, selectors.EVENT_READ, self)
        self.due_s, self._request = due_s, request
        self._answer = b""
        self._left = memoryview(request)
        self._send_some()

    def _send_some(self) -> None:
        assert self._socket is not None
        try:
            while self._left:
                self._left = self._left[self._socket.send(self._left) :]
        except BlockingIOError:
            pass
        waits_for = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._left else 0)
        if self._selector.get_key(self._socket).events != waits_for:
            self._selector.modify(self._socket, waits_for, self)

    def go_on(self, events: int) -> bool:
        """Whether the answer is there."""
        assert self._socket is not None
        if events & selectors.EVENT_WRITE:
            self._send_some()
        if not events & selectors.EVENT_READ:
            return False
        try:
            part = self._socket.recv(65536)
        except ConnectionResetError:
            part = b""
        self._answer += part
        if not part:
            # The server closes what it heard nothing from for a while.
            self.close()
            if self._request:
                self.start(self._request, self.due_s)
            return False
        if END not in self._answer:
            return False
        if not self._answer.startswith(DONE):
            sys.exit(f"refused: {self._answer[:400]!r}")
        self._request = b""
        if self._load.reconnects:
            self.close()
        return True

    def close(self) -> None:
        if self._socket is not None:
            self._selector.unregister(self._socket)
            self._socket.close()
            self._socket = None


def _closed_loop(load: Load) -> Sent:
    """Each connection sends as soon as it is answered."""
    selector = selectors.DefaultSelector()
    latencies: list[float] = []
    begin = time.perf_counter()
    queues: dict[_Connection, Iterator[bytes]] = {}
    for requests in load.requests:
        connection = _Connection(load, selector)
        queues[connection] = iter(requests)
        connection.start(next(queues[connection]), time.perf_counter())
    open_connections = len(queues)
    while open_connections:
        for key, events in selector.select():
            connection = key.data
            if connection.go_on(events):
                now = time.perf_counter()
                latencies.append(now - connection.due_s)
                request = next(queues[connection], None)
                if request is None:
                    open_connections -= 1
                    connection.close()
                else:
                    connection.start(request, now)
    return Sent(elapsed_s=time.perf_counter() - begin, latencies_s=latencies)


def _open_loop(load: Load, rate: float) -> Sent:
    """Requests have their moments; one for which no connection is free waits, and that counts."""
    selector = selectors.DefaultSelector()
    # Those of one sender stay in order, as they take turns.
    turns = zip_longest(*load.requests)
    waiting = deque(request for turn in turns for request in turn if request is not None)
    free = deque(_Connection(load, selector) for _ in load.requests)
    latencies: list[float] = []
    count, sent = len(waiting), 0
    begin = time.perf_counter()
    while len(latencies) < count:
        now = time.perf_counter()
        while waiting and free and begin + sent / rate <= now:
            free.popleft().start(waiting.popleft(), begin + sent / rate)
            sent += 1
        pause_s = begin + sent / rate - time.perf_counter() if waiting and free else 1.0
        for key, events in selector.select(max(0.0, pause_s)):
            if key.data.go_on(events):
                latencies.append(time.perf_counter() - key.data.due_s)
                free.append(key.data)
    return Sent(elapsed_s=time.perf_counter() - begin, latencies_s=latencies)


def main() -> None:
    load: Load = pickle.loads(Path(sys.argv[1]).read_bytes())
    sent = _closed_loop(load) if load.rate is None else _open_loop(load, load.rate)
    print(json.dumps({"elapsed_s": sent.elapsed_s, "latencies_s": list(sent.latencies_s)}))


if __name__ == "__main__":
    # The class that was pickled is that of the module, not of this program.
    from bench.ingest import sender

    sender.main()
