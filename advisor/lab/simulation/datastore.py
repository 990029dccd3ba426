"""A simulated datastore: servers behind a link, a price for size, a write cache, read-ahead.

With D servers that are chosen at random and take a mean time s, the latency at N outstanding I/Os
is s·(D - 1 + N)/D: the line of latency against outstanding I/O that real arrays show, with
intercept s·(D-1)/D, slope s/D and a peak of D/s I/Os per second.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import log
from random import Random
from typing import Any

from advisor.core.number_checks import check_amount, check_positive
from advisor.lab.simulation.agenda import Agenda
from advisor.lab.simulation.load import Access, check_count


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedDatastore:
    """The parts of a datastore that decide throughput and latency.

    `servers` disks or flash channels each take `access_s` and the transfer at `bytes_per_s` (None:
    in no time) for an I/O; the time varies exponentially around that mean. All I/O passes one
    link of `link_bytes_per_s`. A write is done after `cache_s` as long as fewer than `cache_ios`
    wait for the servers; reads of up to `read_ahead_streams` sequential streams skip `access_s`.
    A cache puts sequential writes together however many streams they come from, so that writing
    them back skips `access_s` too.
    """

    servers: int
    access_s: float
    bytes_per_s: float | None = None
    link_bytes_per_s: float | None = None
    cache_ios: int = 0
    cache_s: float = 0.0
    read_ahead_streams: int = 0

    def __post_init__(self) -> None:
        check_count("servers", self.servers)
        check_positive("access_s", self.access_s)
        check_positive("bytes_per_s", self.bytes_per_s)
        check_positive("link_bytes_per_s", self.link_bytes_per_s)
        check_amount("cache_ios", self.cache_ios)
        check_amount("cache_s", self.cache_s)
        check_amount("read_ahead_streams", self.read_ahead_streams)

    def transfer_s(self, io_bytes: float) -> float:
        """The time in which a server transfers this many bytes."""
        return 0.0 if self.bytes_per_s is None else io_bytes / self.bytes_per_s

    def peak_iops(self, io_bytes: float) -> float:
        """What it serves at most of random reads of this size."""
        peak = self.servers / (self.access_s + self.transfer_s(io_bytes))
        if self.link_bytes_per_s is None:
            return peak
        return min(peak, self.link_bytes_per_s / io_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What an I/O of one size and pattern costs a datastore, reckoned once for all of a load.

    `served_s` is the mean time of a server, `ahead_s` that of a sequential read it reads ahead
    of. `link_s` None is no link. A write `is_cached` where there is a cache.
    """

    io_bytes: int
    link_s: float | None
    served_s: float
    ahead_s: float
    is_sequential_read: bool
    is_cached: bool


def price_of(io_bytes: int, access: Access, spec: SimulatedDatastore) -> Price:
    """The price of such an I/O."""
    transfer_s = spec.transfer_s(io_bytes)
    is_put_together = access.is_sequential_write and spec.cache_ios > 0
    return Price(
        io_bytes=io_bytes,
        link_s=None if spec.link_bytes_per_s is None else io_bytes / spec.link_bytes_per_s,
        served_s=transfer_s if is_put_together else transfer_s + spec.access_s,
        ahead_s=transfer_s,
        is_sequential_read=access.is_sequential_read,
        is_cached=access.is_write and spec.cache_ios > 0,
    )


class Io:
    """One I/O on its way; `done` is called with it when the datastore has answered."""

    __slots__ = ("asked_at", "done", "price", "sent_at")

    def __init__(self, *, price: Price, done: Callable[[Any], None]) -> None:
        self.price = price
        self.done = done
        self.asked_at = 0.0
        self.sent_at = 0.0


class DatastoreQueue:
    """The datastore at work."""

    def __init__(self, spec: SimulatedDatastore, agenda: Agenda, random: Random) -> None:
        self.spec = spec
        self._servers = spec.servers
        self._agenda = agenda
        self._random = random.random
        self._free_at = [0.0] * spec.servers
        self._link_free_at = 0.0
        self._cached = 0
        self._for_cache: deque[tuple[Io, float]] = deque()
        self.sequential_streams = 0
        """How many workloads read sequentially at the moment."""

    def submit(self, io: Io) -> None:
        """Take an I/O; its `done` is called later."""
        price, arrival = io.price, self._agenda.now
        if price.link_s is not None:
            self._link_free_at = arrival = max(arrival, self._link_free_at) + price.link_s
        if not price.is_cached:
            self._agenda.at(self._served_at(price, arrival), io.done, io)
        elif self._cached < self.spec.cache_ios:
            self._cache(io, arrival)
        else:
            self._for_cache.append((io, arrival))

    def _served_at(self, price: Price, arrival: float) -> float:
        """When a server chosen at random will be done with an I/O of this price."""
        random, free_at = self._random, self._free_at
        is_ahead = price.is_sequential_read and self._is_read_ahead()
        mean = price.ahead_s if is_ahead else price.served_s
        server = int(random() * self._servers)
        begin = free_at[server]
        if begin < arrival:
            begin = arrival
        # Exponential, as `Random.expovariate` draws it.
        free_at[server] = end = begin - mean * log(1.0 - random())
        return end

    def _is_read_ahead(self) -> bool:
        """Whether a read is sequential to the array, which follows only so many streams."""
        followed = self.spec.read_ahead_streams / max(1, self.sequential_streams)
        return followed >= 1 or self._random() < followed

    def _cache(self, io: Io, arrival: float) -> None:
        """Answer a write from the cache, and let the servers write it back in the background."""
        self._cached += 1
        self._agenda.at(arrival + self.spec.cache_s, io.done, io)
        self._agenda.at(self._served_at(io.price, arrival), self._written_back)

    def _written_back(self, _: object) -> None:
        self._cached -= 1
        if self._for_cache:
            io, arrival = self._for_cache.popleft()
            self._cache(io, max(arrival, self._agenda.now))
