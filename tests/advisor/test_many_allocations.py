"""Many allocations on one resource are read in as many queries as few, each as if alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from accounts.models import Organisation
from advisor.decisions import inventory
from advisor.history.allocation_history import history_over
from advisor.history.history import numbers
from advisor.history.inventory import inventory_of
from advisor.history.measured import read_measured
from advisor.history.reader import read_history, read_workloads
from advisor.models import Allocation, Resource, ResourceKind
from advisor.pipeline.detect import detect
from advisor.queries.chart_set import chart_set
from advisor.queries.charts import OTHERS, ChartSpan
from advisor.queries.host_charts import host_chart_set
from advisor.queries.workload_charts import workload_chart_set
from ingest.core.figures import CGROUP_IO
from ingest.core.grid import Grid, grid_of
from ingest.grid_reader import Subject
from ingest.models import Host
from tests.advisor.scenario import NOW
from tests.advisor.stated_datastores import cgroup_allocation
from tests.ingest.random_samples import DEVICES, RandomSamples
from tests.web.fleet import Fleet, empty_fleet
from tests.web.many_allocations import shared_datastore, shared_uplink

UNTIL = datetime(2026, 11, 20, 0, 20, tzinfo=UTC)
SINCE = UNTIL - timedelta(minutes=50)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
WORKLOADS = 5

MOST_QUERIES_OF_CHARTS = 10
"""Two for disks and two for cgroups, and six others; there are five attached disks."""
MOST_QUERIES_OF_A_LOOK = 32
"""Of windows of one hour; four of them are about savepoints."""
MOST_QUERIES_OF_A_HISTORY = 11

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
    detect(resource=resource, now=NOW - 2 * MINUTE)

    asked = count_queries(lambda: detect(resource=resource, now=NOW - MINUTE))

    assert asked <= MOST_QUERIES_OF_A_LOOK


@few_and_many
@each_kind
def test_history_asks_a_bounded_number_of_queries(
    fleet: Fleet, shared: Shared, allocations: int
) -> None:
    resource = shared(fleet, "shared", allocations=allocations)
    rows = list(resource.allocations.select_related("workload", "host", "resource"))
    grid = grid_of(NOW - HOUR, NOW, 120.0)

    def ask() -> object:
        inventory = inventory_of([resource], rows).workloads(resource, rows)
        return history_over(read_workloads(resource, grid, inventory=inventory), None)

    asked = count_queries(ask)

    assert asked <= MOST_QUERIES_OF_A_HISTORY


MOST_QUERIES_OF_A_HOST = 13
"""Two for each of disks, cgroups and interfaces, and seven others."""


@few_and_many
@each_kind
def test_charts_of_a_host_ask_a_bounded_number_of_queries(
    fleet: Fleet, shared: Shared, allocations: int
) -> None:
    host = shared(fleet, "shared", allocations=allocations).attachments.earliest("pk").host
    span = ChartSpan(since=NOW - HOUR, until=NOW, points=20)

    asked = count_queries(lambda: host_chart_set(host, span))

    assert asked <= MOST_QUERIES_OF_A_HOST


MOST_QUERIES_OF_A_WORKLOAD = 10
"""Two for each of cgroups and interfaces, and six others."""


@few_and_many
def test_charts_of_a_workload_ask_a_bounded_number_of_queries(
    fleet: Fleet, allocations: int
) -> None:
    workload = None
    for shared in (shared_datastore, shared_uplink):
        resource = shared(fleet, shared.__name__, allocations=allocations)
        workload = workload or resource.allocations.earliest("pk").workload
        # All of them belong to one workload, on several hosts.
        resource.allocations.update(workload=workload, vdisk=F("adapter"))
    assert workload is not None
    span = ChartSpan(since=NOW - HOUR, until=NOW, points=20)

    asked = count_queries(lambda: workload_chart_set(workload, span))

    assert asked <= MOST_QUERIES_OF_A_WORKLOAD


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


def drawn_rates(resource: Resource, grid: Grid) -> dict[str, tuple[float | None, ...]]:
    """The rate of each workload as its chart shows it."""
    drawn = chart_set(
        resource,
        since=grid.since,
        until=grid.until,
        points=grid.count,
        step_s=round(grid.window_s),
        now=grid.until,
    )
    (chart,) = (chart for chart in drawn.charts if chart.key == "workloads")
    return {track.label: track.values for track in chart.tracks if track.label != OTHERS}


@pytest.mark.parametrize("step_s", [10, 60, 120])
@pytest.mark.parametrize("seed", range(4))
def test_drawn_rates_are_those_of_each_allocation_alone(seed: int, step_s: int) -> None:
    resource = random_datastore("acme", seed=seed)
    grid = grid_of(SINCE, UNTIL, step_s)

    drawn = drawn_rates(resource, grid)

    host = Host.objects.get()
    expected = {}
    for number in range(WORKLOADS):
        subject = Subject(host=host.pk, name=f"/vm{number}.scope", device=DEVICES[1])
        alone = read_measured({CGROUP_IO: [subject]}, grid).figures(CGROUP_IO, [subject])
        expected[f"vm{number}"] = tuple(numbers(alone.iops[:, 0]))
    assert drawn == expected


@pytest.mark.parametrize("seed", range(3))
def test_tenants_with_equal_names_see_their_own(seed: int) -> None:
    first = random_datastore("acme", seed=seed)
    grid = grid_of(SINCE, UNTIL, 10.0)
    alone = (drawn_rates(first, grid), read_history(first, grid).readings())

    second = random_datastore("lakeside", seed=seed + 100)

    assert alone == (drawn_rates(first, grid), read_history(first, grid).readings())
    assert drawn_rates(second, grid) != alone[0]
