"""The same samples, delivered at different times: live, late, in any order, or in one go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from accounts.models import Organisation, Scope, Token
from advisor.history.levels import read_points
from advisor.models import Chunk, Incident, LateChange
from advisor.pipeline.amend import figures_of
from advisor.pipeline.detect import detect
from advisor.pipeline.store_history import store_history
from ingest.core.line_protocol import Precision
from ingest.models import LateSamples
from ingest.services.maintenance import drop_sealed
from ingest.write import store
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.judged_windows import EVER
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

START = datetime(2026, 11, 20, 11, 50, tzinfo=UTC)
STEP = timedelta(seconds=10)
HOSTS = ("h1", "h2")
_numbers = count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The samples of these steps of a host, which come after step `after`."""

    after: int
    host: str
    steps: tuple[int, ...]


def live(steps: int) -> list[Delivery]:
    """Each step comes when it is over."""
    return [
        Delivery(after=step, host=host, steps=(step,)) for step in range(steps) for host in HOSTS
    ]


def in_one_go(steps: int) -> list[Delivery]:
    """An import after all is over."""
    return [Delivery(after=steps, host=host, steps=tuple(range(steps))) for host in HOSTS]


class Lun:
    """A datastore of a new organisation: on each host a workload, on h1 two."""

    def __init__(self, latencies_ms: Sequence[float]) -> None:
        self.steps = len(latencies_ms) + 1
        self.organisation = Organisation.objects.create(slug=f"o{next(_numbers)}", name="Acme")
        self.resource = stated_datastore(self.organisation, "sda", *HOSTS)
        cgroup_allocation(self.resource, "web", host="h1")
        cgroup_allocation(self.resource, "batch", host="h1")
        cgroup_allocation(self.resource, "db", host="h2")
        self.token, _ = Token.objects.issue(
            organisation=self.organisation, scope=Scope.INGEST, name="telegraf"
        )
        self.lines = {host: self._lines(host, latencies_ms) for host in HOSTS}

    def _lines(self, host: str, latencies_ms: Sequence[float]) -> list[str]:
        """The lines of each step."""
        # The more the others get, the longer an I/O takes.
        rates = [(100.0, 900.0 if ms > 30 else 300.0) for ms in latencies_ms]
        paths = {"h1": ("/web", "/batch"), "h2": ("/db",)}[host]
        disk = [
            DiskPhase(intervals=1, iops=sum(rate[: len(paths)]), latency_ms=ms)
            for rate, ms in zip(rates, latencies_ms, strict=True)
        ]
        texts = [disk_lines(host, "sda", disk, start=START)]
        for place, path in enumerate(paths):
            own = [CgroupPhase(intervals=1, iops=rate[place], waits=0.5) for rate in rates]
            texts.append(cgroup_lines(host, path, own, start=START))
        return ["\n".join(lines) for lines in zip(*map(str.splitlines, texts), strict=True)]

    def play(self, deliveries: Iterable[Delivery], *, look_each: int = 1) -> Lun:
        """Let samples come, and look each so many steps; then look until nothing is left."""
        waiting = sorted(deliveries, key=lambda one: one.after)
        for step in range(max(self.steps, waiting[-1].after) + 1):
            now = START + step * STEP + timedelta(seconds=1)
            while waiting and waiting[0].after <= step:
                self.send(waiting.pop(0), now=now)
            if step % look_each == 0:
                detect(resource=self.resource, now=now)
        self.settle(START + (step + 6) * STEP)
        return self

    def send(self, one: Delivery, *, now: datetime) -> None:
        """Store the samples of a delivery."""
        body = "\n".join(self.lines[one.host][step] for step in one.steps)
        store(
            body.encode(), token=self.token, precision=Precision.NS, now=now,
            retention=timedelta(days=30),
        )  # fmt: skip

    def seal(self, *, now: datetime, with_rows: bool) -> None:
        """Store what is over; `with_rows` leaves the samples that it was made of."""
        store_history(organisation=self.organisation, now=now, limit_s=60.0)
        assert Chunk.objects.filter(organisation_id=self.organisation.pk).exists()
        if not with_rows:
            assert drop_sealed(before=now) > 0

    def settle(self, now: datetime) -> None:
        """Look until all that came is judged."""
        for minutes in range(0, 600, 10):
            detect(resource=self.resource, now=now + timedelta(minutes=minutes))
            if not (LateSamples.objects.exists() or LateChange.objects.exists()):
                return
        raise AssertionError("late samples are never judged")

    def states(self) -> list[tuple[Any, ...]]:
        """What is known of each window."""
        return [
            (one.at, one.state, one.since, one.value, one.threshold, one.load, one.reason)
            for one in read_points(self.resource, since=EVER)
        ]

    def incidents(self) -> list[dict[str, Any]]:
        """The incidents in force with their figures."""
        rows = Incident.objects.filter(resource=self.resource).order_by("started_at")
        return [figures_of(row) for row in rows]
