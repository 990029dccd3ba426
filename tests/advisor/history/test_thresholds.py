"""A learnt threshold comes from what was normal, and says what it left out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from advisor.decisions import inventory
from advisor.history.thresholds import threshold_of
from advisor.models import Incident, Resource, ResourceKind, State, ThresholdMode
from advisor.pipeline.detect import detect
from tests.advisor.disk_samples import DiskPhase, disk_lines
from tests.advisor.judged_windows import judge, judged_window
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db

STEP = timedelta(minutes=5)
# NOW is a Friday at noon.
LAST_NOONS = [NOW - timedelta(weeks=week) for week in range(1, 4)]


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def learning(cluster: Cluster) -> Resource:
    """A datastore whose threshold is p80 of what is usual, or else 30 ms."""
    lun = inventory.add_resource(
        organisation=cluster.organisation,
        name="lun",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "lun")],
        threshold=30.0,
    )
    lun.threshold_mode = ThresholdMode.BASELINE
    lun.baseline_percentile = 80.0
    lun.save()
    return lun


def remember(lun: Resource, value: Callable[[datetime], float], *, days: int) -> None:
    """Windows of five minutes up to now."""
    times = [NOW - STEP * back for back in range(days * 288)]
    judge(lun, *(judged_window(at, value=value(at)) for at in times))


def in_noon_hour(at: datetime) -> bool:
    return any(noon < at <= noon + timedelta(hours=1) for noon in LAST_NOONS)


@pytest.mark.parametrize(
    ("was_incident", "expected"), [(False, 25.0), (True, 5.0)], ids=["usual", "congestion"]
)
def test_hour_of_the_week_counts_unless_it_was_congested(
    cluster: Cluster, expected: float, *, was_incident: bool
) -> None:
    lun = learning(cluster)
    remember(lun, lambda at: 25.0 if in_noon_hour(at) else 5.0, days=28)
    if was_incident:
        for noon in LAST_NOONS:
            Incident.objects.create(
                organisation=cluster.organisation, resource=lun, started_at=noon,
                ended_at=noon + timedelta(hours=1), peak_value=25.0, threshold=10.0,
            )  # fmt: skip

    reading = threshold_of(lun, until=NOW).at(NOW + timedelta(minutes=30))

    assert reading.value == expected
    # Three hours of twelve windows
    assert ("without 36 congested windows" in reading.reason) is was_incident


def test_history_before_the_disks_were_replaced_is_forgotten(cluster: Cluster) -> None:
    lun = learning(cluster)
    remember(lun, lambda at: 20.0 if at < NOW - timedelta(days=10) else 4.0, days=28)

    reading = threshold_of(lun, until=NOW).at(NOW)

    assert reading.value == 4.0
    assert "when its level went from 20 to 4" in reading.reason


def test_congestion_that_never_ends_leaves_the_stated_threshold(cluster: Cluster) -> None:
    lun = learning(cluster)
    began_at = NOW - timedelta(days=27)
    remember(lun, lambda at: 40.0 if at > began_at else 5.0, days=28)
    Incident.objects.create(
        organisation=cluster.organisation,
        resource=lun,
        started_at=began_at,
        peak_value=40.0,
        threshold=10.0,
    )

    reading = threshold_of(lun, until=NOW).at(NOW)

    assert reading.value == 30.0
    assert reading.reason.startswith("fixed, because a baseline needs more normal history")
    assert "congested windows" in reading.reason


def test_reason_is_shown_with_every_window_that_was_judged(cluster: Cluster) -> None:
    lun = learning(cluster)
    phase = DiskPhase(intervals=30, iops=1000, latency_ms=5.0)
    start = NOW - timedelta(minutes=5)
    send(cluster.organisation, disk_lines("h1", "lun", [phase], start=start), now=NOW)

    status = detect(resource=lun, now=NOW)

    assert status.state == State.CLEAR
    assert status.reason == (
        "above in 0 of 5 windows; fixed, because a baseline needs more normal history: "
        "0 of 3 needed days"
    )


def test_the_latency_near_the_peak_is_told_at_the_size_that_latencies_are_compared_at(
    cluster: Cluster,
) -> None:
    lun = learning(cluster)
    lun.threshold_mode = ThresholdMode.PEAK_THROUGHPUT
    lun.save()
    # I/Os of 256 kB take 10 ms + 1 ms per outstanding one, so X = Q / L, at most 1000 a second;
    # 90 % of that they give at 10 / (1 - 0.9) = 100 ms. I/Os of 8 kB would take
    # (51 + 8) / (51 + 256) of it.
    phases = [
        DiskPhase(
            intervals=10, iops=1000 * depth / (10 + depth), latency_ms=10 + depth, io_bytes=256_000
        )
        for depth in (1, 2, 4, 8, 16, 32)
    ]
    start = NOW - timedelta(seconds=600)
    send(cluster.organisation, disk_lines("h1", "lun", phases, start=start), now=NOW)

    reading = threshold_of(lun, until=NOW).at(NOW)

    assert reading.value == pytest.approx(100 * 59 / 307, rel=0.02), reading.reason
