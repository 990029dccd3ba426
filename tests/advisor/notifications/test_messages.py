"""From an incident to a message that somebody got, over real mail and web servers."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import timedelta
from io import BytesIO
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from PIL import Image

from accounts.actor import COMMAND_LINE
from accounts.models.audit import AuditEntry
from advisor.errors import DecisionRefused
from advisor.history.level_store import save_points
from advisor.models import (
    ChannelKind,
    Delivery,
    DeliveryState,
    Incident,
    MaintenanceWindow,
    NotificationChannel,
    Resource,
    Team,
    ToldIncident,
    Workload,
)
from advisor.notifications import deliver
from advisor.notifications.channels import webhook
from advisor.notifications.look import MEMORY, forget_old, look
from advisor.notifications.state import try_out
from config.database_roles import DatabaseRole
from tests.advisor.judged_windows import judged_window
from tests.advisor.notifications.conftest import NOW
from tests.advisor.notifications.receivers import MailSink, WebSink
from tests.advisor.notifications.support import channel, pass_time, rule
from tests.advisor.scenario import Cluster, make_cluster, propose
from tests.config.roles import acting_as, make_roles

MINUTE = timedelta(minutes=1)


def hook(cluster: Cluster, web: WebSink) -> NotificationChannel:
    return channel(cluster, ChannelKind.WEBHOOK, f"{web.url}/hook?team=storage", NOW)


def test_mail_says_who_takes_what_and_where_to_look(
    cluster: Cluster, incident: Incident, mail: MailSink
) -> None:
    rule(channel(cluster, ChannelKind.MAIL, "ann@example.org, bob@example.org", NOW), NOW)

    pass_time(cluster, NOW, minutes=5)

    (letter,) = mail.letters
    body = letter.get_body(("plain",))
    assert body is not None
    text = body.get_content()
    assert letter["Subject"] == "[Sluice] h1/up0 is congested, and a reservation is missed"
    assert letter["To"] == "ann@example.org, bob@example.org"
    assert "since 2026-11-20 11:57 UTC, for 3 minutes" in text
    assert "More than its due takes: web-3." in text
    assert "Less than its due gets: web-1." in text
    assert f"https://sluice.example.net/incidents/{incident.pk}/" in text


def test_letter_shows_the_course_the_effect_and_where_to_decide(
    cluster: Cluster, incident: Incident, mail: MailSink
) -> None:
    windows = [
        judged_window(
            NOW + (number - 5) * timedelta(seconds=10), since=NOW, value=value, threshold=0.9
        )
        for number, value in enumerate((0.5, None, 0.99))
    ]
    save_points({cluster.uplink: windows})
    advice = propose(cluster, reservation=75e6)
    advice.expires_at = NOW + timedelta(days=1)
    advice.answer = json.dumps({
        "allocations": [{"workload": "web-1", "measured": 40e6, "predicted_after": 75e6}]
    })  # fmt: skip
    advice.save()
    rule(channel(cluster, ChannelKind.MAIL, "ann@example.org", NOW), NOW)

    pass_time(cluster, NOW)

    (letter,) = mail.letters
    parts = {one.get_content_type(): one for one in letter.walk()}
    text, html = (parts[f"text/{kind}"].get_content() for kind in ("plain", "html"))
    picture = parts["image/png"]
    assert Image.open(BytesIO(picture.get_content())).size == (480, 96)
    assert (picture["Content-ID"], picture.get_content_disposition()) == (
        "<chart@sluice>", "inline",
    )  # fmt: skip
    assert 'src="cid:chart@sluice"' in html
    assert "▅ █  load in the last 30 minutes, at most 99%; congested above 90%" in text
    assert "Expected if approved: web-1 40.0 Mbit/s → 75.0 Mbit/s." in text
    base = "https://sluice.example.net"
    for link in (
        f"Review the advice: {base}/recommendations/{advice.pk}/",
        f"Snooze the advice: {base}/recommendations/{advice.pk}/#snooze-dialog",
        f"Silence h1/up0: {base}/incidents/{incident.pk}/#silence-dialog",
        f"Incident: {base}/incidents/{incident.pk}/",
    ):
        assert link in text


def test_letter_without_measurements_has_no_picture(
    cluster: Cluster, incident: Incident, mail: MailSink
) -> None:
    rule(channel(cluster, ChannelKind.MAIL, "ann@example.org", NOW), NOW)

    pass_time(cluster, NOW)

    assert "image/png" not in {one.get_content_type() for one in mail.letters[0].walk()}
    assert "cid:" not in mail.letters[0].as_string()


def test_end_offers_no_silence(cluster: Cluster, incident: Incident, web: WebSink) -> None:
    rule(hook(cluster, web), NOW)
    pass_time(cluster, NOW)
    Incident.objects.update(ended_at=NOW + MINUTE)
    pass_time(cluster, NOW + 2 * MINUTE)

    words = [[one["words"] for one in json.loads(post.body)["links"]] for post in web.posts]
    assert words == [["Silence h1/up0", "Incident"], ["Incident"]]


def test_webhook_is_signed_by_the_secret_that_both_know(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    by = hook(cluster, web)
    rule(by, NOW)

    pass_time(cluster, NOW)

    (post,) = web.posts
    stamp, _, signed = post.headers["Sluice-Signature"].partition(",v1=")
    expected = hmac.new(by.secret.encode(), digestmod=hashlib.sha256)
    expected.update(stamp.removeprefix("t=").encode() + b"." + post.body)
    assert (post.path, signed) == ("/hook?team=storage", expected.hexdigest())
    facts = json.loads(post.body)["facts"]
    assert facts | {"since": ""} == {
        "resource": "h1/up0", "news": "began", "severity": "promise missed", "since": "",
        "until": None, "incident": incident.pk, "advice": None, "effect": None,
    }  # fmt: skip


def test_chat_service_gets_it_by_apprise(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    address = f"mmost://{web.url.removeprefix('http://')}/{'k' * 24}"
    rule(channel(cluster, ChannelKind.SERVICE, address, NOW), NOW)

    pass_time(cluster, NOW)

    (post,) = web.posts
    assert post.path == f"/hooks/{'k' * 24}"
    assert "h1/up0 is congested" in json.loads(post.body)["text"]


def test_incident_is_told_once_and_its_end_once(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    rule(hook(cluster, web), NOW)

    pass_time(cluster, NOW, minutes=10)
    Incident.objects.filter(pk=incident.pk).update(ended_at=NOW + 10 * MINUTE)
    pass_time(cluster, NOW + 11 * MINUTE, minutes=10)

    assert [json.loads(one.body)["facts"]["news"] for one in web.posts] == ["began", "over"]


def test_incident_that_is_made_anew_by_windows_judged_again_is_not_told_again(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    rule(hook(cluster, web), NOW)
    pass_time(cluster, NOW)

    Incident.objects.filter(pk=incident.pk).update(withdrawn_at=NOW)
    Incident.objects.create(
        organisation=cluster.organisation, resource=cluster.uplink,
        started_at=NOW - 9 * MINUTE, peak_value=0.98, threshold=0.9, windows=50,
    )  # fmt: skip
    pass_time(cluster, NOW + MINUTE, minutes=5)

    assert len(web.posts) == 1


def test_incident_that_was_no_contention_is_taken_back(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    rule(hook(cluster, web), NOW)
    pass_time(cluster, NOW)

    Incident.objects.filter(pk=incident.pk).update(withdrawn_at=NOW)
    pass_time(cluster, NOW + MINUTE, minutes=2)

    assert [json.loads(one.body)["subject"] for one in web.posts] == [
        "h1/up0 is congested, and a reservation is missed", "Resolved: h1/up0",
    ]  # fmt: skip


def test_planned_work_is_not_told(cluster: Cluster, incident: Incident, web: WebSink) -> None:
    rule(hook(cluster, web), NOW)
    Incident.objects.update(victims=[])
    MaintenanceWindow.objects.create(
        organisation=cluster.organisation, name="backup", starts_at=NOW - 9 * MINUTE,
        length_s=3600.0,
    )  # fmt: skip

    pass_time(cluster, NOW, minutes=5)

    assert web.posts == []


def test_server_that_is_down_gets_it_when_it_is_back_and_only_once(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    rule(hook(cluster, web), NOW)
    web.statuses = [503, 500]

    pass_time(cluster, NOW, minutes=10)

    keys = {one.headers["Idempotency-Key"] for one in web.posts}
    assert (len(web.posts), len(keys)) == (3, 1)
    row = Delivery.objects.get()
    assert (row.state, row.attempts) == (DeliveryState.SENT, 3)


@pytest.mark.parametrize("status", [302, 400, 404])
def test_what_is_refused_is_not_tried_again(
    cluster: Cluster, incident: Incident, web: WebSink, status: int
) -> None:
    rule(hook(cluster, web), NOW)
    web.statuses = [status]

    pass_time(cluster, NOW, minutes=5)

    row = Delivery.objects.get()
    assert (len(web.posts), row.state, row.reason) == (
        1, DeliveryState.GIVEN_UP, f"it answers {status}",
    )  # fmt: skip


def test_mail_that_is_refused_for_now_goes_later(
    cluster: Cluster, incident: Incident, mail: MailSink
) -> None:
    rule(channel(cluster, ChannelKind.MAIL, "ann@example.org", NOW), NOW)
    mail.answer = "451 greylisted"
    pass_time(cluster, NOW)
    mail.answer = "250 OK"

    pass_time(cluster, NOW + MINUTE)

    assert len(mail.letters) == 1
    assert Delivery.objects.get().state == DeliveryState.SENT


def test_channel_that_fails_for_long_is_stopped_and_says_why(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    by = hook(cluster, web)
    rule(by, NOW)
    web.statuses = [404] * 20
    for hour in range(8):
        at = NOW + timedelta(hours=hour)
        Incident.objects.update(started_at=at, ended_at=None)
        pass_time(cluster, at)
        Incident.objects.update(ended_at=at + MINUTE)
        pass_time(cluster, at + 2 * MINUTE)

    by.refresh_from_db()
    assert by.stopped_because == (
        "5 messages in a row could not be sent; the last: it answers 404"
    )
    assert len(web.posts) == deliver.MOST_FAILURES


def test_worker_that_is_killed_while_it_sends_loses_nothing(
    cluster: Cluster, incident: Incident, web: WebSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule(hook(cluster, web), NOW)
    look(cluster.organisation.pk, now=NOW)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(deliver, "_note_sent", killed)
        with pytest.raises(KeyboardInterrupt):
            deliver.deliver_next(cluster.organisation.pk, now=NOW)
    pass_time(cluster, NOW + MINUTE)
    assert len(web.posts) == 1
    pass_time(cluster, NOW + 3 * MINUTE)

    assert len({one.headers["Idempotency-Key"] for one in web.posts}) == 1
    assert Delivery.objects.get().state == DeliveryState.SENT


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "0.0.0.0"]
)
def test_webhook_leads_nowhere_inside_unless_that_is_allowed(
    cluster: Cluster, incident: Incident, settings: Any, host: str
) -> None:
    settings.NOTIFY_INSIDE = False
    rule(channel(cluster, ChannelKind.WEBHOOK, f"http://{host}:9/", NOW), NOW)

    pass_time(cluster, NOW)

    row = Delivery.objects.get()
    assert row.state == DeliveryState.GIVEN_UP
    assert "is inside of this server's network" in row.reason


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        (ChannelKind.WEBHOOK, "ftp://example.org/"),
        (ChannelKind.WEBHOOK, "https://user:secret@example.org/"),
        (ChannelKind.WEBHOOK, "https://exa mple.org/"),
        (ChannelKind.WEBHOOK, "https://example.org:70000/"),
        (ChannelKind.WEBHOOK, "nonsense"),
        (ChannelKind.SERVICE, "json://127.0.0.1/"),
        (ChannelKind.SERVICE, "file:///etc/passwd"),
        (ChannelKind.SERVICE, "slack://"),
        (ChannelKind.SERVICE, "zulip://bot@intranet.example.lan/token/general"),
        (ChannelKind.SERVICE, f"mmost://example.org/{'k' * 24}?template=/etc/passwd"),
        (ChannelKind.MAIL, "ann@example.org, nobody"),
        (ChannelKind.MAIL, "ann@example.org\nBcc: eve@example.org"),
        (ChannelKind.MAIL, ""),
    ],
)
def test_address_that_cannot_be_is_refused_when_it_is_stated(
    cluster: Cluster, mail: MailSink, kind: ChannelKind, address: str
) -> None:
    with pytest.raises(DecisionRefused):
        channel(cluster, kind, address, NOW)

    assert not NotificationChannel.objects.exists()


def test_names_in_a_letter_are_text(cluster: Cluster, incident: Incident, mail: MailSink) -> None:
    Incident.objects.update(aggressors=[{"workload": "<img src=x onerror=alert(1)>"}])
    rule(channel(cluster, ChannelKind.MAIL, "ann@example.org", NOW), NOW)

    pass_time(cluster, NOW)

    body = mail.letters[0].get_body(("html",))
    assert body is not None
    assert "<img" not in body.get_content()
    assert "&lt;img" in body.get_content()


@pytest.mark.django_db(transaction=True)
def test_two_schedulers_at_once_tell_it_once(web: WebSink, settings: Any) -> None:
    settings.NOTIFY_INSIDE = True
    cluster = make_cluster()
    Incident.objects.create(
        organisation=cluster.organisation, resource=cluster.uplink, started_at=NOW, windows=9
    )
    rule(hook(cluster, web), NOW)
    together, found = Barrier(4), list[int]()

    def scheduler() -> None:
        together.wait()
        found.append(look(cluster.organisation.pk, now=NOW))
        connection.close()

    threads = [Thread(target=scheduler) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert sum(found) == 1
    assert Delivery.objects.count() == 1


def test_server_that_answers_a_letter_at_a_time_is_cut_off(
    cluster: Cluster, incident: Incident, web: WebSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "DEADLINE_S", 0.5)
    web.drips = True
    rule(hook(cluster, web), NOW)

    pass_time(cluster, NOW)

    row = Delivery.objects.get()
    assert (row.state, row.attempts) == (DeliveryState.WAITING, 1)
    assert row.reason.startswith("no answer")


def test_error_of_a_library_is_a_message_that_was_not_sent(
    cluster: Cluster, incident: Incident, web: WebSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RecursionError("in a library")

    monkeypatch.setattr(webhook.Webhook, "send", fails)
    rule(hook(cluster, web), NOW)

    pass_time(cluster, NOW)

    row = Delivery.objects.get()
    assert (row.state, row.reason) == (DeliveryState.WAITING, "RecursionError in a library")


def test_host_that_can_have_no_name_is_given_up_in_the_end(
    cluster: Cluster, incident: Incident
) -> None:
    rule(channel(cluster, ChannelKind.WEBHOOK, "https://hooks..example.com/x", NOW), NOW)
    look(cluster.organisation.pk, now=NOW)

    for hour in range(12):
        deliver.deliver_next(cluster.organisation.pk, now=NOW + timedelta(hours=hour))

    row = Delivery.objects.get()
    assert (row.state, row.attempts) == (DeliveryState.GIVEN_UP, deliver.MOST_ATTEMPTS)


def test_message_whose_senders_are_killed_each_time_is_given_up(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    rule(hook(cluster, web), NOW)
    look(cluster.organisation.pk, now=NOW)
    Delivery.objects.update(attempts=deliver.MOST_ATTEMPTS, state=DeliveryState.SENDING)

    pass_time(cluster, NOW)

    assert web.posts == []
    assert Delivery.objects.get().state == DeliveryState.GIVEN_UP


def test_what_waits_for_a_channel_that_is_stopped_is_no_news_later(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    by = hook(cluster, web)
    rule(by, NOW)
    NotificationChannel.objects.update(failures=deliver.MOST_FAILURES - 1)
    look(cluster.organisation.pk, now=NOW)
    try_out(by, actor=COMMAND_LINE, now=NOW + MINUTE)
    web.statuses = [404]
    deliver.deliver_next(cluster.organisation.pk, now=NOW)
    by.refresh_from_db()

    assert by.stopped_at == NOW
    with pytest.raises(DecisionRefused, match="is stopped; start it again first"):
        try_out(by, actor=COMMAND_LINE, now=NOW)
    hook(cluster, web)
    pass_time(cluster, NOW + MINUTE, minutes=2)
    assert len(web.posts) == 1


def test_rule_without_ends_tells_the_next_incident_too(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    rule(hook(cluster, web), NOW, tells_end=False)
    pass_time(cluster, NOW)
    Incident.objects.update(ended_at=NOW + MINUTE)
    pass_time(cluster, NOW + 2 * MINUTE)
    Incident.objects.create(
        organisation=cluster.organisation, resource=cluster.uplink, windows=9,
        started_at=NOW + timedelta(days=3),
    )  # fmt: skip

    pass_time(cluster, NOW + timedelta(days=3, minutes=2))

    assert [json.loads(one.body)["facts"]["news"] for one in web.posts] == ["began", "began"]


def test_chat_service_that_leads_elsewhere_is_not_followed(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    address = f"mmost://{web.url.removeprefix('http://')}/{'k' * 24}"
    rule(channel(cluster, ChannelKind.SERVICE, address, NOW), NOW)
    web.statuses = [307]

    pass_time(cluster, NOW)

    assert [one.path for one in web.posts] == [f"/hooks/{'k' * 24}"]
    assert Delivery.objects.get().state == DeliveryState.WAITING


def test_what_is_long_over_is_forgotten(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    rule(hook(cluster, web), NOW)
    pass_time(cluster, NOW)
    forget_old(now=NOW + 2 * MEMORY)
    assert ToldIncident.objects.count() == 1
    Incident.objects.update(ended_at=NOW + MINUTE)
    pass_time(cluster, NOW + 2 * MINUTE)

    forget_old(now=NOW + MEMORY - timedelta(days=1))
    # The first message is forgotten already, what it told is not before it is over.
    assert (ToldIncident.objects.count(), Delivery.objects.count()) == (1, 1)
    forget_old(now=NOW + MEMORY + timedelta(days=1))
    assert (ToldIncident.objects.count(), Delivery.objects.count()) == (0, 0)


def test_channel_that_is_removed_takes_its_waiting_messages_along(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    by = hook(cluster, web)
    rule(by, NOW)
    look(cluster.organisation.pk, now=NOW)
    by.delete()

    pass_time(cluster, NOW, minutes=2)

    assert web.posts == []
    assert not Delivery.objects.exists()


def test_worker_has_the_rights_for_it(cluster: Cluster, incident: Incident, web: WebSink) -> None:
    rule(hook(cluster, web), NOW)
    make_roles()

    with acting_as(DatabaseRole.WORKER):
        pass_time(cluster, NOW)

    assert len(web.posts) == 1


def test_who_stated_it_is_in_the_audit_chain(cluster: Cluster, web: WebSink) -> None:
    rule(hook(cluster, web), NOW)

    told = AuditEntry.objects.filter(organisation=cluster.organisation).order_by("number")
    assert [(one.actor, one.action) for one in told][-2:] == [
        ("command line", "state a channel"), ("command line", "state a rule of notifications"),
    ]  # fmt: skip


def told_by(cluster: Cluster, web: WebSink, **stated: Any) -> bool:
    """Whether a rule that states this tells of the incident."""
    rule(hook(cluster, web), NOW, **stated)
    pass_time(cluster, NOW)
    return bool(web.posts)


TAGS = {"web-1": ["label.app=shop"], "web-2": ["label.app=idle"], "web-3": ["label.app=batch"]}


def tag_all(cluster: Cluster) -> None:
    for name, tags in TAGS.items():
        Workload.objects.filter(organisation=cluster.organisation, name=name).update(tags=tags)
    for name, app in (("sellers", "shop"), ("readers", "idle")):
        Team.objects.create(
            organisation=cluster.organisation, name=name, tags=[f"label.app={app}"]
        )
    Team.objects.create(organisation=cluster.organisation, name="nobody", tags=[])


@pytest.mark.parametrize(
    ("stated", "is_told"),
    [
        ({"tags": ["label.app=shop"]}, True),  # It suffers.
        ({"tags": ["label.app=batch"]}, True),  # It takes more than its due.
        ({"tags": ["label.app=idle"]}, False),  # It uses the uplink, and nothing more.
        ({"teams": ["sellers"]}, True),
        ({"teams": ["readers"]}, False),
        ({"teams": ["readers"], "tags": ["label.app=shop"]}, True),
        # Who owns nothing, or is not there any more, is told of nothing: not of all.
        ({"teams": ["nobody"]}, False),
        ({"teams": ["was removed"]}, False),
    ],
    ids=str,
)
def test_rule_of_a_team_or_tag_tells_what_its_workloads_cause_or_suffer(
    cluster: Cluster, incident: Incident, web: WebSink, stated: dict[str, Any], *, is_told: bool
) -> None:
    tag_all(cluster)

    assert told_by(cluster, web, **stated) is is_told


def test_stall_concerns_everybody_who_uses_the_resource(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    tag_all(cluster)
    Incident.objects.update(stalled_windows=3, victims=[], aggressors=[])

    assert told_by(cluster, web, teams=["readers"])


def test_workload_of_the_same_name_elsewhere_has_no_say(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    other = make_cluster("other-fleet")
    Workload.objects.filter(organisation=other.organisation).update(tags=["label.app=shop"])
    Team.objects.create(organisation=other.organisation, name="sellers", tags=["label.app=shop"])

    assert not told_by(cluster, web, teams=["sellers"], tags=["label.app=shop"])


def test_cost_of_a_look_does_not_grow_with_rules_and_incidents(
    cluster: Cluster, web: WebSink
) -> None:
    """Of what is open, and told already."""

    Workload.objects.update(tags=["tag=a"])

    def statements_of(number: int) -> int:
        for one in range(number):
            made = Resource.objects.create(
                organisation=cluster.organisation, name=f"lun-{number}-{one}", kind="datastore",
                unit="iops", capacity=1000.0, mode="floor", threshold=15.0, activity_floor=1.0,
            )  # fmt: skip
            Incident.objects.create(
                organisation=cluster.organisation, resource=made, started_at=NOW, windows=9,
                victims=[{"workload": "web-1"}], stalled_windows=2,
            )  # fmt: skip
            Team.objects.create(
                organisation=cluster.organisation, name=f"team {number} {one}", tags=["tag=a"]
            )
            rule(
                hook(cluster, web), NOW, name=f"rule {number} {one}", tags=["tag=a"],
                teams=[f"team {number} {one}"],
            )  # fmt: skip
        look(cluster.organisation.pk, now=NOW)
        with CaptureQueriesContext(connection) as captured:
            assert look(cluster.organisation.pk, now=NOW + MINUTE) == 0
        return len(captured)

    assert statements_of(1) == statements_of(12) <= 15
