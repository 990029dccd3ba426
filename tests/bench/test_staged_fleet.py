"""What the benchmark measures on a fleet is there: it is judged, and its advice is computed."""

from __future__ import annotations

import pytest
from django.core.cache import cache

from advisor.history.levels import newest_ends
from advisor.models import Incident, ResourceStatus, State
from bench.fleet import product
from bench.fleet.advice import advice_rows
from bench.fleet.fill import fill
from bench.fleet.shape import BRIEF, END, FleetShape
from bench.fleet.stage import MINUTE, WINDOW, Stage, find_stage, judge_all
from bench.pages import addresses


@pytest.fixture
def stage(empty: None) -> Stage:
    """Ten workloads on a datastore and an uplink, with 20 minutes of history, not judged."""
    shape = FleetShape(workloads=10)
    fill(shape, BRIEF)
    return find_stage(shape, BRIEF, lambda _: None)


def test_fleet_whose_lists_are_measured_has_states_and_incidents(stage: Stage) -> None:
    judge_all(stage)

    states = ResourceStatus.objects.values_list("state", flat=True)
    assert list(states) == [State.CONGESTED, State.CONGESTED]
    assert set(newest_ends([one.pk for one in stage.resources]).values()) == {END}
    assert Incident.objects.count() == 2


def test_page_without_a_row_is_named(stage: Stage) -> None:
    pages = addresses(stage)

    missing = {name for name, page in pages.items() if page is None}
    assert missing == {
        "incident", "incident's cause", "incident's timeline", "incident's layers",
        "recommendation",
    }  # fmt: skip
    assert len(pages) == 27


def test_advice_is_measured_with_the_week_in_the_cache_and_without(stage: Stage) -> None:
    judge_all(stage)
    product.look_outside(stage.stores, END)
    assert not product.advise_policy(stage.stores[0], END)

    cache.set("anything", "kept")

    rows = {row.what: row for row in advice_rows(stage)}

    what = "advice on a datastore of 10 workloads"
    for way in (what, f"{what} with an empty cache", f"{what}, new"):
        queries = rows[f"{way}, queries"].measured
        assert queries is not None
        assert queries > 0
        # There is no day of rows to compare with.
        ratio = rows[f"{way}, CPU beside a scan of a day of its rows"]
        assert (ratio.measured, ratio.holds) == (None, False)
    assert len(rows) == 6
    assert cache.get("anything") is None


@pytest.mark.parametrize("workloads", [10, 200])
def test_congested_window_takes_fewer_than_30_statements_however_many_workloads(
    empty: None, workloads: int
) -> None:
    shape = FleetShape(workloads=workloads)
    fill(shape, BRIEF)
    stage = find_stage(shape, BRIEF, lambda _: None)
    product.judge_from(stage.resources, BRIEF.calm_until)
    stage.judge(stage.resources, END - MINUTE * WINDOW)

    costs = [stage.judge(stage.resources, END - back * WINDOW) for back in reversed(range(MINUTE))]

    assert max(one.queries for one in costs) < 30
    assert Incident.objects.count() == 2 * shape.groups
