"""Collectors that write all the time, each batch until it is acknowledged, and what they know."""

from __future__ import annotations

import http.client
import time
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

from bench.chaos.verdict import ROWS_OF

SENDERS = 4
PAUSE_S, TRY_AGAIN_S = 0.1, 0.1
TIMEOUT_S = 5.0


def batch(host: str, at_ms: int, number: int) -> bytes:
    """The lines of a batch: seven rows of three tables, and its number in each of them."""
    at = f"{at_ms}000000"
    lines = [
        f"diskio,host={host},name=sd{disk} reads={number}i,writes={number}i,"
        f"read_bytes={4096 * number}i,write_bytes={4096 * number}i,"
        f"read_time={4 * number}i,write_time={4 * number}i,io_time={number}i,"
        f"weighted_io_time={2 * number}i {at}"
        for disk in "abcdefgh"[: ROWS_OF["diskio"]]
    ]
    lines += [
        f"net,host={host},interface=eth{card} bytes_sent={number}i,bytes_recv={number}i {at}"
        for card in range(ROWS_OF["net"])
    ]
    lines += [
        f"cgroup,host={host},path=/machine.slice/w{workload}.scope"
        f" io.stat.8:0.rios={number}i,io.stat.8:0.wios={number}i {at}"
        for workload in range(ROWS_OF["cgroup"])
    ]
    return "\n".join(lines).encode()


@dataclass(slots=True)
class Sender:
    """One host's collector. Times are of the machine's own clock, which nobody moves."""

    host: str
    secret: str
    address: tuple[str, int]
    acknowledged: dict[tuple[str, int], int] = field(default_factory=dict)
    sent_again: int = 0
    newest_begun_s: float = 0.0
    """When the newest of those began that were sent and acknowledged (monotonic)."""
    _connection: http.client.HTTPConnection | None = None

    def run(self, ended: Event, lock: Lock) -> None:
        """Until the end; a batch that is not acknowledged is sent again as it was."""
        number = at_ms = 0
        while not ended.wait(PAUSE_S):
            number += 10
            at_ms = max(at_ms + 1, time.time_ns() // 10**6)
            body = batch(self.host, at_ms, number)
            begun_s = time.monotonic()
            while not self._is_acknowledged(body):
                self.sent_again += 1
                if ended.wait(TRY_AGAIN_S):
                    return
                begun_s = time.monotonic()
            with lock:
                self.acknowledged[self.host, at_ms] = number
                self.newest_begun_s = begun_s

    def _is_acknowledged(self, body: bytes) -> bool:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(*self.address, timeout=TIMEOUT_S)
        try:
            headers = {"Authorization": f"Token {self.secret}", "Host": "localhost"}
            self._connection.request("POST", "/api/v2/write", body, headers)
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            return False
        return answer.status == http.client.NO_CONTENT


class Writer:
    """All senders, each in a thread of its own."""

    def __init__(self, secret: str, address: tuple[str, int]) -> None:
        self.hosts = [f"chaos-{number}" for number in range(SENDERS)]
        self._senders = [Sender(host, secret, address) for host in self.hosts]
        self._ended, self._lock = Event(), Lock()
        self._threads = [
            Thread(target=one.run, args=(self._ended, self._lock), daemon=True)
            for one in self._senders
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(2 * TIMEOUT_S)

    def acknowledged(self, *, since_ms: int) -> dict[tuple[str, int], int]:
        """The numbers of batches from that time on, by host and time."""
        with self._lock:
            return {
                key: number
                for one in self._senders
                for key, number in one.acknowledged.items()
                if key[1] >= since_ms
            }

    def works_since(self, moment_s: float) -> bool:
        """Whether each has sent something after that moment that was acknowledged."""
        with self._lock:
            return all(one.newest_begun_s > moment_s for one in self._senders)

    @property
    def sent_again(self) -> int:
        return sum(one.sent_again for one in self._senders)
