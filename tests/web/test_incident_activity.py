"""What people say of an incident, who takes care of it, and what happened before."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from accounts.actor import member_actor
from accounts.models import AuditEntry
from advisor.decisions.incident_notes import MOST_NOTES, take_care
from advisor.models import Incident, IncidentNote
from advisor.models.incident_note import LONGEST_NOTE
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of

DAY = timedelta(days=1)


@pytest.fixture
def incident(fleet: Fleet) -> Incident:
    return Incident.objects.get(ended_at=None)


@pytest.fixture
def operator(fleet: Fleet) -> Client:
    return client_of(fleet.people.operator)


def text_of(client: Client, address: str) -> str:
    return " ".join(page_of(client.get(address)).text("main").split())


def say(client: Client, incident: Incident, text: str) -> None:
    client.post(f"/incidents/{incident.pk}/note/", {"text": text})


def give_to(client: Client, incident: Incident, username: str) -> None:
    client.post(f"/incidents/{incident.pk}/assign/", {"username": username})


def before(incident: Incident, apart: timedelta, aggressor: str = "") -> Incident:
    started_at = incident.started_at - apart
    parties = [{"workload": aggressor, "part_ratio": 0.5}] if aggressor else []
    return Incident.objects.create(
        organisation=incident.organisation, resource=incident.resource, started_at=started_at,
        ended_at=started_at + timedelta(minutes=5), peak_value=31.0, aggressors=parties,
    )  # fmt: skip


def test_note_is_read_by_all_and_kept_as_it_was_said(
    viewer: Client, operator: Client, incident: Incident
) -> None:
    make_roles()

    with acting_as(DatabaseRole.WEB):
        say(operator, incident, "  <b>seen</b>\r\nsecond line \u202eright ")

    assert IncidentNote.objects.get().text == "<b>seen</b>\nsecond line \u202eright"
    page = page_of(viewer.get(f"/incidents/{incident.pk}/"))
    assert "<b>seen</b>" in page.text(".said")
    assert "operator" in page.text(".said")


@pytest.mark.parametrize(
    ("text", "why"),
    [(" \r\n ", "a note needs a text"), ("x" * (LONGEST_NOTE + 1), "at most 2,000 characters")],
)
def test_note_without_text_or_too_long_is_refused(
    operator: Client, incident: Incident, text: str, why: str
) -> None:
    answer = operator.post(f"/incidents/{incident.pk}/note/", {"text": text}, follow=True)

    assert why in page_of(answer).all_text()
    assert not IncidentNote.objects.exists()


def test_incident_has_only_so_many_notes(operator: Client, incident: Incident) -> None:
    IncidentNote.objects.bulk_create(
        IncidentNote(
            organisation=incident.organisation, incident=incident, at=incident.started_at, by="a",
            text=str(number),
        )
        for number in range(MOST_NOTES)
    )  # fmt: skip

    say(operator, incident, "one more")

    assert IncidentNote.objects.count() == MOST_NOTES
    assert "Add a note" not in text_of(operator, f"/incidents/{incident.pk}/")


def test_who_takes_care_is_shown_on_the_page_and_in_the_list(
    viewer: Client, operator: Client, incident: Incident
) -> None:
    assert "nobody takes care of it yet" in text_of(viewer, f"/incidents/{incident.pk}/")

    give_to(operator, incident, "operator")
    give_to(operator, incident, "operator")

    assert IncidentNote.objects.count() == 1
    assert "operator takes care of it" in text_of(viewer, f"/incidents/{incident.pk}/")
    assert "operator takes care" in text_of(viewer, "/incidents/")
    assert AuditEntry.objects.filter(action="say who takes care").count() == 1

    give_to(operator, incident, "")

    shown = text_of(viewer, f"/incidents/{incident.pk}/")
    assert "nobody takes care of it any more" in shown
    assert "takes care" not in text_of(viewer, "/incidents/")


def test_name_of_who_took_care_outlasts_the_person(
    fleet: Fleet, viewer: Client, operator: Client, incident: Incident
) -> None:
    give_to(operator, incident, "operator")
    fleet.people.operator.delete()

    assert "operator takes care of it" in text_of(viewer, f"/incidents/{incident.pk}/")


def test_person_who_is_no_member_takes_nothing(operator: Client, incident: Incident) -> None:
    answer = operator.post(
        f"/incidents/{incident.pk}/assign/", {"username": "stranger"}, follow=True
    )

    assert '"stranger" is no member' in page_of(answer).all_text()
    assert not IncidentNote.objects.exists()


def test_viewer_reads_and_says_nothing(viewer: Client, incident: Incident) -> None:
    for address, form in (("note", {"text": "x"}), ("assign", {"username": "viewer"})):
        answer = viewer.post(f"/incidents/{incident.pk}/{address}/", form)
        assert answer.status_code == 403

    assert not IncidentNote.objects.exists()
    shown = text_of(viewer, f"/incidents/{incident.pk}/")
    assert "Add a note" not in shown


def test_what_repeats_itself_is_told(viewer: Client, incident: Incident) -> None:
    incident.aggressors = [{"workload": "batch-3", "part_ratio": 0.6}]
    incident.save()
    same = before(incident, DAY - timedelta(minutes=20), "batch-3")
    before(incident, 2 * DAY + timedelta(minutes=61), "batch-3")
    before(incident, timedelta(minutes=30), "web-1")
    before(incident, 3 * DAY + timedelta(hours=12))
    before(incident, 31 * DAY, "batch-3")

    page = page_of(viewer.get(f"/incidents/{incident.pk}/"))

    text = " ".join(page.text("main").split())
    assert (
        "It was congested 4 times in the 30 days before; "
        "batch-3 was its main aggressor in 2; 1 began within an hour of this time of day." in text
    )
    assert f"/incidents/{same.pk}/" in page.links().values()


def test_first_incident_has_no_past(viewer: Client, incident: Incident) -> None:
    Incident.every.exclude(pk=incident.pk).delete()

    assert "Nothing is known of the 30 days before." in text_of(
        viewer, f"/incidents/{incident.pk}/"
    )


def test_notes_go_with_their_incident(fleet: Fleet, incident: Incident) -> None:
    actor = member_actor(fleet.organisation.memberships.get(user=fleet.people.operator))
    take_care(incident=incident, username="viewer", actor=actor, now=fleet.now)

    incident.delete()

    assert not IncidentNote.objects.exists()
