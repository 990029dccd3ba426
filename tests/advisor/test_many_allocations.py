"""Many allocations on one resource are read in as many queries as few, each as if alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Organisation
from advisor.decisions import inventory
from advisor.history.allocation_history import history_over
from advisor.history.reader import read_history
from advisor.models import Allocation, Resource, ResourceKind
from advisor.pipeline.detect import detect
from advisor.queries.allocation_rates import workload_tracks
from advisor.queries.chart_set import chart_set
from advisor.queries.grid import make_grid, mean_on
from ingest.core.grid import grid_of
from ingest.many_rates import cgroup_rates_of
from ingest.models import Host
from tests.advisor.scenario import NOW
from tests.advisor.stated_datastores import cgroup_allocation
from tests.ingest.random_samples import DEVICES, RandomSamples
from tests.web.fleet import Fleet, empty_fleet
from tests.web.many_allocations import shared_datastore, shared_uplink

UNTIL = datetime(2026, 11, 20, 0, 20, tzinfo=UTC)
SINCE = UNTIL - timedelta(minutes=50)
HOUR = timedelta(hours=1)
WORKLOADS = 5

MOST_QUERIES_OF_CHARTS = 26
"""Three for each of five attached disks, and eleven others."""
MOST_QUERIES_OF_A_LOOK = 36
MOST_QUERIES_OF_A_HISTORY = 12

pytestmark = pytest.mark.django_db

Shared = Callable[..., Resource]
few_and_many = pytest.mark.parametrize("allocations", [3, 30])
each_kind = pytest.mark.parametrize(
    "shared", [shared_datastore, shared_uplink], ids=["datastore", "uplink"]
)


@pytest.fixture
def fleet() -> Fleet:
    return empty_fleet(NOW)


def count_queries(ask: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as captured:
        ask()
    return len(captured)


@few_and_many
@each_kind
def test_charts_ask_a_bounded_number_of_queries(
    fleet: Fleet, shared: Shared, allocations: int
) -> None:
    resource = shared(fleet, "shared", allocations=allocations)

    asked = count_queries(
        lambda: chart_set(resource, since=NOW - HOUR, until=NOW, points=400, now=NOW)
    )

    assert asked <= MOST_QUERIES_OF_CHARTS


@few_and_many
@each_kind
def test_thinned_out_charts_ask_a_bounded_number_of_queries(
    fleet: Fleet, shared: Shared, allocations: int
) -> None:
    resource = shared(fleet, "shared", allocations=allocations)

    asked = count_queries(
        lambda: chart_set(resource, since=NOW - HOUR, until=NOW, points=20, now=NOW)
    )

    assert asked <= MOST_QUERIES_OF_CHARTS


@few_and_many
@each_kind
def test_look_asks_a_bounded_number_of_queries(
    fleet: Fleet, shared: Shared, allocations: int
) -> None:
    resource = shared(fleet, "shared", allocations=allocations)

    asked = count_queries(lambda: detect(resource=resource, now=NOW))

    assert asked <= MOST_QUERIES_OF_A_LOOK


@few_and_many
@each_kind
def test_history_asks_a_bounded_number_of_queries(
    fleet: Fleet, shared: Shared, allocations: int
) -> None:
    resource = shared(fleet, "shared", allocations=allocations)
    rows = list(resource.allocations.select_related("workload", "host", "resource"))
    grid = grid_of(NOW - HOUR, NOW, 120.0)

    asked = count_queries(
        lambda: history_over(read_history(resource, grid, allocations=rows), None)
    )

    assert asked <= MOST_QUERIES_OF_A_HISTORY


def random_datastore(slug: str, *, seed: int) -> Resource:
    """A datastore whose workloads' cgroups do I/O on two disks of the host, of which it is one."""
    organisation = Organisation.objects.create(slug=slug, name=slug)
    resource = inventory.add_resource(
        organisation=organisation,
        name="h1/sdb",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "sdb")],
        capacity=1000.0,
    )
    samples = RandomSamples(Host.objects.get(organisation=organisation), seed=seed, until=UNTIL)
    samples.block_device("sdb", DEVICES[1])
    samples.disk("sdb")
    for number in range(WORKLOADS):
        samples.cgroup(f"/vm{number}.scope")
        add_allocation(resource, number)
    return resource


def add_allocation(resource: Resource, number: int) -> Allocation:
    return cgroup_allocation(resource, f"vm{number}", path=f"/vm{number}.scope")


@pytest.mark.parametrize("step_s", [10, 60])
@pytest.mark.parametrize("seed", range(6))
def test_tracks_are_those_of_each_allocation_alone(seed: int, step_s: int) -> None:
    resource = random_datastore("acme", seed=seed)
    grid = make_grid(SINCE, UNTIL, step_s)

    tracks = workload_tracks(resource, grid, since=SINCE, until=UNTIL)

    host = Host.objects.get()
    expected = {}
    for number in range(WORKLOADS):
        key = (host.pk, f"/vm{number}.scope", DEVICES[1])
        points = 2 * len(grid.ends_s)
        rates = cgroup_rates_of([key], since=SINCE, until=UNTIL, max_points=points)[key]
        values = [one.read_iops + one.write_iops for one in rates]
        expected[f"vm{number}"] = tuple(mean_on(grid, rates, values))
    assert {track.workload: track.values for track in tracks} == expected


@pytest.mark.parametrize("seed", range(3))
def test_tenants_with_equal_names_see_their_own(seed: int) -> None:
    first = random_datastore("acme", seed=seed)
    grid = make_grid(SINCE, UNTIL, 10)
    windows = grid_of(SINCE, UNTIL, 10.0)
    alone = (
        workload_tracks(first, grid, since=SINCE, until=UNTIL),
        read_history(first, windows).observations(),
    )

    second = random_datastore("lakeside", seed=seed + 100)

    assert alone == (
        workload_tracks(first, grid, since=SINCE, until=UNTIL),
        read_history(first, windows).observations(),
    )
    assert workload_tracks(second, grid, since=SINCE, until=UNTIL) != alone[0]
