"""The overview answers in its first line, and proves it below."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client

from advisor.decisions.decide import approve
from advisor.models import (
    Incident,
    Recommendation,
    RecommendationState,
    ResourceKind,
    ResourceStatus,
    State,
)
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of


def overview(client: Client) -> Page:
    return page_of(client.get("/"))


def test_congested_resource_is_the_heading(viewer: Client) -> None:
    assert overview(viewer).text("h1") == "nfs-07 is congested"


def test_two_congested_resources_are_counted(viewer: Client, fleet: Fleet) -> None:
    Incident.objects.create(
        organisation=fleet.organisation,
        resource=fleet.resources["san-02"],
        started_at=fleet.now - timedelta(minutes=5),
        peak_value=25.0,
        threshold=20.0,
    )

    assert overview(viewer).text("h1") == "2 resources are congested"


def test_ten_open_incidents_are_told_and_the_rest_counted(viewer: Client, fleet: Fleet) -> None:
    for number in range(12):
        resource = fleet.add_resource(
            f"san-1{number}",
            ResourceKind.DATASTORE,
            capacity=100.0,
            threshold=20.0,
            attachments=(),
        )
        Incident.objects.create(
            organisation=fleet.organisation,
            resource=resource,
            started_at=fleet.now - timedelta(minutes=number + 1),
            peak_value=25.0,
            threshold=20.0,
        )
        ResourceStatus.objects.create(
            resource=resource, state=State.CONGESTED, looked_at=fleet.now, value=25.0
        )

    page = overview(viewer)

    # 12 and the one of the story; what went on longest stands first.
    assert page.text("h1") == "13 resources are congested"
    told = page.find("ul", **{"aria-label": "Open incidents"})
    assert len(told.elements_of("li")) == 10 + 1
    assert "and 3 more open incidents" in told.all_text()
    assert page.links()["and 3 more open incidents"] == "/incidents/"


def test_sentence_names_value_threshold_aggressor_and_victims(
    viewer: Client, fleet: Fleet
) -> None:
    incident = Incident.objects.get(ended_at=None)
    incident.started_at = fleet.now - timedelta(minutes=42)
    incident.aggressors = [{"workload": "batch-3", "part_ratio": 0.612}]
    incident.victims = [{"workload": "db-orders"}, {"workload": "web-shop"}]
    incident.save()
    ResourceStatus.objects.filter(resource=incident.resource).update(value=38.04, threshold=15.0)

    sentence = overview(viewer).text(".sentences .text")

    assert sentence == (
        "nfs-07 has been congested for 42 min: 38.0 ms against 15.0 ms; batch-3 uses 61 %; "
        "2 workloads slowed: db-orders and web-shop."
    )


def test_sentence_leads_to_the_open_recommendation(viewer: Client, fleet: Fleet) -> None:
    advice = Recommendation.objects.get(state="proposed")

    links = overview(viewer).links()

    assert links["Review the recommendation for nfs-07"] == f"/recommendations/{advice.pk}/"


def test_missing_recommendation_says_what_is_missing(viewer: Client, fleet: Fleet) -> None:
    Recommendation.objects.all().delete()
    ResourceStatus.objects.filter(resource=fleet.resources["nfs-07"]).update(
        advice_gap="12 samples, 30 are needed"
    )

    assert "No recommendation: 12 samples, 30 are needed" in overview(viewer).all_text()


def test_resource_below_its_threshold_but_not_far_is_near(viewer: Client, fleet: Fleet) -> None:
    Incident.objects.all().delete()
    ResourceStatus.objects.all().update(state="clear", value=1.0, threshold=10.0)
    near = ResourceStatus.objects.filter(resource=fleet.resources["san-02"])

    near.update(value=7.9)
    below = overview(viewer).text("h1")
    near.update(value=8.0)

    assert below == "Nothing is congested"
    assert overview(viewer).text("h1") == "Nothing is congested; 1 near its threshold"


def test_incident_whose_samples_stopped_is_not_told_as_going_on(
    viewer: Client, fleet: Fleet
) -> None:
    ResourceStatus.objects.filter(resource=fleet.resources["nfs-07"]).update(
        state=State.UNKNOWN, value=None, reason="no samples for 40 min"
    )

    page = overview(viewer)

    assert page.text("h1") == "1 resource was congested when last seen"
    assert re.search(
        r"nfs-07 was congested when last seen, .*; no samples for 40 min", page.all_text()
    )


def test_conclusion_that_nobody_renewed_is_unknown_with_the_reason(
    viewer: Client, fleet: Fleet
) -> None:
    Incident.objects.all().delete()
    ResourceStatus.objects.all().update(looked_at=fleet.now - timedelta(minutes=3))

    page = overview(viewer)

    assert page.text("h1") == "The state of every resource is unknown"
    assert "not evaluated for 3 min (background worker is behind)" in page.all_text()


def test_hosts_that_need_care_say_why(viewer: Client) -> None:
    text = overview(viewer).all_text()

    assert "kvm-01 The agent does not report" in text
    assert "kvm-05 No samples for 25 min; check that Telegraf runs there" in text
    assert "kvm-02 " not in text.split("Hosts needing attention")[1]


def test_policy_that_is_not_in_force_is_named(fleet: Fleet, viewer: Client) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    before = overview(viewer).all_text()
    approve(recommendation=advice, user=fleet.people.owner, now=fleet.now)

    after = overview(viewer).all_text()

    assert "Policies not in force" not in before
    assert "nfs-07 Version 1 is approved, not published: kvm-01 gets it in a later stage" in after


def test_many_policies_are_looked_at_once_the_page_is_shown(
    fleet: Fleet, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    approve(recommendation=advice, user=fleet.people.owner, now=fleet.now)
    said = "nfs-07 Version 1 is approved, not published"
    silent = "kvm-01 The agent does not report"

    counted = f"resources on {len(fleet.hosts)} hosts, newest sample"
    assert counted in overview(viewer).all_text()
    monkeypatch.setattr("web.views.overview.FEW_ALLOCATIONS", 0)
    page = overview(viewer)
    part = page_of(viewer.get("/?part=lists", headers={"HX-Request": "true"}))
    without_scripts = page_of(viewer.get("/?policies=1"))

    assert said not in page.all_text()
    assert silent not in page.all_text()
    assert counted in page.all_text()
    assert "Looking at hosts, and at what 2 policies do" in page.all_text()
    assert "every policy is in force" not in page.all_text()
    assert page.find("div", id="overview-lists")["hx-trigger"] == "load, every 30s"
    for shown in (part, without_scripts):
        assert said in shown.all_text()
        assert silent in shown.all_text()
        assert "Looking at" not in shown.all_text()


def test_new_organisation_is_told_the_one_step(nothing_yet: Fleet) -> None:
    page = overview(client_of(nothing_yet.people.viewer))

    assert page.text("h1") == "No host has sent a sample yet"
    assert page.text(".button-primary") == "Connect a host"


def test_first_host_without_devices_says_what_will_appear(nothing_yet: Fleet) -> None:
    nothing_yet.add_host("h1", last_sample_at=nothing_yet.now)

    page = overview(client_of(nothing_yet.people.viewer))

    assert page.text("h1") == "No datastore or uplink is known yet"
    assert "appears here with the first samples" in page.all_text()


def test_update_is_the_part_without_the_frame(viewer: Client) -> None:
    whole = viewer.get("/").content.decode()
    part = viewer.get("/", headers={"HX-Request": "true"}).content.decode()

    assert "<html" not in part
    assert re.sub(r"\s+", " ", part).strip() in re.sub(r"\s+", " ", whole)


@pytest.mark.parametrize("kind", ["heat strip", "table"])
def test_last_day_is_shown_as_a_drawing_and_as_a_table(viewer: Client, kind: str) -> None:
    page = overview(viewer)

    if kind == "heat strip":
        strip = page.find("svg", data_name="nfs-07")
        values = strip["data-values"].split(",")
        assert len(values) == 288
        assert values[-1].startswith("a")
    else:
        part = viewer.get("/", {"part": "hours"}, headers={"HX-Request": "true"})
        row = page_of(part).row("table", "nfs-07")
        assert row[-1].startswith("▲congested")
        assert row[0].startswith("–no value")
