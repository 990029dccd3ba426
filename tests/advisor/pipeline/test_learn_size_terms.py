"""The size term of a datastore: from its samples to what detection, studies and advice make of it.

The disk's size term is 1 MB: at a depth of 130 its I/Os of 512 KiB take 60 ms, and those of the
reference size 60 / ((1000 + 524) / (1000 + 8)) = 39.7 ms. By BASIL's size term these would be
60 / ((51 + 524) / (51 + 8)) = 6.2 ms, which is clear.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from io import StringIO

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client

from advisor.advice.policy.gather import policy_inputs
from advisor.core.detection.congestion import StatePoint
from advisor.core.detection.external_workload import ExternalState
from advisor.core.iosize import SIZE_TERM_BYTES
from advisor.core.standing import used_columns
from advisor.history.levels import read_levels, read_points
from advisor.history.load_points import device_day
from advisor.history.reader import read_history
from advisor.history.size_terms import in_size_term, size_term_at, size_terms_of
from advisor.models import (
    Attachment,
    Incident,
    LearntSizeTerm,
    Resource,
    ResourceStatus,
    State,
)
from advisor.pipeline.groups import judge_alone
from advisor.pipeline.learn_size_terms import datastores_to_learn, learn_size_term
from advisor.pipeline.look_outside import look_outside
from advisor.pipeline.upkeep import tidy
from ingest.core.grid import grid_of
from tests.advisor.disk_samples import (
    CgroupPhase,
    DiskPhase,
    cgroup_lines,
    disk_lines,
)
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
TERM = 1_000_000.0
LARGE = 524_288
ENOUGH = 270
"""Windows of ten seconds to learn from."""


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def phase(io_bytes: int, depth: float, *, intervals: int = 1) -> DiskPhase:
    """The disk at this depth; 60 ms at 130 I/Os of 512 KiB."""
    latency_ms = 60 * (TERM + io_bytes) / (TERM + LARGE) * (1 + depth / 4) / (1 + 130 / 4)
    return DiskPhase(
        intervals=intervals,
        iops=1000 * depth / latency_ms,
        latency_ms=latency_ms,
        io_bytes=io_bytes,
    )


DEEP = phase(LARGE, 130, intervals=30)


def varied(count: int, sizes: tuple[int, ...] = (8_000, 65_536, LARGE)) -> list[DiskPhase]:
    """Windows of all depths and sizes, in no order."""
    chosen = random.Random(4)
    return [phase(chosen.choice(sizes), chosen.uniform(1, 60)) for _ in range(count)]


def play(cluster: Cluster, phases: list[DiskPhase], *, until: datetime) -> Resource:
    lun = stated_datastore(cluster.organisation, "lun", "h1")
    start = until - timedelta(seconds=10 * sum(one.intervals for one in phases))
    send(cluster.organisation, disk_lines("h1", "lun", phases, start=start), now=until)
    return lun


def learnt_and_loaded(cluster: Cluster) -> tuple[Resource, LearntSizeTerm]:
    """Windows of all sizes, the term learnt of them, and large I/Os in a deep queue before and
    after it holds.
    """
    after = [DEEP, phase(8_000, 1, intervals=690), DEEP]
    until = NOW + timedelta(seconds=10 * sum(one.intervals for one in after))
    lun = play(cluster, [*varied(ENOUGH), *after], until=until)
    row = learn_size_term(resource=lun, now=NOW)
    judge_alone(lun, now=until)
    return lun, row


def window_at(lun: Resource, at: datetime) -> StatePoint:
    (found,) = read_points(lun, since=at - timedelta(seconds=10), until=at)
    return found


def test_large_ios_in_a_deep_queue_are_congestion_once_the_size_term_is_learnt(
    cluster: Cluster,
) -> None:
    lun, row = learnt_and_loaded(cluster)

    assert row.since == NOW + 2 * HOUR
    assert row.size_term_bytes == pytest.approx(TERM, rel=0.15)
    before, after = (window_at(lun, at + HOUR / 15) for at in (NOW, row.since))
    assert before.value == pytest.approx(6.15, rel=0.01)
    assert before.state == State.CLEAR
    assert after.value == pytest.approx(39.7, rel=0.05)
    assert after.state == State.CONGESTED


def test_samples_that_come_late_are_judged_by_the_size_term_of_their_time(
    cluster: Cluster,
) -> None:
    lun, _ = learnt_and_loaded(cluster)
    points = read_points(lun, since=NOW - HOUR)
    first, end = points[0].at, points[-1].at

    # Another device did nothing, and says so late.
    idle = DiskPhase(intervals=len(points) - 1, iops=0, latency_ms=0)
    Attachment.objects.create(resource=lun, host=lun.attachments.get().host, device="other")
    send(cluster.organisation, disk_lines("h1", "other", [idle], start=first), now=end)
    judge_alone(lun, now=end)

    assert ResourceStatus.objects.get(resource=lun).rewound_at is not None
    assert [(one.at, one.value, one.state) for one in read_points(lun, since=NOW - HOUR)] == [
        (one.at, one.value, one.state) for one in points
    ]


def test_all_that_is_told_of_one_window_is_in_its_size_term(cluster: Cluster) -> None:
    lun = play(cluster, [phase(LARGE, 130, intervals=60)], until=NOW)
    row = cgroup_allocation(lun, "backup")
    rate = CgroupPhase(intervals=60, iops=DEEP.iops, waits=0.9, io_bytes=LARGE)
    lines = cgroup_lines("h1", "/backup", [rate], start=NOW - HOUR / 6)
    send(cluster.organisation, lines, now=NOW)
    learnt(lun, TERM, since=NOW - HOUR)
    judge_alone(lun, now=NOW)

    history = read_history(lun, grid_of(NOW - HOUR / 12, NOW, 10.0))
    levels = read_levels([lun], since=NOW - HOUR / 12, until=NOW)[lun.pk]
    used = used_columns(history.table(range(history.grid.count)))
    incident = Incident.objects.get(resource=lun)
    inputs = policy_inputs(lun, incident, policy=None, until=NOW, now=NOW, with_past=False)

    # (1000 + 524) / (1000 + 8) of the reference size each.
    cost = (TERM + LARGE) / (TERM + 8_000)
    assert levels.device_load / levels.load == pytest.approx(cost)
    assert used[:, 0] == pytest.approx(history.allocations.rate[:, 0] * cost)
    assert used.sum(axis=1) == pytest.approx(levels.device_load, rel=0.01)
    assert inputs.size_term_bytes == size_term_at(lun, NOW) == TERM
    assert [one.allocation for one in inputs.allocations] == [row.pk]


def learnt(lun: Resource, term: float | None, *, since: datetime, reason: str = "") -> None:
    LearntSizeTerm.objects.create(
        resource=lun, since=since, size_term_bytes=term, windows=300, reason=reason,
        looked_at=since,
    )  # fmt: skip


def test_levels_of_before_are_compared_in_the_size_term_of_today(cluster: Cluster) -> None:
    lun = play(cluster, [phase(LARGE, 130, intervals=60)], until=NOW)
    learnt(lun, TERM, since=NOW - HOUR / 12)
    judge_alone(lun, now=NOW)
    levels = read_levels([lun], since=NOW - HOUR, until=NOW)[lun.pk]

    terms = size_terms_of([lun], until=NOW)[lun.pk]
    found = in_size_term(levels, terms, size_term_bytes=TERM)

    assert np.ptp(levels.value) > 30
    assert found.value == pytest.approx(39.7, rel=0.01)
    assert found.device_load == pytest.approx(levels.load * (TERM + LARGE) / (TERM + 8_000))


def test_the_default_stays_where_sizes_do_not_vary(cluster: Cluster) -> None:
    lun = play(cluster, varied(ENOUGH, (60_000, 66_000)), until=NOW)

    row = learn_size_term(resource=lun, now=NOW)

    assert row.size_term_bytes is None
    assert row.reason == "sizes span only 1.1 times; 2 are needed"
    assert size_term_at(lun, NOW + HOUR) == SIZE_TERM_BYTES


def test_a_datastore_is_looked_at_once_a_day_and_the_learnt_term_stays(cluster: Cluster) -> None:
    lun = play(cluster, varied(ENOUGH), until=NOW)
    assert list(datastores_to_learn(now=NOW)) == [lun]
    first = learn_size_term(resource=lun, now=NOW)
    tomorrow = NOW + timedelta(days=1)
    assert list(datastores_to_learn(now=tomorrow - HOUR)) == []
    assert list(datastores_to_learn(now=tomorrow)) == [lun]

    # There is no I/O any more.
    second = learn_size_term(resource=lun, now=tomorrow + HOUR)

    assert (second.pk, second.size_term_bytes) == (first.pk, first.size_term_bytes)
    assert (second.windows, second.reason) == (first.windows, first.reason)
    assert second.looked_at == tomorrow + HOUR


def test_learning_twice_at_one_time_leaves_one_term(cluster: Cluster) -> None:
    lun = play(cluster, varied(ENOUGH), until=NOW)

    one, other = (learn_size_term(resource=lun, now=NOW) for _ in range(2))

    assert LearntSizeTerm.objects.count() == 1
    assert one.size_term_bytes == other.size_term_bytes


def test_upkeep_keeps_the_term_that_holds(cluster: Cluster) -> None:
    lun = stated_datastore(cluster.organisation, "lun", "h1")
    ages = [timedelta(days=days) for days in (900, 800, 1)]
    for age in ages:
        learnt(lun, TERM, since=NOW - age)

    tidy(now=NOW)

    assert [NOW - one.since for one in lun.learnt_size_terms.order_by("since")] == ages[1:]


@pytest.mark.parametrize(
    ("term", "words"),
    [
        (TERM, "Size term 1 MB since 2026-11-19 12:00 UTC, learnt from 300 windows."),
        (None, "Size term 51 kB, the default: sizes span only 1.2 times; 2 are needed."),
    ],
    ids=["learnt", "default"],
)
def test_page_and_commands_say_the_size_term_and_why(
    cluster: Cluster, client: Client, term: float | None, words: str
) -> None:
    lun = stated_datastore(cluster.organisation, "lun", "h1")
    reason = "sizes span only 1.2 times; 2 are needed"
    learnt(lun, term, since=NOW - timedelta(days=1), reason=reason)
    client.force_login(cluster.people.owner)
    output = StringIO()

    page = client.get(f"/resources/{lun.pk}/?part=devices", headers={"HX-Request": "true"})
    call_command("resource", "devices", "lun", organisation="acme", stdout=output)

    assert f"<p>{words} " in page.content.decode()
    assert words in output.getvalue()


def test_windows_that_are_learnt_from_have_the_size_of_their_ios(cluster: Cluster) -> None:
    lun = play(cluster, varied(60), until=NOW)

    sizes = {round(one.bytes_per_s / one.iops) for one in device_day(lun, until=NOW)}

    assert sizes <= {8_000, 65_536, LARGE}


def test_a_new_size_term_is_no_load_from_outside(cluster: Cluster) -> None:
    lun = play(cluster, [phase(LARGE, 60, intervals=240)], until=NOW)
    since = NOW - HOUR / 6
    learnt(lun, TERM, since=since)
    judge_alone(lun, now=NOW)
    incident = Incident.objects.filter(resource=lun).first() or Incident.objects.create(
        organisation=cluster.organisation, resource=lun, started_at=since
    )

    found = look_outside(incident=incident, now=NOW)

    # The same load has the same latency, whatever they were told as.
    assert found.state is ExternalState.NONE
