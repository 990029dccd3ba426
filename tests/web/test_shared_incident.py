"""What an incident took and what is done about it, on its page and behind a link."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client

from accounts.models import AuditEntry
from advisor.decisions.maintenance_windows import add_maintenance_window
from advisor.models import Incident, IncidentNote, Recommendation, SharedReport, Workload
from advisor.reports.shared import link_secret
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of

DAY = timedelta(days=1)
LOST_BY_SQL = """
SELECT victim->>'workload',
       extract(epoch FROM %s - started_at) / 60 * (victim->>'shortfall_ratio')::float
  FROM advisor_incident, jsonb_array_elements(victims) AS victim WHERE id = %s
 ORDER BY 2 DESC
"""


@pytest.fixture
def incident(fleet: Fleet) -> Incident:
    return Incident.objects.select_related("resource").get(ended_at=None)


@pytest.fixture
def admin(fleet: Fleet) -> Client:
    return client_of(fleet.people.owner)


def page_text(client: Client, incident: Incident) -> str:
    return " ".join(page_of(client.get(f"/incidents/{incident.pk}/")).text("main").split())


def share(admin: Client, incident: Incident, days: str = "7") -> str:
    """The address that the link leads to."""
    answer = admin.post(f"/incidents/{incident.pk}/share/", {"days_open": days}, follow=True)
    assert "can be read by who has the link below." in page_of(answer).all_text()
    return f"/reports/of/{link_secret(SharedReport.objects.get())}/"


def test_affected_are_told_by_the_minutes_that_sql_counts(
    viewer: Client, fleet: Fleet, incident: Incident
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(LOST_BY_SQL, [fleet.now, incident.pk])
        lost = cursor.fetchall()
    assert len(lost) > 1

    page = page_of(viewer.get(f"/incidents/{incident.pk}/"))

    rows = [
        [cell.all_text().strip() for cell in row.children if not isinstance(cell, str)]
        for row in page.elements("#victim-title")[0].parent.parent.elements_of("tr")[1:]  # type: ignore[union-attr]
    ]
    named = [row[0].removesuffix("demand unknown").strip() for row in rows]
    assert named == [name for name, _ in lost]
    for row, (_, minutes) in zip(rows, lost, strict=True):
        assert float(row[1]) == pytest.approx(minutes, abs=0.51)


def test_planned_incident_lost_nothing(viewer: Client, fleet: Fleet, incident: Incident) -> None:
    victims = [item | {"reservation": 0.0} for item in incident.victims]
    Incident.objects.filter(pk=incident.pk).update(victims=victims)
    add_maintenance_window(
        organisation=fleet.organisation, name="backup", starts_at=incident.started_at,
        length=timedelta(hours=2),
    )  # fmt: skip

    assert "no minute counts as lost" in page_text(viewer, incident)


def test_incident_of_last_night_by_the_same_workload_is_linked_first(
    viewer: Client, incident: Incident
) -> None:
    for apart, aggressor in ((DAY, "batch-3"), (DAY * 2, "batch-3"), (DAY / 2, "batch-3")):
        Incident.objects.create(
            organisation=incident.organisation, resource=incident.resource,
            started_at=incident.started_at - apart, peak_value=31.0,
            ended_at=incident.started_at - apart + timedelta(minutes=5),
            aggressors=[{"workload": aggressor, "part_ratio": 0.5}],
        )  # fmt: skip
    last_night = Incident.objects.get(started_at=incident.started_at - DAY)

    again = page_of(viewer.get(f"/incidents/{incident.pk}/")).elements("#again")[0]

    assert "batch-3 was the main aggressor then too" in " ".join(again.all_text().split())
    assert again.elements_of("a")[0]["href"] == f"/incidents/{last_night.pk}/"


def test_fix_is_told_with_what_it_brings_and_the_range(viewer: Client, incident: Incident) -> None:
    advice = Recommendation.objects.get(incident=incident)

    page = page_of(viewer.get(f"/incidents/{incident.pk}/"))

    told = page.text(".fixes")
    assert advice.summary in told
    assert "db-orders: " in told
    assert "mail-1: 200 IOPS to 294 IOPS (90 % between 279 IOPS and 423 IOPS)" in told


def test_link_opens_the_incident_as_it_was_without_a_login(
    admin: Client, fleet: Fleet, incident: Incident
) -> None:
    IncidentNote.objects.create(
        organisation=fleet.organisation,
        incident=incident,
        at=fleet.now,
        by="ann",
        text="ours only",
    )
    make_roles()
    with acting_as(DatabaseRole.WEB):
        address = share(admin, incident)
        Workload.objects.filter(name="batch-3").update(name="renamed")
        answer = Client().get(address)

    text = page_of(answer).all_text()
    assert answer.status_code == 200
    assert answer.headers["X-Robots-Tag"] == "noindex"
    assert "batch-3" in text
    assert "minutes of service from" in text
    assert "Hosts at that time" in text
    assert "renamed" not in text
    assert "ours only" not in text
    assert AuditEntry.objects.filter(action="share an incident by a link").count() == 1


def test_link_ends(admin: Client, fleet: Fleet, incident: Incident) -> None:
    address = share(admin, incident)
    SharedReport.objects.update(expires_at=fleet.now)

    assert Client().get(address).status_code == 410


@pytest.mark.parametrize("days", ["", "0", "365", "x"])
def test_link_without_a_known_end_is_refused(admin: Client, incident: Incident, days: str) -> None:
    address = f"/incidents/{incident.pk}/share/"

    answer = admin.post(address, {"days_open": days}, follow=True)

    assert "a link opens an incident for 7, 30, 90 days" in page_of(answer).all_text()
    assert not SharedReport.objects.exists()


def test_operator_may_not_share_and_sees_no_button(fleet: Fleet, incident: Incident) -> None:
    operator = client_of(fleet.people.operator)

    answer = operator.post(f"/incidents/{incident.pk}/share/", {"days_open": "7"})

    assert answer.status_code == 403
    assert "Share…" not in page_text(operator, incident)


def test_names_behind_a_link_are_text_and_turn_nothing_around(
    admin: Client, fleet: Fleet, incident: Incident
) -> None:
    first, *others = incident.aggressors
    incident.aggressors = [first | {"workload": "<b>\u202e&"}, *others]
    incident.save()

    page = page_of(Client().get(share(admin, incident)))

    assert "<b>&" in page.all_text()
    assert not page.root.elements_of("b")
    assert "\u202e" not in page.text(".lead")
