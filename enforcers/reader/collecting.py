"""Reads the host on the clock's grid and sends what was read, on a thread each."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from zlib import crc32

from enforcers.config import ReaderConfig
from enforcers.http_exchange import Answer, HttpExchange
from enforcers.reader.delivery import Delivery, random_part
from enforcers.reader.host_tree import HostTree
from enforcers.reader.reading import Reader, Reading
from enforcers.reader.spool import Spool

log = logging.getLogger(__name__)

WRITE_PATH = "/api/v2/write?bucket=sluice&precision=ns"
# All hosts read at the same moment; they send spread over so many seconds.
SPREAD_S = 3.0


class Collecting:
    """The built-in reader of one host. `start` returns at once, `stop` when both threads ended."""

    def __init__(self, config: ReaderConfig) -> None:
        """Raises StateError if the buffer cannot be used, ConfigError for a bad authority file."""
        self._host = config.host
        self._interval_s = config.interval_s
        self._reader = Reader(HostTree(), host=config.host, ask_qemu=config.ask_qemu)
        self._spool = Spool(config.buffer_dir, most_bytes=config.buffer_bytes)
        self._http = HttpExchange(config.endpoint)
        self._token = config.token
        self._delivery = Delivery(self._spool, self._post, random_part=random_part)
        self._told: frozenset[str] = frozenset()
        self._stopping = threading.Event()
        self._filled = threading.Event()
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for name, target in (("read", self._read), ("send", self._send))
        ]

    def start(self) -> None:
        """Begin with a pass at once."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End both threads, then send the last pass; what is not delivered stays on disk."""
        self._stopping.set()
        self._filled.set()
        for thread in self._threads:
            thread.join()
        self._deliver()

    def _read(self) -> None:
        while True:
            try:
                self._pass()
            except Exception:
                # One bad pass must not end all others.
                log.exception("pass failed")
            if self._stopping.wait(seconds_to_grid(time.time(), self._interval_s)):
                return

    def _pass(self) -> None:
        at_ns = time.time_ns()
        reading = self._reader.read(at_ns=at_ns, now_s=time.monotonic())
        own = f"{self._delivery.own_line(self._host)} {at_ns}"
        self._spool.put((*reading.lines, own))
        self._filled.set()
        self._tell(reading)

    def _tell(self, reading: Reading) -> None:
        """Log a problem when it begins, not in every pass."""
        for what in sorted(reading.problems.keys() - self._told):
            log.warning("not read", extra={"what": what, "reason": reading.problems[what]})
        self._told = frozenset(reading.problems)
        if reading.young:
            log.debug("cgroups wait for their second pass", extra={"count": reading.young})

    def _send(self) -> None:
        is_first = True
        own_s = spread_s(self._host, self._interval_s)
        while not self._stopping.is_set():
            self._filled.wait()
            self._filled.clear()
            # The first samples of all are what somebody waits for.
            if not is_first and self._stopping.wait(own_s):
                break
            is_first = False
            self._deliver()

    def _deliver(self) -> None:
        """Send until nothing waits, or the agent is to stop: then one body at most."""
        try:
            while wait_s := self._delivery.flush(
                now_s=time.monotonic(), is_over=self._stopping.is_set
            ):
                if self._stopping.wait(wait_s):
                    return
        except Exception:
            log.exception("sending failed")

    def _post(self, body: bytes) -> Answer:
        headers = {
            "Authorization": f"Token {self._token}",
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Encoding": "gzip",
        }
        return self._http.ask("POST", WRITE_PATH, body, headers)


@contextmanager
def collecting(config: ReaderConfig) -> Iterator[None]:
    """Read and send within the block."""
    running = Collecting(config)
    running.start()
    try:
        yield
    finally:
        running.stop()


def spread_s(host: str, interval_s: float) -> float:
    """How long after each pass this host sends: always the same, and another for each host."""
    return crc32(host.encode()) % 1000 / 1000 * min(SPREAD_S, interval_s / 3)


def seconds_to_grid(now_s: float, interval_s: float) -> float:
    """How long until the next multiple of the interval that is not almost over already."""
    rest_s = interval_s - now_s % interval_s
    return rest_s if rest_s > interval_s / 10 else rest_s + interval_s
