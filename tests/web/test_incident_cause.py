"""The cause of an incident with its numbers, and muting what was planned."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import AuditEntry
from advisor.decisions.maintenance_windows import add_maintenance_window
from advisor.models import Incident, MaintenanceWindow, Resource
from advisor.pipeline.find_cause import find_causes
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of


@pytest.fixture
def incident(fleet: Fleet) -> Incident:
    return Incident.objects.get(ended_at=None)


def keep_promises(incident: Incident) -> None:
    """No victim of the incident has a reservation, so that it may be muted."""
    victims = [item | {"reservation": 0.0} for item in incident.victims]
    Incident.objects.filter(pk=incident.pk).update(victims=victims)


def plan(fleet: Fleet, incident: Incident) -> None:
    keep_promises(incident)
    add_maintenance_window(
        organisation=fleet.organisation,
        name="nightly backup",
        starts_at=incident.started_at,
        length=timedelta(hours=2),
    )


FORM = {"name": "month end", "start": "2026-11-20T11:00", "minutes": "180", "recurrence": "once"}


def test_suspects_are_shown_with_score_grounds_and_how_sure(
    viewer: Client, incident: Incident
) -> None:
    page = page_of(viewer.get(f"/incidents/{incident.pk}/cause/"))

    cells = page.row("table", "batch-3")
    # Score, share, fair share, correlation, while active, aggressor
    assert float(cells[0]) > 0.3
    assert cells[-1].strip() == "yes"
    batch = incident.resource.allocations.get(workload__name="batch-3").workload
    assert page.find("a", href=f"/workloads/{batch.pk}/").all_text() == "batch-3"
    assert page.row("table", "mail-1")[-1].strip() == "no"
    assert "Confidence: 50 %" in page.all_text()
    assert "it went on or off only once" in page.all_text()
    assert "External load: unknown" in page.all_text()


def test_incident_page_asks_for_the_cause_by_itself(viewer: Client, incident: Incident) -> None:
    page = page_of(viewer.get(f"/incidents/{incident.pk}/"))
    part = viewer.get(f"/incidents/{incident.pk}/cause/", headers={"HX-Request": "true"})

    assert page.elements("#cause")[0]["hx-get"] == f"/incidents/{incident.pk}/cause/"
    assert b"<html" not in part.content
    assert b"batch-3" in part.content


def test_cause_is_not_shown_to_an_outsider(outsider: Client, incident: Incident) -> None:
    assert outsider.get(f"/incidents/{incident.pk}/cause/").status_code == 404


def test_planned_congestion_is_no_alarm_on_the_overview(
    fleet: Fleet, viewer: Client, incident: Incident
) -> None:
    plan(fleet, incident)

    page = page_of(viewer.get("/"))

    assert page.text("h1") == "Nothing is congested but by planned work"
    assert "Maintenance window nightly backup:" in page.all_text()
    assert "maintenance window" in page_of(viewer.get("/incidents/")).all_text()


def test_muted_incident_says_why_and_offers_no_muting(
    fleet: Fleet, operator: Client, incident: Incident
) -> None:
    plan(fleet, incident)

    page = page_of(operator.get(f"/incidents/{incident.pk}/"))

    assert "It raises no alarm:" in page.all_text()
    assert page.elements("#maintenance-dialog") == []


def test_operator_mutes_an_incident_as_planned(
    fleet: Fleet, operator: Client, incident: Incident
) -> None:
    keep_promises(incident)

    answer = operator.post(f"/incidents/{incident.pk}/mute/", FORM, follow=True)

    maintenance = MaintenanceWindow.objects.get()
    assert "month end is stated; it explains this incident" in page_of(answer).text(".messages")
    assert [one.name for one in maintenance.resources.all()] == ["nfs-07"]
    assert [one.name for one in maintenance.workloads.all()] == ["batch-3"]
    assert AuditEntry.objects.latest("number").action == "state maintenance window"


@pytest.mark.parametrize(
    ("sent", "zone"),
    [
        ({"start": "2026-11-20T11:00"}, "UTC"),
        ({"start": "2026-11-20T11:00:00.000Z", "zone": "Europe/Berlin"}, "Europe/Berlin"),
        ({"start": "2026-11-20T12:00+01:00", "zone": "Mars/Base"}, "UTC"),
        ({"start": "2026-11-20T11:00:00.000Z", "zone": "../Europe/Berlin"}, "UTC"),
    ],
    ids=["without scripts", "of the browser", "unknown here", "none at all"],
)
def test_window_starts_when_it_was_typed_and_recurs_by_the_clock_of_the_browser(
    operator: Client, incident: Incident, sent: dict[str, str], zone: str
) -> None:
    operator.post(f"/incidents/{incident.pk}/mute/", FORM | sent)

    maintenance = MaintenanceWindow.objects.get()
    assert maintenance.starts_at.isoformat() == "2026-11-20T11:00:00+00:00"
    assert maintenance.zone == zone


def test_broken_promise_is_told_all_the_same(operator: Client, incident: Incident) -> None:
    answer = operator.post(f"/incidents/{incident.pk}/mute/", FORM, follow=True)

    said = page_of(answer).text(".messages")
    assert "is set, but does not explain this incident: a reservation was not met" in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": ""}, "a maintenance window needs a name"),
        ({"start": "soon"}, "is not a time like"),
        ({"start": "0001-01-01T00:00+14:00"}, "is not a time like"),
        ({"minutes": "0"}, "is not a number of minutes"),
        ({"recurrence": "yearly"}, "is not one of once, daily, weekly"),
    ],
)
def test_wrong_form_mutes_nothing(
    operator: Client, incident: Incident, change: dict[str, str], words: str
) -> None:
    answer = operator.post(f"/incidents/{incident.pk}/mute/", FORM | change, follow=True)

    assert words in page_of(answer).text(".messages")
    assert not MaintenanceWindow.objects.exists()


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("outsider", 404)])
def test_muting_takes_the_operator_role(
    fleet: Fleet, incident: Incident, who: str, status: int
) -> None:
    client = client_of(getattr(fleet.people, who))

    assert client.post(f"/incidents/{incident.pk}/mute/", FORM).status_code == status
    assert not MaintenanceWindow.objects.exists()


def test_datastores_on_the_same_disks_are_correlated(
    fleet: Fleet, viewer: Client, incident: Incident
) -> None:
    pks = [fleet.resources[name].pk for name in ("nfs-07", "san-02")]
    Resource.objects.filter(pk__in=pks).update(disks="shelf 4")
    Incident.objects.create(
        organisation=fleet.organisation,
        resource=fleet.resources["san-02"],
        started_at=incident.started_at + timedelta(minutes=1),
        peak_value=30.0,
        threshold=20.0,
    )

    page = page_of(viewer.get("/"))

    assert "Correlated incidents: nfs-07 was congested, and san-02 on the same disks shelf 4" in (
        page.all_text()
    )


def accuse(incident: Incident, *names: str) -> None:
    """The study accuses these; of who took more than its due, what was found stays."""
    accused = [{"workload": name, "part_ratio": 0.3} for name in names]
    incident.cause = {"aggressors": accused, "reason": "the others' latency follows its load"}
    incident.save()


def test_every_page_accuses_whom_the_study_accuses(viewer: Client, incident: Incident) -> None:
    assert [one["workload"] for one in incident.aggressors] == ["batch-3"]
    accuse(incident, "mail-1")

    page = page_of(viewer.get(f"/incidents/{incident.pk}/"))
    listed = page_of(viewer.get("/incidents/")).text(f"#incident-row-{incident.pk}")

    assert "mail-1 uses 30 %" in page.text(".lead")
    assert "batch-3" not in page.text(".lead")
    assert "Above their entitlement, but no cause" in page.all_text()
    assert "mail-1 30 %" in listed
    assert "batch-3" not in listed
    assert "mail-1 uses 30 %" in page_of(viewer.get("/")).all_text()


def test_page_says_why_nobody_is_the_cause(viewer: Client, incident: Incident) -> None:
    accuse(incident)

    page = page_of(viewer.get(f"/incidents/{incident.pk}/"))

    assert "batch-3" not in page.text(".lead")
    assert "No cause identified: the others' latency follows its load." in page.all_text()


def test_sentence_and_table_of_the_cause_agree(viewer: Client, incident: Incident) -> None:
    find_causes(resource=incident.resource, now=incident.started_at + timedelta(minutes=4))
    incident.refresh_from_db()
    assert incident.cause is not None

    table = page_of(viewer.get(f"/incidents/{incident.pk}/cause/"))
    lead = page_of(viewer.get(f"/incidents/{incident.pk}/")).text(".lead")

    accused = [one["workload"] for one in incident.cause["aggressors"]]
    assert accused == ["batch-3"]
    assert table.row("table", accused[0])[-1].strip() == "yes"
    assert f"{accused[0]} uses" in lead
