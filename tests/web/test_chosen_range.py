"""The time that somebody chose on the start page: in its address, its strips and its links."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.test import Client

from advisor.models import Incident, Workload
from tests.web.fleet import Fleet
from tests.web.html import Element, page_of

pytestmark = pytest.mark.django_db
PART = {"HX-Request": "true"}


def text(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}Z"


def of_range(since: datetime, until: datetime) -> str:
    return f"from={text(since)}&to={text(until)}"


@pytest.fixture
def hour(fleet: Fleet) -> str:
    """The last hour, in which the incident began."""
    return of_range(fleet.now - timedelta(hours=1), fleet.now)


def section(client: Client, address: str) -> Element | None:
    found = [
        one
        for one in page_of(client.get(address)).elements("div")
        if one.get("id") == "overview-chosen"
    ]
    return found[0] if found else None


def test_usual_page_has_no_chosen_time(viewer: Client) -> None:
    page = page_of(viewer.get("/"))

    assert section(viewer, "/") is None
    assert not [one for one in page.elements("rect") if "chosen" in one.classes]
    (usual,) = [one for one in page.elements("a") if one.all_text() == "24h"]
    assert usual.get("aria-current") == "true"


def test_chosen_time_tells_its_incidents(viewer: Client, fleet: Fleet, hour: str) -> None:
    incident = Incident.objects.get()

    shown = section(viewer, f"/?{hour}")

    assert shown is not None
    assert "1 h, 1 incident;" in shown.all_text()
    assert f"/incidents/{incident.pk}/" in [one["href"] for one in shown.elements_of("a")]
    assert incident.aggressors[0]["workload"] in shown.all_text()


def test_time_without_incidents_says_so(viewer: Client, fleet: Fleet) -> None:
    long_ago = fleet.now - timedelta(days=2)

    shown = section(viewer, f"/?{of_range(long_ago, long_ago + timedelta(hours=1))}")

    assert shown is not None
    assert "No incident touched this time." in shown.all_text()


@pytest.mark.parametrize(
    ("begins_min", "ends_min", "is_told"),
    [(-30, -20, True), (-70, -60, False), (-90, -50, True), (0, 10, False)],
    ids=["around", "before", "ends in it", "after"],
)
def test_incident_is_of_each_time_that_it_touched(
    viewer: Client, fleet: Fleet, begins_min: int, ends_min: int, is_told: bool
) -> None:
    """The time is the hour from an hour ago on; minutes are beside now."""
    since, until = fleet.now - timedelta(hours=1), fleet.now
    Incident.objects.update(
        started_at=fleet.now + timedelta(minutes=begins_min),
        ended_at=fleet.now + timedelta(minutes=ends_min),
    )

    shown = section(viewer, f"/?{of_range(since, until)}")

    assert shown is not None
    assert ("No incident touched" not in shown.all_text()) == is_told


def test_strips_show_where_it_is(viewer: Client, fleet: Fleet, hour: str) -> None:
    marked = [
        one for one in page_of(viewer.get(f"/?{hour}")).elements("rect") if "chosen" in one.classes
    ]

    # The day has 288 columns of five minutes and ends now, so the last hour is the last 12.
    assert {(one["x"], one["width"]) for one in marked} == {("276.0", "12.0")}
    assert len(marked) == len(page_of(viewer.get("/")).elements("svg")) - 1


def test_part_of_it_before_the_day_is_not_drawn(viewer: Client, fleet: Fleet) -> None:
    since = fleet.now - timedelta(hours=25)

    page = page_of(viewer.get(f"/?{of_range(since, fleet.now - timedelta(hours=23))}"))

    marked = {(one["x"], one["width"]) for one in page.elements("rect") if "chosen" in one.classes}
    assert marked == {("0.0", "12.0")}


def test_what_is_opened_from_there_shows_that_time(
    viewer: Client, fleet: Fleet, hour: str
) -> None:
    query = hour.replace(":", "%3A")
    page = page_of(viewer.get(f"/?{hour}&map=1&movers=1"))

    squares = [one["href"] for one in page.elements("a") if "square" in one.classes]
    names = [one["href"] for one in page.elements("a") if "heat-name" in one.classes]
    assert squares
    assert names
    assert {one.partition("?")[2] for one in [*squares, *names]} == {query}


def test_parts_are_asked_for_with_it(viewer: Client, fleet: Fleet, hour: str) -> None:
    page = page_of(viewer.get(f"/?{hour}"))
    asked = [one["hx-get"] for one in page.elements("div") if "hx-get" in one.attributes]

    own = [one for one in asked if one.startswith("/?")]
    assert len(own) > 5
    assert all(hour.replace(":", "%3A") in one for one in own)
    part = viewer.get(f"/?part=heat&{hour}", headers=PART)
    assert 'class="chosen"' in part.content.decode()


def test_named_time_moves_on(viewer: Client, fleet: Fleet) -> None:
    page = page_of(viewer.get("/?range=1h"))

    (present,) = [one for one in page.elements("a") if one.all_text() == "1h"]
    assert present.get("aria-current") == "true"
    heads = [one["href"] for one in page.elements("a") if "heat-name" in one.classes]
    assert {one.partition("?")[2] for one in heads} == {"range=1h"}


def test_team_and_grouping_stay_when_a_time_is_chosen(viewer: Client, hour: str) -> None:
    page = page_of(viewer.get(f"/?group=tier&{hour}"))

    (usual,) = [one for one in page.elements("a") if one.all_text() == "24h"]
    assert usual["href"] == "?group=tier"
    (six,) = [one for one in page.elements("a") if one.all_text() == "6h"]
    assert six["href"] == "?group=tier&range=6h"


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("from=yesterday&to=now", "is not a time"),
        ("from=2026-11-20T12:00:00Z&to=2026-11-20T11:00:00Z", "ends before it begins"),
        ("from=2020-01-01T00:00:00Z&to=2026-11-20T11:00:00Z", "longer than"),
        ("range=forever", "There is no range"),
    ],
)
def test_time_that_is_none_is_told_and_the_day_is_shown(
    viewer: Client, query: str, why: str
) -> None:
    page = viewer.get(f"/?{query}").content.decode()

    assert why in page
    assert 'id="overview-chosen"' not in page
    assert viewer.get(f"/?part=chosen&{query}", headers=PART).status_code == 200


def test_drawer_has_a_workloads_facts(viewer: Client, fleet: Fleet) -> None:
    row = Workload.objects.get(name="db-orders")

    answer = viewer.get(f"/workloads/{row.pk}/?part=drawer", headers=PART)

    said = page_of(answer)
    assert [one.all_text() for one in said.elements("h2")] == ["db-orders"]
    assert "nfs-07" in answer.content.decode()
    assert f"/incidents/{Incident.objects.get().pk}/" in answer.content.decode()
    assert said.elements("main") == []


def test_drawer_of_another_organisation_is_not_there(outsider: Client, fleet: Fleet) -> None:
    row = Workload.objects.get(name="db-orders")

    assert outsider.get(f"/workloads/{row.pk}/?part=drawer", headers=PART).status_code == 404
