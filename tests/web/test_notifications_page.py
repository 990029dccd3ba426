"""The page of notifications: who sees and sets channels, rules and silences, and tries them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, Organisation
from advisor.models import (
    Delivery,
    Incident,
    NotificationChannel,
    NotificationRule,
    NotificationSilence,
    Team,
)
from advisor.notifications.deliver import deliver_next
from advisor.notifications.message import trial_message
from config.database_roles import DatabaseRole
from tests.advisor.notifications.receivers import WebSink, web_sink
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of

HOOK = {"name": "tickets", "kind": "webhook", "address": "https://t.example.org/very/secret?a=b"}
RULE = {
    "name": "nights", "channel": "tickets", "least": "promise_missed", "resources": "nfs-07",
    "teams": "shop", "tags": "label.app=db\nlabel.app=web",
    "quiet": "Mon-Sun 22:00 9h\nSat 10:00 2h", "zone": "Europe/Berlin",
    "quiet_for_stalls": "on", "no_end": "on",
}  # fmt: skip


@pytest.fixture
def admin(fleet: Fleet) -> Client:
    return client_of(fleet.people.owner)


def channel(fleet: Fleet, name: str = "tickets", **facts: Any) -> NotificationChannel:
    stated = {"kind": "webhook", "address": HOOK["address"], "secret": "s3cret", **facts}
    return NotificationChannel.objects.create(organisation=fleet.organisation, name=name, **stated)


def team(fleet: Fleet, name: str = "shop", tags: Sequence[str] = ("label.team=shop",)) -> Team:
    return Team.objects.create(organisation=fleet.organisation, name=name, tags=list(tags))


def send(client: Client, verb: str, form: dict[str, str] | None = None, *of: int) -> Page:
    return page_of(client.post(reverse(verb, args=of), form or {}, follow=True))


def shown(client: Client, query: str = "") -> Page:
    return page_of(client.get(reverse("notifications") + query))


def test_secret_of_a_webhook_is_shown_when_it_is_made_and_never_again(
    admin: Client, fleet: Fleet
) -> None:
    answer = admin.post(reverse("set-channel"), HOOK)
    page = page_of(answer)
    made = NotificationChannel.objects.get()

    assert page.find("input", id="secret").get("value") == made.secret
    assert len(made.secret) >= 32
    assert "no-store" in answer.headers["Cache-Control"]
    again = admin.post(reverse("set-channel"), HOOK, follow=True).content.decode()
    later = admin.get(reverse("notifications")).content.decode()
    assert made.secret not in again + later
    assert "very/secret" not in again + later
    assert "https://t.example.org/…" in later
    entries = AuditEntry.objects.filter(action__contains="channel").order_by("number")
    assert [one.action for one in entries] == ["state a channel", "change a channel"]
    assert {one.actor for one in entries} == {fleet.people.owner.get_username()}
    assert "very/secret" not in str(AuditEntry.objects.values())


@pytest.mark.parametrize("who", ["viewer", "operator"])
def test_who_may_not_change_channels_sees_neither_addresses_nor_reasons(
    fleet: Fleet, who: str
) -> None:
    row = channel(fleet, stopped_at=fleet.now, stopped_because="ann@example.org is refused")
    Delivery.objects.create(
        organisation=fleet.organisation, channel=row, key=uuid4(), next_at=fleet.now,
        created_at=fleet.now, message=trial_message("tickets").plain(), state="given up",
        reason="t.example.org is inside",
    )  # fmt: skip
    client = client_of(getattr(fleet.people, who))

    page = client.get(reverse("notifications")).content.decode()

    assert "Sluice can reach you here" in page
    for hidden in ("example.org", "s3cret", "refused", "set-channel", "Start again"):
        assert hidden not in page


def test_form_states_all_that_a_rule_can_say_and_shows_it_again(
    admin: Client, fleet: Fleet
) -> None:
    channel(fleet)
    team(fleet)

    send(admin, "set-notification", RULE)

    row = NotificationRule.objects.get()
    assert (row.least, row.grave_anyway, row.tells_end, row.zone) == (
        2, False, False, "Europe/Berlin",
    )  # fmt: skip
    assert row.quiet == ["Mon-Sun 22:00 9h", "Sat 10:00 2h"]
    assert [one.name for one in row.resources.all()] == ["nfs-07"]
    assert (row.teams, row.tags) == (["shop"], ["label.app=db", "label.app=web"])
    page = shown(admin, "?rule=nights")
    said = page.text("main")
    assert "promise missed or worse, of nfs-07; concerning team shop, workloads with label" in said
    assert "; quiet Mon-Sun 22:00 9h, Sat 10:00 2h" in said
    assert page.find("input", id="rule-name").get("value") == "nights"
    assert page.find("input", id="rule-zone").get("value") == "Europe/Berlin"
    assert page.text("#rule-resources") == "nfs-07"
    assert page.text("#rule-teams") == "shop"
    assert page.text("#rule-tags").split() == ["label.app=db", "label.app=web"]
    assert "checked" in page.find("input", id="rule-stalls").attributes
    assert AuditEntry.objects.filter(action="state a rule of notifications").count() == 1


WRONG = {
    "no name": ({"name": " "}, "needs a name"),
    "long name": ({"name": "x" * 300}, "300 characters; it can have 200"),
    "NUL": ({"zone": "a\x00b"}, "cannot be stored"),
    "channel": ({"channel": "theirs"}, 'there is no channel "theirs"'),
    "severity": ({"least": "dire"}, "it tells from one of congested, promise_missed, stalled on"),
    "resource": ({"resources": "nfs-07\nno-such"}, 'there is no resource "no-such"'),
    "many resources": ({"resources": "a\n" * 201}, "201 resources"),
    "team": ({"teams": "theirs"}, 'there is no team "theirs"'),
    "many teams": ({"teams": "a\n" * 51}, "51 teams"),
    "tag": ({"tags": "shop"}, "is no tag"),
    "many tags": ({"tags": "\n".join(f"tag={n}" for n in range(101))}, "there are 101 tags"),
    "window": ({"quiet": "nights"}, "no window of the week"),
    "many windows": ({"quiet": "Sat 22:00 6h\n" * 21}, "21 quiet windows"),
    "zone": ({"zone": "Mars"}, "not a time zone"),
}


@pytest.mark.parametrize(("changed", "why"), WRONG.values(), ids=list(WRONG))
def test_rule_that_makes_no_sense_is_refused_and_shown_again(
    admin: Client, fleet: Fleet, changed: dict[str, str], why: str
) -> None:
    channel(fleet)
    team(fleet)

    page = page_of(admin.post(reverse("set-notification"), RULE | changed), status=400)

    assert why in page.text("#rule-error")
    assert not NotificationRule.objects.exists()
    if "resources" not in changed:
        assert page.text("#rule-resources") == "nfs-07"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": "x" * 201}, "it can have 200"),
        ({"kind": "pigeon"}, "choose by what"),
        ({"address": "ftp://x"}, "begins with https://"),
        ({"address": "https://example.org/" + "x" * 2000}, "at most 2000 letters"),
        ({"name": "a\x00b"}, "letters that can be printed"),
        ({"address": ""}, "begins with https://"),
        ({"rhythm": "week"}, "choose when it sends"),
        ({"rhythm": "day", "hour": "24"}, "at an hour from 0 to 23"),
        ({"rhythm": "day", "hour": "x"}, "at an hour from 0 to 23"),
        ({"rhythm": "day", "hour": "\u00b2"}, "at an hour from 0 to 23"),
        ({"rhythm": "hour", "zone": "Mars"}, "not a time zone"),
    ],
    ids=str,
)
def test_channel_that_cannot_be_is_refused(
    admin: Client, fleet: Fleet, changed: dict[str, str], why: str
) -> None:
    page = page_of(admin.post(reverse("set-channel"), HOOK | changed), status=400)

    assert why in page.text("#channel-error")
    assert not NotificationChannel.objects.exists()


@pytest.fixture
def web(settings: Any) -> Any:
    settings.NOTIFY_INSIDE = True
    with web_sink() as sink:
        yield sink


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(200, "was taken at 12:00:00"), (404, "was not taken: it answers 404"),
     (503, "was not taken at attempt 1: it answers 503. It is sent again")],
)  # fmt: skip
def test_trial_is_sent_by_a_worker_and_the_page_says_what_became_of_it(
    admin: Client, fleet: Fleet, web: WebSink, status: int, outcome: str
) -> None:
    row = channel(fleet, address=web.url)
    web.statuses = [status]

    page = send(admin, "try-channel", None, row.pk)
    assert "is on its way" in page.text("#tried")
    place = page.elements("#tried div")[0].get("hx-get")
    deliver_next(fleet.organisation.pk, now=fleet.now)
    later = admin.get(place, headers={"HX-Request": "true"}).content.decode()

    assert len(web.posts) == 1
    assert outcome in page_of(admin.get(place)).text("#tried")
    assert ("every 2s" in later) is (status == 503)


def test_stopped_channel_says_why_and_starts_again(admin: Client, fleet: Fleet) -> None:
    row = channel(
        fleet, stopped_at=fleet.now - timedelta(hours=1), stopped_because="it answers 404",
        failures=5,
    )  # fmt: skip
    assert ": it answers 404" in shown(admin).text("main table")
    refused = send(admin, "try-channel", None, row.pk)
    assert "is stopped; start it again first" in refused.text(".messages")

    send(admin, "start-channel", None, row.pk)

    row.refresh_from_db()
    assert (row.stopped_at, row.failures, row.stopped_because) == (None, 0, "")
    assert AuditEntry.objects.filter(action="start a channel again").exists()
    again = send(admin, "start-channel", None, row.pk)
    assert "is not stopped" in again.text(".messages")


def test_channel_is_changed_without_its_address(admin: Client, fleet: Fleet) -> None:
    row = channel(fleet)
    page = shown(admin, "?channel=tickets")
    assert page.find("input", id="channel-name").get("value") == "tickets"
    assert page.find("input", id="channel-address").get("value") == ""

    send(
        admin, "set-channel",
        {"name": "tickets", "kind": "webhook", "rhythm": "day", "hour": "6",
         "zone": "Europe/Berlin"},
    )  # fmt: skip

    row.refresh_from_db()
    assert (row.address, row.secret) == (HOOK["address"], "s3cret")
    assert (row.rhythm, row.hour, row.zone) == ("day", 6, "Europe/Berlin")
    assert "each day at 06:00 (Europe/Berlin)" in shown(admin).text("main table")
    again = shown(admin, "?channel=tickets")
    assert again.find("input", id="channel-hour").get("value") == "6"


def test_gathered_message_says_when_it_goes(admin: Client, fleet: Fleet) -> None:
    row = channel(fleet, rhythm="hour")
    Delivery.objects.create(
        organisation=fleet.organisation, channel=row, key=uuid4(), state="gathered",
        next_at=fleet.now + timedelta(minutes=10), created_at=fleet.now,
        message=trial_message("tickets").plain(),
    )  # fmt: skip

    assert "gathered, goes with others in 10 min" in " ".join(shown(admin).text("main").split())


def test_removing_a_channel_asks_first_and_takes_its_rules_along(
    admin: Client, fleet: Fleet
) -> None:
    row = channel(fleet)
    team(fleet)
    send(admin, "set-notification", RULE)
    assert NotificationRule.objects.exists()
    assert "The rules that tell by it go with it" in shown(admin).text(f"#remove-channel-{row.pk}")

    send(admin, "remove-channel", None, row.pk)

    assert not NotificationChannel.objects.exists()
    assert not NotificationRule.objects.exists()


@pytest.mark.parametrize("place", ["silence-resource", "silence-incident", "make-silence"])
@pytest.mark.parametrize("hours", ["1", "8", "24"])
def test_silence_is_stated_where_one_looks_and_ends_by_itself(
    operator: Client, fleet: Fleet, place: str, hours: str
) -> None:
    resource = fleet.resources["nfs-07"]
    incident = Incident.objects.get(resource=resource)
    of = {"silence-resource": [resource.pk], "silence-incident": [incident.pk]}.get(place, [])

    send(operator, place, {"hours": hours, "reason": "disk", "resource": "nfs-07"}, *of)

    row = NotificationSilence.objects.get()
    assert (row.resource, row.until) == (resource, fleet.now + timedelta(hours=int(hours)))
    assert (row.reason, row.made_by) == ("disk", "operator")
    for page in (reverse("resource", args=[resource.pk]), reverse("incident", args=[incident.pk])):
        assert "Nobody is told of nfs-07 until" in page_of(operator.get(page)).text("#silenced")
    assert "disk" in shown(operator).text("main")

    send(operator, "end-silence", None, row.pk)
    assert not NotificationSilence.objects.exists()


@pytest.mark.parametrize(
    "form", [{"hours": "9"}, {"hours": ""}, {"hours": "1", "resource": "no-such"},
             {"hours": "1", "reason": "x" * 301}],
    ids=str,
)  # fmt: skip
def test_silence_that_makes_no_sense_is_refused(operator: Client, form: dict[str, str]) -> None:
    page = send(operator, "make-silence", form)

    assert "Nothing was changed" in page.text(".messages")
    assert not NotificationSilence.objects.exists()


MANAGED = ["set-channel", "try-channel", "start-channel", "remove-channel",
           "set-notification", "remove-notification"]  # fmt: skip
DECIDED = ["make-silence", "end-silence", "silence-resource", "silence-incident"]


@pytest.mark.parametrize(("who", "verbs"), [("viewer", MANAGED + DECIDED), ("operator", MANAGED)])
def test_what_a_role_may_not_is_refused_and_changes_nothing(
    fleet: Fleet, who: str, verbs: list[str]
) -> None:
    row = channel(fleet)
    rule = NotificationRule.objects.create(
        organisation=fleet.organisation, name="nights", channel=row
    )
    silence = NotificationSilence.objects.create(
        organisation=fleet.organisation, until=fleet.now + timedelta(hours=1), made_by="a"
    )
    rows = {"set-channel": [], "set-notification": [], "make-silence": [],
            "remove-notification": [rule.pk], "end-silence": [silence.pk],
            "silence-resource": [fleet.resources["nfs-07"].pk],
            "silence-incident": [Incident.objects.get().pk]}  # fmt: skip
    client = client_of(getattr(fleet.people, who))

    statuses = {
        client.post(
            reverse(verb, args=rows.get(verb, [row.pk])), HOOK | RULE | {"hours": "1"}
        ).status_code
        for verb in verbs
    }

    assert statuses == {403}
    assert NotificationChannel.objects.get() == row
    assert NotificationRule.objects.get().least == 1
    assert not Delivery.objects.exists()
    assert NotificationSilence.objects.get() == silence


def test_page_works_with_the_rights_of_the_web_server(
    admin: Client, fleet: Fleet, settings: Any
) -> None:
    make_roles()
    settings.HAS_ROW_WALLS = True
    team(fleet)

    with acting_as(DatabaseRole.WEB):
        send(admin, "set-channel", HOOK)
        row = NotificationChannel.objects.get()
        send(admin, "set-notification", RULE)
        send(admin, "try-channel", None, row.pk)
        send(admin, "make-silence", {"hours": "1"})
        send(admin, "end-silence", None, NotificationSilence.objects.get().pk)
        send(admin, "remove-notification", None, NotificationRule.objects.get().pk)
        send(admin, "remove-channel", None, row.pk)

    assert AuditEntry.objects.filter(organisation=fleet.organisation).count() == 6
    assert not Delivery.objects.exists()


def test_trial_of_another_organisation_is_not_shown(admin: Client, fleet: Fleet) -> None:
    other = Organisation.objects.exclude(pk=fleet.organisation.pk)[0]
    theirs = NotificationChannel.objects.create(
        organisation=other, name="theirs", kind="mail", address="a@example.org"
    )
    trial = Delivery.objects.create(
        organisation=other, channel=theirs, key=uuid4(), next_at=fleet.now,
        created_at=fleet.now, message=trial_message("theirs").plain(),
    )  # fmt: skip

    for asked in (str(trial.pk), "9" * 30, "²", "x"):
        assert (
            "theirs" not in admin.get(reverse("notifications"), {"tried": asked}).content.decode()
        )
    assert admin.post(reverse("try-channel", args=[theirs.pk])).status_code == 404
