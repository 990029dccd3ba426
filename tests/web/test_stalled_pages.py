"""A stalled device is the loudest thing on every page."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from advisor.decisions.maintenance_windows import add_maintenance_window
from advisor.models import Incident, Resource, ResourceStatus, State
from tests.web.fleet import Fleet
from tests.web.html import page_of

REASON = "I/O is in flight and none completes: 47 on kvm-02"


@pytest.fixture
def stalled(fleet: Fleet) -> Resource:
    """san-02 hangs for two minutes, while nfs-07 is congested."""
    san = fleet.resources["san-02"]
    since = fleet.now - timedelta(minutes=2)
    ResourceStatus.objects.filter(resource=san).update(
        state=State.STALLED, state_since=since, value=None, reason=REASON
    )
    Incident.objects.create(
        organisation=fleet.organisation,
        resource=san,
        started_at=since,
        windows=12,
        stalled_windows=12,
    )
    return san


def test_overview_puts_the_stall_before_congestion(viewer: Client, stalled: Resource) -> None:
    page = page_of(viewer.get("/"))

    assert page.text("h1") == "san-02 is stalled"
    assert page.text(".sentences .text") == f"san-02 is stalled: {REASON}, for 2 min."
    # Beside its sentence, and beside its row of the last day.
    assert len(page.elements(".mark-stalled")) == 2


def test_planned_work_does_not_mute_it(viewer: Client, fleet: Fleet, stalled: Resource) -> None:
    add_maintenance_window(
        organisation=fleet.organisation,
        name="backup",
        starts_at=fleet.now - timedelta(hours=2),
        length=timedelta(hours=4),
    )

    assert page_of(viewer.get("/")).text("h1") == "san-02 is stalled"


def test_resource_page_says_since_when_and_why(viewer: Client, stalled: Resource) -> None:
    page = page_of(viewer.get(f"/resources/{stalled.pk}/"))

    assert page.text("h1") == "san-02 is stalled"
    assert page.text(".lead").startswith(f"Stalled for 2 min: {REASON}.")


def test_incident_pages_show_that_there_is_no_peak(viewer: Client, stalled: Resource) -> None:
    incident = Incident.objects.get(resource=stalled)

    listed = page_of(viewer.get("/incidents/")).all_text()
    shown = page_of(viewer.get(f"/incidents/{incident.pk}/")).text(".lead")

    assert "no value: it stalled: no I/O completed" in listed
    assert "no I/O completed." in shown


def test_incident_of_a_stall_that_ended_tells_how_long(viewer: Client, stalled: Resource) -> None:
    incident = Incident.objects.get(resource=stalled)
    incident.ended_at = incident.started_at + timedelta(seconds=54)
    incident.save()

    said = page_of(viewer.get(f"/incidents/{incident.pk}/")).text("h1")

    assert said == "san-02 stalled for 54 s: I/O was in flight and none completed."
