"""Run a tag scheduler in front of a device that serves one request after the other."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from advisor.core.number_checks import check_amount, check_positive
from advisor.lab.scheduling.model import Phase, TagScheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A client that keeps `outstanding` requests of one cost in the system while it is active.

    With `per_second` it issues that many, evenly spaced, whatever becomes of them.
    """

    path: str
    cost: float = 1.0
    outstanding: int = 32
    per_second: float | None = None
    starts_at: float = 0.0
    ends_at: float = float("inf")

    def __post_init__(self) -> None:
        check_positive("cost", self.cost)
        check_positive("per_second", self.per_second)
        check_amount("starts_at", self.starts_at)
        if not self.ends_at >= self.starts_at:
            raise ValueError(f"ends_at is {self.ends_at!r}; it must not be before starts_at")
        if self.outstanding < 1:
            raise ValueError(f"outstanding is {self.outstanding}; it must be at least 1")


@dataclass(slots=True, kw_only=True)
class Served:
    """What one client got: cost per second and requests by phase, from `since` on."""

    cost: float = 0.0
    by_phase: dict[Phase, int] = field(default_factory=lambda: dict.fromkeys(Phase, 0))
    buckets: list[float] = field(default_factory=list)


def run(
    scheduler: TagScheduler,
    sources: Sequence[Source],
    *,
    capacity: float,
    until: float,
    since: float = 0.0,
    bucket_s: float = 1.0,
) -> dict[str, Served]:
    """Serve the sources until a time, and sum up what each got from `since` on.

    `buckets` holds the cost completed in each `bucket_s` from time 0 on. Same input, same output.
    ValueError if two sources have one path, KeyError if a path is no leaf.
    """
    check_positive("capacity", capacity)
    check_amount("until", until)
    check_amount("since", since)
    check_positive("bucket_s", bucket_s)
    served = {source.path: Served() for source in sources}
    by_path = {source.path: source for source in sources}
    if len(by_path) < len(sources):
        raise ValueError("two sources have the same path")
    arrivals = _Arrivals(sources)
    now = 0.0
    while now < until:
        for source in arrivals.until(now):
            scheduler.enqueue(source.path, cost=source.cost, now=now)
        dispatch = scheduler.dequeue(now)
        if dispatch is None:
            times = [at for at in (arrivals.next_at(), scheduler.next_at()) if at is not None]
            later = [at for at in times if at > now]
            if not later:
                break
            now = min(later)
            continue
        now += dispatch.cost / capacity
        _count(served[dispatch.path], dispatch.cost, int(now / bucket_s))
        if now >= since:
            served[dispatch.path].cost += dispatch.cost
            served[dispatch.path].by_phase[dispatch.phase] += 1
        arrivals.completed(by_path[dispatch.path], now)
    return served


def rates(served: dict[str, Served], *, seconds: float) -> dict[str, float]:
    """Cost per second of each client over the time it was counted."""
    check_positive("seconds", seconds)
    return {path: one.cost / seconds for path, one in served.items()}


def _count(served: Served, cost: float, bucket: int) -> None:
    served.buckets.extend([0.0] * (bucket + 1 - len(served.buckets)))
    served.buckets[bucket] += cost


class _Arrivals:
    """Requests to come, in order of time and then of the sources."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._order = {source.path: index for index, source in enumerate(sources)}
        self._heap: list[tuple[float, int, int, Source]] = []
        self._count = 0
        for source in sources:
            first = 1 if source.per_second else source.outstanding
            for _ in range(first):
                self._add(source, source.starts_at)

    def until(self, now: float) -> Iterator[Source]:
        """The sources whose requests have come by now."""
        while self._heap and self._heap[0][0] <= now:
            at, _, _, source = heapq.heappop(self._heap)
            if source.per_second:
                self._add(source, at + 1 / source.per_second)
            yield source

    def next_at(self) -> float | None:
        """When the next request comes."""
        return self._heap[0][0] if self._heap else None

    def completed(self, source: Source, now: float) -> None:
        """Let a closed loop issue its next request."""
        if not source.per_second:
            self._add(source, now)

    def _add(self, source: Source, at: float) -> None:
        if at < source.ends_at:
            self._count += 1
            heapq.heappush(self._heap, (at, self._order[source.path], self._count, source))
