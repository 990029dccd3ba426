"""Pages of a web server on an uplink that bulk senders keep busy: how long a page takes to leave.

Each sender keeps a socket buffer of packets waiting. An ordinary adapter sends packets in the
order in which they come, a tag scheduler by the allocations of the ports.
"""

from collections import deque
from dataclasses import dataclass
from random import Random

from advisor.core.allocation import Node, ReservationMode
from advisor.core.number_checks import check_positive
from advisor.core.scheduling_model import TagScheduler
from advisor.core.simulation.load import check_count

PACKET_BYTES = 1448
"""User data of a full Ethernet packet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLoad:
    """Pages of one size, the next one `gap_s` in the mean after the last has left.

    `server` and `rivals` are paths of leaves; each rival keeps `buffer_bytes` waiting.
    """

    server: str
    rivals: tuple[str, ...]
    page_bytes: int
    buffer_bytes: int
    pages: int
    gap_s: float

    def __post_init__(self) -> None:
        check_count("page_bytes", self.page_bytes)
        check_count("buffer_bytes", self.buffer_bytes)
        check_count("pages", self.pages)
        check_positive("gap_s", self.gap_s)


def page_time_s(
    load: PageLoad, *, capacity_bits_per_s: float, tree: Node | None, seed: int
) -> float:
    """Mean seconds from a page's packets waiting to the last of them sent.

    `tree` None is an adapter that sends packets in the order in which they come.
    """
    check_positive("capacity_bits_per_s", capacity_bits_per_s)
    port = _InOrder() if tree is None else _ByTags(tree, capacity_bits_per_s)
    random = Random(seed)  # noqa: S311  # Simulated arrivals, not secrets.
    packet_s = 8 * PACKET_BYTES / capacity_bits_per_s
    for rival in load.rivals:
        port.add(rival, _packets(load.buffer_bytes), 0.0)
    now = spent_s = 0.0
    for _ in range(load.pages):
        begin = now + random.expovariate(1 / load.gap_s)
        now = _send(port, now, packet_s, until=begin) if load.rivals else begin
        left = _packets(load.page_bytes)
        port.add(load.server, left, now)
        came_at = now
        while left:
            path = port.next_path(now)
            now += packet_s
            if path == load.server:
                left -= 1
            elif path is not None:
                port.add(path, 1, now)
        spent_s += now - came_at
    return spent_s / load.pages


def _send(port: "_InOrder | _ByTags", now: float, packet_s: float, *, until: float) -> float:
    """Let the rivals alone send until a time; the end of the packet that is under way then."""
    while now < until:
        path = port.next_path(now)
        now += packet_s
        if path is not None:
            port.add(path, 1, now)
    return now


def _packets(size_bytes: int) -> int:
    return -(-size_bytes // PACKET_BYTES)


class _InOrder:
    """One queue for all."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()

    def add(self, path: str, packets: int, now: float) -> None:  # noqa: ARG002 - as _ByTags.
        self._waiting.extend([path] * packets)

    def next_path(self, now: float) -> str | None:  # noqa: ARG002 - as _ByTags.
        return self._waiting.popleft() if self._waiting else None


class _ByTags:
    """A queue per port, ordered by its allocations."""

    def __init__(self, tree: Node, capacity_bits_per_s: float) -> None:
        self._scheduler = TagScheduler(
            tree, capacity=capacity_bits_per_s, mode=ReservationMode.ADDITIVE
        )

    def add(self, path: str, packets: int, now: float) -> None:
        for _ in range(packets):
            self._scheduler.enqueue(path, cost=8.0 * PACKET_BYTES, now=now)

    def next_path(self, now: float) -> str | None:
        dispatch = self._scheduler.dequeue(now)
        return None if dispatch is None else dispatch.path
