"""A square per workload on the overview, in groups that the address names."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from advisor.decisions.teams import set_team, state_tags
from advisor.models import Incident, ResourceStatus, State, Workload
from advisor.queries import workload_map
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of
from tests.web.many_allocations import shared_datastore


def map_of(client: Client, group: str = "storage", team: str = "") -> Page:
    asked = {"part": "map", "group": group, "team": team}
    return page_of(client.get("/", asked, headers={"HX-Request": "true"}))


def titles(page: Page) -> set[str]:
    return {one["title"] for one in page.elements(".squares a")}


def headings(page: Page) -> list[str]:
    return [one.all_text() for one in page.elements("h3")]


def test_noisy_neighbour_and_slowed_are_told_apart_from_the_rest(
    viewer: Client, fleet: Fleet
) -> None:
    Incident.objects.filter(ended_at=None).update(
        aggressors=[{"workload": "batch-3", "part_ratio": 0.6}],
        victims=[{"workload": "db-orders"}],
    )

    found = titles(map_of(viewer))

    assert {"batch-3: noisy neighbour", "db-orders: slowed"} <= found
    assert len(found) == Workload.objects.filter(allocations__vanished_at=None).distinct().count()


def test_nobody_is_slowed_where_samples_stopped(viewer: Client, fleet: Fleet) -> None:
    Incident.objects.filter(ended_at=None).update(victims=[{"workload": "db-orders"}])
    ResourceStatus.objects.update(state=State.UNKNOWN, value=None)

    assert "db-orders: unknown" in titles(map_of(viewer))


def test_state_of_a_stale_look_is_unknown(viewer: Client, fleet: Fleet) -> None:
    ResourceStatus.objects.update(looked_at=fleet.now - timedelta(minutes=5))

    assert {one.rpartition(": ")[2] for one in titles(map_of(viewer))} == {"unknown"}


def test_address_names_what_is_grouped_by(viewer: Client, fleet: Fleet) -> None:
    state_tags(organisation=fleet.organisation, name="db-orders", tags=["label.app=shop"])
    set_team(organisation=fleet.organisation, name="shop", tags=["label.app=shop"], members=[])

    assert headings(map_of(viewer, "tag:label.app"))[0].startswith("shop 1")
    assert headings(map_of(viewer, "tag:label.app"))[-1].startswith("without label.app")
    assert headings(map_of(viewer, "team"))[0].startswith("shop 1")
    assert titles(map_of(viewer, team="shop")) < titles(map_of(viewer))
    assert headings(map_of(viewer, "tag:none")) == headings(map_of(viewer, "storage"))


@pytest.mark.parametrize(("group", "kind"), [("storage", "datastore"), ("network", "uplink")])
def test_groups_of_storage_and_network_are_the_resources_of_that_kind(
    viewer: Client, fleet: Fleet, group: str, kind: str
) -> None:
    used = fleet.organisation.resources.filter(kind=kind, allocations__isnull=False)

    named = {one.rpartition(" ")[0] for one in headings(map_of(viewer, group))}

    assert named - {f"no {group}"} == set(used.values_list("name", flat=True)) != set()


@pytest.mark.parametrize("group", ["storage", "network", "host", "tier", "team"])
def test_table_counts_each_square(viewer: Client, fleet: Fleet, group: str) -> None:
    page = map_of(viewer, group)

    counts = [int(row.elements_of("td")[-1].all_text()) for row in page.elements("tbody tr")]
    assert sum(counts) == len(page.elements(".squares a")) > 0


def test_tab_reaches_one_square_of_a_group(viewer: Client, fleet: Fleet) -> None:
    page = map_of(viewer)

    reached = [one for one in page.elements(".squares a") if not one.get("tabindex")]
    assert len(reached) == len(headings(page))


def test_too_many_squares_are_counted(
    viewer: Client, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = len(titles(map_of(viewer, "tier")))
    monkeypatch.setattr(workload_map, "MOST_SQUARES", 3)

    page = map_of(viewer, "tier")

    assert len(titles(page)) < every
    assert "more, no worse" in page.all_text()


def test_too_many_groups_are_put_together(
    viewer: Client, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload_map, "MOST_GROUPS", 2)

    assert len(headings(map_of(viewer, "host"))) == 2


def test_number_of_statements_does_not_grow_with_workloads(viewer: Client, fleet: Fleet) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            map_of(viewer)
        return len(captured)

    before = asked()
    shared_datastore(fleet, "big", allocations=40)

    assert asked() <= before


def test_without_scripts_the_map_is_one_link_away(viewer: Client, fleet: Fleet) -> None:
    page = page_of(viewer.get("/", {"map": "1", "group": "tier"}))

    assert page.elements(".squares a")
    assert "Reading all workloads" in page_of(viewer.get("/")).all_text()
