"""A datastore of two hosts that send samples from noon on, each ten seconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from accounts.models import Organisation
from advisor.core.detection.congestion import StatePoint
from advisor.history.levels import read_points
from advisor.models import Resource
from tests.advisor.disk_samples import DiskPhase, disk_lines
from tests.advisor.judged_windows import EVER
from tests.advisor.samples import send
from tests.advisor.stated_datastores import stated_datastore

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
STEP = timedelta(seconds=10)
MINUTE = timedelta(minutes=1)


def at(step: int) -> datetime:
    return NOON + step * STEP


def make_lun() -> Resource:
    acme = Organisation.objects.create(slug="acme", name="Acme")
    return stated_datastore(acme, "sda", "h1", "h2")


def sent(lun: Resource, steps: int, *, start: int = 0, host: str = "h1", ms: float = 5.0) -> None:
    phase = DiskPhase(intervals=steps, iops=100, latency_ms=ms)
    lines = disk_lines(host, "sda", [phase], start=at(start))
    send(lun.organisation, lines, now=max(at(start + steps), at(0)))


def figures(points: list[StatePoint]) -> list[tuple[datetime, float | None]]:
    return [(point.at, point.value) for point in points]


def judged_steps(lun: Resource) -> list[int]:
    return [(point.at - NOON) // STEP for point in read_points(lun, since=EVER)]
