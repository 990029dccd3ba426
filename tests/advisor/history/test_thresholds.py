"""A learnt threshold comes from what was normal, and says what it left out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from advisor.core.detection.threshold import Threshold
from advisor.decisions import inventory
from advisor.decisions.alarm_budgets import (
    follow_shared_budget,
    state_own_budget,
    state_shared_budget,
)
from advisor.history.reader import thresholds_of
from advisor.models import (
    Incident,
    LearntThreshold,
    Resource,
    ResourceKind,
    State,
    ThresholdMode,
)
from advisor.pipeline.detect import detect
from advisor.pipeline.learn_thresholds import learn_threshold, resources_to_learn
from advisor.pipeline.upkeep import tidy
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
    """A datastore whose threshold is p80 of what is usual, without a budget, or else 30 ms."""
    lun = inventory.add_resource(
        organisation=cluster.organisation,
        name="lun",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "lun")],
        threshold=30.0,
    )
    lun.threshold_mode = ThresholdMode.BASELINE
    lun.baseline_percentile = 80.0
    lun.alarms_per_week = None
    lun.save()
    return lun


def remember(lun: Resource, value: Callable[[datetime], float], *, days: int) -> None:
    """Windows of five minutes up to now."""
    times = [NOW - STEP * back for back in range(days * 288)]
    judge(lun, *(judged_window(at, value=value(at)) for at in times))


def threshold_of(lun: Resource) -> Threshold:
    """That of the hours around now."""
    hours = timedelta(hours=2)
    return thresholds_of([lun], since=NOW - hours, until=NOW + hours)[lun.pk]


def learnt(lun: Resource) -> Threshold:
    """The threshold after it was learnt now."""
    learn_threshold(resource=lun, now=NOW)
    return threshold_of(lun)


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

    reading = learnt(lun).at(NOW + timedelta(minutes=30))

    assert reading.value == expected
    # Three hours of twelve windows
    assert ("without 36 congested windows" in reading.reason) is was_incident


def test_budget_of_false_alarms_sets_how_far_above_the_usual_value_it_is(cluster: Cluster) -> None:
    lun = learning(cluster)
    state_own_budget(resource=lun, alarms_per_week=1.0)
    remember(lun, lambda at: 8.0 if at.hour == 3 and at.day % 2 else 4.0, days=28)

    reading = learnt(lun).at(NOW)

    # p80 is 4 at noon; at night it is 8 in two or three weeks of four, so no day has a peak above.
    assert reading.value == pytest.approx(5.0)
    assert reading.reason.startswith("1.25 times p80 of the same hour of the week, allows 1")


def test_part_of_the_budget_of_all_is_learnt_and_said(cluster: Cluster) -> None:
    lun = learning(cluster)
    follow_shared_budget(resource=lun)
    inventory.add_resource(
        organisation=cluster.organisation, name="other", kind=ResourceKind.DATASTORE,
        attachments=[("h1", "other")],
    )  # fmt: skip
    Resource.objects.filter(name="other").update(threshold_mode=ThresholdMode.BASELINE)
    state_shared_budget(organisation=cluster.organisation, alarms_per_week=1.0)
    remember(lun, lambda _: 4.0, days=7)

    reading = learnt(lun).at(NOW)

    # Two resources: ceil(14 / 1) - 1
    assert reading.reason.endswith(
        "allows 1 false alarm a week over 2 resources; based on 7 days (13 needed to guarantee it)"
    )


def test_history_before_the_disks_were_replaced_is_forgotten(cluster: Cluster) -> None:
    lun = learning(cluster)
    remember(lun, lambda at: 20.0 if at < NOW - timedelta(days=10) else 4.0, days=28)

    reading = learnt(lun).at(NOW)

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

    reading = learnt(lun).at(NOW)

    assert reading.value == 30.0
    assert reading.reason.startswith("fixed, because a baseline needs more normal history")
    assert "congested windows" in reading.reason


def test_reason_is_shown_with_every_window_that_was_judged(cluster: Cluster) -> None:
    lun = learning(cluster)
    phase = DiskPhase(intervals=30, iops=1000, latency_ms=5.0)
    start = NOW - timedelta(minutes=5)
    send(cluster.organisation, disk_lines("h1", "lun", [phase], start=start), now=NOW)
    learn_threshold(resource=lun, now=start)

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

    reading = learnt(lun).at(NOW)

    assert reading.value == pytest.approx(100 * 59 / 307, rel=0.02), reading.reason


def test_resource_that_learns_has_its_fixed_value_until_something_is_learnt(
    cluster: Cluster,
) -> None:
    reading = threshold_of(learning(cluster)).at(NOW)

    assert (reading.value, reading.reason) == (30.0, "fixed, because it is not learnt yet")


def test_value_is_learnt_for_the_windows_to_come_and_those_of_the_next_hour(
    cluster: Cluster,
) -> None:
    lun = learning(cluster)
    remember(lun, lambda at: 25.0 if in_noon_hour(at) else 5.0, days=28)
    minute = timedelta(minutes=1)

    first, second = (learn_threshold(resource=lun, now=NOW + minute * late) for late in (5, 6))
    found = threshold_of(lun)

    # NOW is noon: windows up to five past are judged already.
    assert (first.since, second.since) == (NOW + 5 * minute, NOW + 60 * minute)
    assert found.at(NOW + 4 * minute).reason == "fixed, because it is not learnt yet"
    assert [found.at(NOW + late * minute).value for late in (5, 59, 60)] == [25.0, 25.0, 5.0]


def test_what_is_learnt_later_does_not_change_the_threshold_of_earlier_windows(
    cluster: Cluster,
) -> None:
    lun = learning(cluster)
    remember(lun, lambda at: 5.0, days=28)
    before = learnt(lun).at(NOW + timedelta(minutes=30))
    remember(lun, lambda at: 9.0, days=28)
    later = NOW + timedelta(hours=1, minutes=10)

    learn_threshold(resource=lun, now=later)

    assert before.value == 5.0
    assert threshold_of(lun).at(NOW + timedelta(minutes=30)) == before
    assert threshold_of(lun).at(later).value == 9.0


def test_value_of_another_mode_does_not_hold(cluster: Cluster) -> None:
    lun = learning(cluster)
    remember(lun, lambda at: 5.0, days=28)
    learn_threshold(resource=lun, now=NOW)
    lun.threshold_mode = ThresholdMode.PEAK_THROUGHPUT

    assert threshold_of(lun).at(NOW).reason == "fixed, because it is not learnt yet"


def test_value_of_six_hours_ago_gives_way_to_the_fixed_one(cluster: Cluster) -> None:
    lun = learning(cluster)
    remember(lun, lambda at: 5.0, days=28)
    threshold = learnt(lun)
    hours = timedelta(hours=6)

    assert threshold.at(NOW + hours - timedelta(seconds=1)).value == 5.0
    assert threshold.at(NOW + hours).value == 30.0
    assert threshold.at(NOW + hours).reason == (
        f"fixed, because none was learnt since {NOW:%Y-%m-%d %H:%M} UTC"
    )


def test_each_hour_is_due_until_it_is_learnt(cluster: Cluster) -> None:
    lun = learning(cluster)
    hour = timedelta(hours=1)

    due = []
    for now in (NOW, NOW, NOW, NOW + hour, NOW + hour):
        due.append(list(resources_to_learn(now=now)) == [lun])
        if due[-1]:
            learn_threshold(resource=lun, now=now)

    # First this hour and the next one, then one an hour.
    assert due == [True, True, False, True, False]


def test_resource_with_a_fixed_threshold_is_never_due(cluster: Cluster) -> None:
    assert cluster.uplink.threshold_mode == ThresholdMode.FIXED

    assert not resources_to_learn(now=NOW).exists()


def test_learnt_thresholds_are_kept_as_long_as_windows(cluster: Cluster) -> None:
    lun = learning(cluster)
    learn_threshold(resource=lun, now=NOW)

    kept, removed = (tidy(now=NOW + timedelta(days=30, seconds=late)) for late in (0, 1))

    assert (kept.learnt_thresholds, removed.learnt_thresholds) == (0, 1)
    assert not LearntThreshold.objects.exists()
