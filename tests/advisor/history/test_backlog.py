"""No window stays unjudged: after a pause and at the first look, portion by portion."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import Organisation
from advisor.history.levels import read_points
from advisor.history.whole_windows import first_samples, hour_of, portion_end
from advisor.models import Resource, ResourceStatus, State
from advisor.pipeline.detect import detect
from advisor.pipeline.groups import judge_together
from ingest.core.grid import grid_of
from tests.advisor.disk_samples import DiskPhase, disk_lines
from tests.advisor.judged_windows import EVER
from tests.advisor.samples import send
from tests.advisor.stated_datastores import stated_datastore

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@given(
    since=st.timedeltas(HOUR * 0, HOUR * 24).map(lambda after: NOON + after),
    windows=st.integers(1, 2000),
    window_s=st.sampled_from([1.0, 7.0, 10.0, 60.0, 300.0, 7200.0]),
    most=st.integers(1, 500),
)
def test_portions_have_every_window_once_in_order(
    since: datetime, windows: int, window_s: float, most: int
) -> None:
    end = grid_of(since, since + windows * timedelta(seconds=window_s), window_s).until
    at, found = since, []
    while at < end:
        until = portion_end(at, end, window_s=window_s, most=most)
        ends = grid_of(at, until, window_s).ends
        assert 1 <= len(ends) <= most
        # Checkpoints are made between portions, at the beginning of an hour.
        assert hour_of(ends[0]) == hour_of(ends[-1])
        found += ends
        at = until

    assert found == grid_of(since, end, window_s).ends


@pytest.fixture
def lun(db: None) -> Resource:
    acme = Organisation.objects.create(slug="acme", name="Acme")
    return stated_datastore(acme, "sda", "h1")


def busy(resource: Resource, *, since: datetime, hours: float, latency_ms: float = 5.0) -> None:
    """Its disk reads 100 times a second."""
    phase = DiskPhase(intervals=round(hours * 360), iops=100, latency_ms=latency_ms)
    lines = disk_lines("h1", "sda", [phase], start=since)
    send(resource.organisation, lines, now=since + hours * HOUR)


def test_every_window_of_a_pause_of_three_hours_is_judged(lun: Resource) -> None:
    busy(lun, since=NOON - HOUR, hours=4.5)
    detect(resource=lun, now=NOON)
    assert len(read_points(lun, since=NOON)) == 0

    status = detect(resource=lun, now=NOON + 3 * HOUR)

    # 3 h of 10 s.
    assert len(read_points(lun, since=NOON)) == 1080
    assert (status.state, status.judged_until) == (State.CLEAR, NOON + 3 * HOUR)


def test_first_look_goes_back_to_the_first_sample(lun: Resource) -> None:
    busy(lun, since=NOON - 2 * HOUR, hours=2)

    detect(resource=lun, now=NOON)

    judged = [point.at for point in read_points(lun, since=EVER)]
    # The first sample alone makes no rate.
    assert judged[0] == NOON - 2 * HOUR + timedelta(seconds=10)
    assert len(judged) == 720


def test_first_look_goes_back_no_further_than_samples_are_kept(lun: Resource) -> None:
    busy(lun, since=NOON - HOUR, hours=0.1)

    found = first_samples([lun], now=NOON + timedelta(days=40))

    assert found == {lun.pk: NOON + timedelta(days=10)}


def test_resource_that_never_sent_is_looked_at_from_now_on(lun: Resource) -> None:
    status = detect(resource=lun, now=NOON)

    assert (status.state, status.judged_until) == (State.UNKNOWN, NOON - timedelta(seconds=10))


def test_time_limit_leaves_the_rest_to_the_next_run(lun: Resource) -> None:
    busy(lun, since=NOON - 2 * HOUR, hours=2)

    judge_together([lun], now=NOON, limit_s=0.0)
    status = ResourceStatus.objects.get(resource=lun)

    # The windows up to the end of the first hour.
    assert status.judged_until == NOON - HOUR - timedelta(seconds=10)
    assert (status.state, status.looked_at) == (State.UNKNOWN, None)

    judge_together([lun], now=NOON, limit_s=0.0)
    judge_together([lun], now=NOON, limit_s=0.0)
    status = ResourceStatus.objects.get(resource=lun)
    assert (status.state, status.looked_at) == (State.CLEAR, NOON)
    assert len(read_points(lun, since=EVER)) == 720


def test_one_with_a_backlog_does_not_keep_others_back(lun: Resource) -> None:
    other = stated_datastore(lun.organisation, "sdb", "h2")
    busy(lun, since=NOON - 2 * HOUR, hours=2)
    line = disk_lines("h2", "sdb", [DiskPhase(intervals=6, iops=100, latency_ms=5)], start=NOON)
    send(lun.organisation, line, now=NOON)
    detect(resource=other, now=NOON + timedelta(seconds=50))

    now = NOON + timedelta(seconds=60)
    judge_together([lun, other], now=now, limit_s=0.0)

    looked_at = dict(ResourceStatus.objects.values_list("resource__name", "looked_at"))
    assert looked_at == {"sda": None, "sdb": now}
