"""What agents report about queues is known window by window."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.history.agents import (
    QueueColumns,
    QueueReport,
    queue_columns,
    queued,
    report_places,
)
from advisor.models import ComplianceRecord
from ingest.core.grid import Grid, grid_of, microseconds
from tests.advisor.agent_reports import tell
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def queue(cluster: Cluster, *, window_s: float = 10.0) -> QueueColumns | None:
    grid = grid_of(NOW - timedelta(minutes=10), NOW, window_s)
    allocation = cluster.allocations[0]
    return queue_columns(queued([allocation]), grid).get(allocation.pk)


@pytest.mark.parametrize(
    ("backlogged", "wants_more"),
    [(3, True), (0, False), (1, None)],
    ids=["always waiting", "never waiting", "came and went"],
)
def test_samples_with_a_queue_decide_whether_more_was_wanted(
    cluster: Cluster, backlogged: int, *, wants_more: bool | None
) -> None:
    tell(cluster, [{"backlogged": backlogged, "drops": 60}], at=NOW)

    found = queue(cluster)

    assert found is not None
    newest = found.backlogged[-1]
    assert (None if np.isnan(newest) else bool(newest)) is wants_more
    # 60 packets in the 30 s of the report: 20 in each of its windows, and none are known before.
    assert found.drops[-3:].tolist() == [20.0] * 3
    assert np.isnan(found.drops[:-3]).all()


def test_long_windows_add_the_reports_up(cluster: Cluster) -> None:
    for seconds, backlogged in ((110, 3), (80, 3), (50, 0), (20, 0)):
        tell(cluster, [{"backlogged": backlogged}], at=NOW - timedelta(seconds=seconds))

    found = queue(cluster, window_s=120.0)

    # 6 of 12 samples: half of the time counts as waiting
    assert found is not None
    assert found.backlogged[-1] == 1.0


def test_report_without_measurement_tells_nothing(cluster: Cluster) -> None:
    tell(cluster, [{}], at=NOW)
    ComplianceRecord.objects.update(sample_count=None, window_s=None)

    assert queue(cluster) is None


def report(at_s: float, *, seconds: float = 30.0, drops_per_s: float = 0.0) -> QueueReport:
    return QueueReport(
        at=NOW + timedelta(seconds=at_s),
        seconds=seconds,
        backlogged=True,
        backlog_bytes=0.0,
        drops_per_s=drops_per_s,
    )


@pytest.mark.parametrize(
    ("at_s", "expected"),
    [(-30, None), (-10, 0), (0, 0), (10, 1), (25, 1), (40, 1), (70, 1), (71, None)],
    ids=[
        "before all reports",
        "within the first",
        "at its end",
        "within the second",
        "within the second, not at its edge",
        "after the last, not reported yet",
        "after the last, one report is late",
        "the agent fell silent",
    ],
)
def test_window_has_the_report_that_shares_most_time(at_s: float, expected: int | None) -> None:
    assert places([report(0), report(30)], at_s=at_s) == [-1 if expected is None else expected]


def places(reports: list[QueueReport], *, at_s: float, count: int = 1) -> list[int]:
    """Those of so many windows of 10 s, the first of which ends then."""
    since_us = microseconds(NOW + timedelta(seconds=at_s - 10))
    grid = Grid(since_us=since_us, window_us=10_000_000, count=count)
    return [int(one) for one in report_places(reports, grid)]


REPORTS = st.lists(
    st.tuples(st.integers(1, 400), st.integers(1, 90)), min_size=1, max_size=30,
    unique_by=lambda one: one[0],
)  # fmt: skip


@given(REPORTS, st.integers(-20, 30))
def test_windows_have_the_reports_that_they_have_alone(
    stated: list[tuple[int, int]], at_s: int
) -> None:
    reports = [report(at, seconds=seconds) for at, seconds in sorted(stated)]

    together = places(reports, at_s=at_s, count=40)

    assert together == [one_by_one(reports, at_s=at_s + 10 * number) for number in range(40)]


def one_by_one(reports: list[QueueReport], *, at_s: float) -> int:
    """The same said as it is defined, for one window."""
    ends = NOW + timedelta(seconds=at_s)
    begins = ends - timedelta(seconds=10)
    best, most = -1, timedelta(0)
    for place, one in enumerate(reports):
        began = one.at - timedelta(seconds=one.seconds)
        if one.at > begins and began >= ends:
            break
        shared = min(one.at, ends) - max(began, begins)
        if one.at > begins and shared > most:
            best, most = place, shared
    over = [place for place, one in enumerate(reports) if one.at <= begins]
    if best < 0 and over:
        last = reports[over[-1]]
        return over[-1] if begins - last.at <= timedelta(seconds=last.seconds) else -1
    return best
