"""Daily peaks are read once, and say when demand reaches what a pool or an uplink has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from advisor.decisions.pools import set_pool
from advisor.history.daily_peaks import DAY, Peaks, read_daily_peaks
from advisor.models import DemandOutlook, Resource
from advisor.pipeline import full_days
from advisor.pipeline.full_days import foresee, last_day, resources_to_foresee
from advisor.tasks import foresee_full_day
from config.database_roles import DatabaseRole
from tests.advisor import samples
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, Cluster, make_cluster
from tests.config.roles import acting_as, make_roles

pytestmark = pytest.mark.django_db

MORNING = datetime(2026, 11, 20, 6, 0, tzinfo=UTC)
NEWEST = date(2026, 11, 19)
HISTORY_DAYS = 30


@pytest.fixture
def cluster() -> Cluster:
    """The pool `web` of web-1 and web-2 may have 60 of the 94 Mbit/s."""
    found = make_cluster()
    found.allocations[0].reservation = 0.0
    found.allocations[0].save()
    set_pool(resource=found.uplink, name="web", limit=60 * MBIT, members=["web-1", "web-2"])
    return found


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[date, int, tuple[str, ...]]]:
    """What was asked for, in order; the uplink carries 50, and each member of a pool gets 20."""
    asked: list[tuple[date, int, tuple[str, ...]]] = []

    def peaks(
        resource: Resource, *, first: date, days: int, pools: Mapping[int, Sequence[int]]
    ) -> tuple[Peaks, dict[int, Peaks]]:
        names = resource.pools.filter(pk__in=pools).values_list("name", flat=True)
        asked.append((first, days, tuple(names)))
        each: dict[int, Peaks] = {
            key: [len(members) * 20 * MBIT] * days for key, members in pools.items()
        }
        return [50 * MBIT] * days, each

    began = MORNING - HISTORY_DAYS * DAY
    monkeypatch.setattr(full_days, "read_daily_peaks", peaks)
    monkeypatch.setattr(
        full_days, "first_samples", lambda rows, now: dict.fromkeys([rows[0].pk], began)
    )
    return asked


def run(cluster: Cluster, *, now: datetime = MORNING, limit_s: float = 60.0) -> bool:
    return foresee(resource=cluster.uplink, now=now, limit_s=limit_s)


def outlook(name: str | None) -> DemandOutlook:
    return DemandOutlook.objects.get(**({"pool__name": name} if name else {"pool": None}))


def test_day_counts_once_its_hours_are_sealed() -> None:
    midnight = datetime(2026, 11, 20, tzinfo=UTC)

    days = [last_day(midnight + timedelta(minutes=minutes)) for minutes in (79, 81)]

    assert days == [date(2026, 11, 18), date(2026, 11, 19)]


def test_each_day_is_read_once(cluster: Cluster, read: list[Any]) -> None:
    run(cluster)
    run(cluster)
    run(cluster, now=MORNING + DAY)

    # The first day is not whole: history begins in its morning.
    assert read == [
        (date(2026, 10, 21), 30, ("web",)), (date(2026, 11, 20), 1, ("web",)),
    ]  # fmt: skip
    assert len(outlook("web").peaks) == 31


def test_what_no_peak_comes_near_is_not_within_the_days_foretold(
    cluster: Cluster, read: list[Any]
) -> None:
    run(cluster)

    found = outlook(None)
    assert (found.full_rate, found.gap) == (94 * MBIT, "")
    assert (found.soonest_day, found.median_day, found.latest_day) == (None, None, None)
    assert found.until_day == NEWEST + 90 * DAY
    assert [one["days"] for one in found.ahead] == [7, 14, 30]
    assert found.ahead[0]["median"] == pytest.approx(50 * MBIT)


def test_pool_that_is_full_each_day_is_full_tomorrow(cluster: Cluster, read: list[Any]) -> None:
    set_pool(resource=cluster.uplink, name="web", limit=40 * MBIT)

    run(cluster)

    found = outlook("web")
    tomorrow = NEWEST + DAY
    assert (found.soonest_day, found.latest_day) == (tomorrow, tomorrow)
    assert found.reached_day == NEWEST


def test_pool_with_other_members_is_read_anew_and_nothing_else(
    cluster: Cluster, read: list[Any]
) -> None:
    run(cluster)
    set_pool(resource=cluster.uplink, name="web", limit=60 * MBIT, members=["web-1"])

    run(cluster)

    assert read[1] == (date(2026, 10, 21), 30, ("web",))
    assert outlook("web").peaks == [20 * MBIT] * 30
    assert outlook(None).peaks == [50 * MBIT] * 30


def test_other_terms_are_foretold_from_what_is_known(cluster: Cluster, read: list[Any]) -> None:
    run(cluster)
    before = resources_to_foresee(now=MORNING)
    set_pool(resource=cluster.uplink, name="web", limit=90 * MBIT)
    due = resources_to_foresee(now=MORNING)

    run(cluster)

    assert (before, due) == ([], [(cluster.organisation.pk, cluster.uplink.pk)])
    assert outlook("web").full_rate == 90 * MBIT
    assert len(read) == 1


@pytest.mark.parametrize(
    ("name", "terms", "gap"),
    [
        ("web", {}, "no limit or reservation is set"),
        ("none", {"limit": 10 * MBIT, "members": []}, "it has no members"),
    ],
)
def test_pool_without_an_end_has_a_reason(
    cluster: Cluster, read: list[Any], name: str, terms: dict[str, Any], gap: str
) -> None:
    set_pool(resource=cluster.uplink, name=name, **terms)

    run(cluster)

    assert outlook(name).gap == gap
    assert outlook(name).until_day is None


def test_few_days_are_not_enough(
    cluster: Cluster, read: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    began = MORNING - 10 * DAY
    monkeypatch.setattr(full_days, "first_samples", lambda rows, now: {rows[0].pk: began})

    run(cluster)

    assert outlook(None).gap == "not enough history: 10 of 28 days are known"


def test_days_that_nobody_read_in_time_are_unknown(
    cluster: Cluster, read: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(cluster)
    kept_since = MORNING + 5 * DAY
    monkeypatch.setattr(full_days, "first_samples", lambda rows, now: {rows[0].pk: kept_since})

    run(cluster, now=MORNING + 7 * DAY)

    # Those of the 20th to the 24th are gone; of the 25th history begins in the morning.
    assert outlook("web").peaks == [40 * MBIT] * 30 + [None] * 5 + [40 * MBIT] * 2
    assert outlook("web").last_day == NEWEST + 7 * DAY


def test_host_that_never_sent_has_nothing_to_read(
    cluster: Cluster, read: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_days, "first_samples", lambda rows, now: {})

    run(cluster)

    assert outlook(None).gap == "not enough history: 0 of 28 days are known"
    assert (read, resources_to_foresee(now=MORNING)) == ([], [])


def test_time_that_is_up_leaves_the_rest_for_the_next_turn(
    cluster: Cluster, read: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_days, "MOST_DAYS", 20)

    first = run(cluster, limit_s=-1.0)
    due = resources_to_foresee(now=MORNING)
    second = run(cluster, limit_s=-1.0)

    assert (first, second) == (False, True)
    assert due == [(cluster.organisation.pk, cluster.uplink.pk)]
    assert [days for _, days, _ in read] == [20, 10]
    assert len(outlook("web").peaks) == 30


def test_worker_has_the_rights_for_it(cluster: Cluster, read: list[Any]) -> None:
    make_roles()
    with acting_as(DatabaseRole.WORKER):
        resources_to_foresee(now=MORNING)
        run(cluster)

    assert outlook("web").last_day == NEWEST


def test_task_foretells_one_resource_and_leaves_one_that_is_gone(
    cluster: Cluster, read: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: MORNING)

    foresee_full_day(cluster.uplink.pk)
    foresee_full_day(0)

    assert outlook(None).last_day == NEWEST


def test_peak_of_a_day_is_its_busiest_quarter_of_an_hour(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample a minute; web-1 and web-2 are busy at different times, so no sum has both peaks."""
    monkeypatch.setattr(samples, "INTERVAL_S", 60)
    calm, hour = {"p1": 2 * MBIT, "p2": 3 * MBIT, "p3": 1 * MBIT}, 60
    phases = [
        Phase(intervals=hours * hour, sent={"up0": sum(rates.values())}, received=rates)
        for hours, rates in (
            (10, calm), (1, calm | {"p1": 30 * MBIT}), (3, calm), (1, calm | {"p2": 20 * MBIT}),
            (9, calm), (12, calm),
        )
    ]  # fmt: skip
    start = datetime(2026, 11, 18, tzinfo=UTC)
    send(cluster.organisation, net_lines("h1", phases, start=start), now=MORNING)
    (pool,) = cluster.uplink.pools.all()
    members = [one.pk for one in cluster.allocations[:2]]

    whole, in_pools = read_daily_peaks(
        cluster.uplink, first=start.date(), days=2, pools={pool.pk: members}
    )

    # 30 + 3 + 1 on the uplink, 30 + 3 in the pool; of the second day only a half was measured.
    assert whole == [pytest.approx(34 * MBIT, rel=1e-3), None]
    assert in_pools[pool.pk] == [pytest.approx(33 * MBIT, rel=1e-3), None]
