"""What is gathered, in quiet hours or for a digest, comes as one message and is not lost."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.actor import COMMAND_LINE
from advisor.core.digest import Digest, Rhythm
from advisor.models import (
    ChannelKind,
    Delivery,
    DeliveryState,
    Incident,
    NotificationChannel,
    Resource,
    ToldIncident,
)
from advisor.notifications import deliver
from advisor.notifications.look import held_back, look
from advisor.notifications.message import trial_message
from advisor.notifications.state import remove_stated, state_channel
from config.database_roles import DatabaseRole
from tests.advisor.notifications.conftest import NOW
from tests.advisor.notifications.receivers import MailSink, WebSink
from tests.advisor.notifications.support import channel, pass_time, rule
from tests.advisor.scenario import Cluster, make_cluster
from tests.config.roles import acting_as, make_roles

MINUTE = timedelta(minutes=1)
QUIET = ["Mon-Sun 11:00 9h"]
MORNING = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
HOURLY = Digest(rhythm=Rhythm.HOUR)


def by(cluster: Cluster, web: WebSink, digest: Digest | None = None) -> NotificationChannel:
    return state_channel(
        organisation=cluster.organisation, name="hook", kind=ChannelKind.WEBHOOK,
        address=f"{web.url}/hook", digest=digest, actor=COMMAND_LINE, now=NOW,
    ).row  # fmt: skip


def storage(cluster: Cluster, name: str) -> Resource:
    return Resource.objects.create(
        organisation=cluster.organisation, name=name, kind="datastore", unit="iops",
        capacity=1000.0, mode="floor", threshold=15.0, activity_floor=1.0,
    )  # fmt: skip


def slow(resource: Resource, began: float, ended: float | None = None) -> Incident:
    return Incident.objects.create(
        organisation=resource.organisation, resource=resource, windows=9, peak_value=40.0,
        threshold=15.0, started_at=NOW + began * MINUTE,
        ended_at=None if ended is None else NOW + ended * MINUTE,
        aggressors=[{"workload": f"hog of {resource.name}"}],
    )  # fmt: skip


def bodies(web: WebSink) -> list[Any]:
    return [json.loads(one.body) for one in web.posts]


def test_night_is_one_message_in_the_morning(cluster: Cluster, web: WebSink) -> None:
    rule(by(cluster, web), NOW, quiet=QUIET)
    nfs, lun = storage(cluster, "nfs-07"), storage(cluster, "lun-1")
    pass_time(cluster, NOW)
    slow(nfs, 1)
    pass_time(cluster, NOW + MINUTE, minutes=3)
    Incident.objects.filter(resource=nfs).update(ended_at=NOW + 31 * MINUTE)
    slow(lun, 40)
    pass_time(cluster, NOW + 41 * MINUTE, minutes=2)

    assert web.posts == []
    held = held_back(cluster.organisation.pk, now=NOW + 50 * MINUTE)
    assert {(one.trouble.resource, one.until) for own in held.values() for one in own} == {
        ("nfs-07", MORNING), ("lun-1", MORNING),
    }  # fmt: skip
    pass_time(cluster, MORNING - MINUTE, minutes=10)

    (body,) = bodies(web)
    assert body["subject"] == "2 incidents, one goes on: lun-1 and nfs-07"
    assert body["lines"][0].startswith("lun-1 is congested since 2026-11-20 12:40 UTC.")
    assert body["lines"][1].startswith(
        "nfs-07 was congested for 30 minutes from 2026-11-20 12:01 UTC on."
    )
    assert "More than its due takes: hog of nfs-07." in body["lines"][1]
    assert [one["words"] for one in body["links"]] == ["lun-1", "nfs-07", "Sluice"]
    assert {one["resource"]: one["is_over"] for one in body["facts"]["incidents"]} == {
        "lun-1": False, "nfs-07": True,
    }  # fmt: skip
    # What went on in the morning is over later, and told by itself.
    Incident.objects.filter(resource=lun).update(ended_at=MORNING + 20 * MINUTE)
    pass_time(cluster, MORNING + 21 * MINUTE)
    assert [one["subject"] for one in bodies(web)[1:]] == ["Resolved: lun-1 is congested"]


def test_stall_of_the_night_is_told_at_once_and_not_again(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    rule(by(cluster, web), NOW, quiet=QUIET)
    pass_time(cluster, NOW)
    Incident.objects.update(stalled_windows=3)

    pass_time(cluster, NOW + MINUTE, minutes=3)
    assert [one["subject"] for one in bodies(web)] == ["Worse: h1/up0 is stalled"]
    pass_time(cluster, MORNING, minutes=3)

    assert len(web.posts) == 1
    assert not Delivery.objects.filter(state=DeliveryState.GATHERED).exists()


def test_false_alarm_of_the_night_is_told_to_nobody(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    rule(by(cluster, web), NOW, quiet=QUIET)
    pass_time(cluster, NOW)
    Incident.objects.update(withdrawn_at=NOW)

    pass_time(cluster, NOW + MINUTE)
    pass_time(cluster, MORNING, minutes=3)

    assert web.posts == []
    assert not Delivery.objects.exists()
    assert not ToldIncident.objects.exists()


def test_digest_goes_at_each_full_hour_and_not_without_news(
    cluster: Cluster, web: WebSink
) -> None:
    rule(by(cluster, web, HOURLY), NOW)
    for minute in range(240):
        began = (1, 20, 59, 130)
        for number, first in enumerate(began):
            if minute == first:
                slow(storage(cluster, f"lun-{number}"), first)
            elif minute == first + 3:
                Incident.objects.filter(ended_at=None).update(ended_at=NOW + minute * MINUTE)
        pass_time(cluster, NOW + minute * MINUTE)

    assert [one["subject"] for one in bodies(web)] == [
        "3 incidents, one goes on: lun-2, lun-0 and lun-1",
        "lun-2 was congested",
        "lun-3 was congested",
    ]


def test_digest_that_is_off_again_sends_what_it_has(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    rule(by(cluster, web, HOURLY), NOW + MINUTE)
    pass_time(cluster, NOW + MINUTE)
    assert web.posts == []

    by(cluster, web)
    pass_time(cluster, NOW + 2 * MINUTE)

    assert len(web.posts) == 1


def test_two_rules_of_a_channel_tell_the_same_once_in_a_digest(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    made = by(cluster, web, HOURLY)
    rule(made, NOW, name="all")
    rule(made, NOW, name="missed", least=2)

    pass_time(cluster, NOW + MINUTE, minutes=60)

    (body,) = bodies(web)
    assert (body["subject"], len(body["lines"])) == (
        "h1/up0 is congested, and a reservation is missed", 1,
    )  # fmt: skip


def test_channel_that_is_stopped_gives_up_what_it_gathered(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    made = by(cluster, web, HOURLY)
    rule(made, NOW)
    pass_time(cluster, NOW + MINUTE)
    NotificationChannel.objects.update(failures=deliver.MOST_FAILURES - 1)
    web.statuses = [404]
    Delivery.objects.create(
        organisation=cluster.organisation, channel=made, next_at=NOW, created_at=NOW,
        key=uuid4(), message=trial_message("hook").plain(),
    )  # fmt: skip

    pass_time(cluster, NOW + 2 * MINUTE, minutes=60)

    assert len(web.posts) == 1
    assert set(Delivery.objects.values_list("state", flat=True)) == {"given up"}


def test_what_a_removed_rule_gathered_goes_with_it(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    made = rule(by(cluster, web, HOURLY), NOW)
    pass_time(cluster, NOW + MINUTE)

    remove_stated(made, actor=COMMAND_LINE, now=NOW)
    pass_time(cluster, NOW + 2 * MINUTE, minutes=60)

    assert web.posts == []
    assert not Delivery.objects.exists()


def test_letter_of_a_digest_has_each_name_as_text(cluster: Cluster, mail: MailSink) -> None:
    made = channel(cluster, ChannelKind.MAIL, "ann@example.org", NOW)
    NotificationChannel.objects.update(rhythm="day", hour=13)
    rule(made, NOW)
    made.refresh_from_db()
    slow(storage(cluster, "<b>lun"), 1)
    slow(storage(cluster, "\u202enfs"), 2)

    pass_time(cluster, NOW + 3 * MINUTE, minutes=60)

    (letter,) = mail.letters
    body = letter.get_body(("html",))
    assert body is not None
    assert letter["Subject"].strip() == "[Sluice] 2 incidents, all go on: <b>lun and nfs"
    assert not {"<b>", "\u202e"} & {*re.findall("<b>|\u202e", body.get_content())}


@pytest.mark.django_db(transaction=True)
def test_two_schedulers_at_once_send_one_message(web: WebSink, settings: Any) -> None:
    settings.NOTIFY_INSIDE = True
    cluster = make_cluster()
    for number in range(5):
        slow(storage(cluster, f"lun-{number}"), 0)
    rule(by(cluster, web, HOURLY), NOW)
    look(cluster.organisation.pk, now=NOW + MINUTE)
    together, found = Barrier(4), list[int]()

    def scheduler() -> None:
        together.wait()
        found.append(look(cluster.organisation.pk, now=NOW + 60 * MINUTE))
        connection.close()

    threads = [Thread(target=scheduler) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert sum(found) == 1
    assert Delivery.objects.get().message["subject"].startswith("5 incidents, all go on: lun-0")


def test_worker_has_the_rights_to_gather(
    cluster: Cluster, incident: Incident, web: WebSink
) -> None:
    rule(by(cluster, web, HOURLY), NOW)
    make_roles()

    with acting_as(DatabaseRole.WORKER):
        pass_time(cluster, NOW + MINUTE)
        Incident.objects.filter(pk=incident.pk).update(ended_at=NOW + 2 * MINUTE)
        pass_time(cluster, NOW + 3 * MINUTE, minutes=60)

    assert len(web.posts) == 1


def test_cost_of_a_digest_does_not_grow_with_what_it_tells(cluster: Cluster, web: WebSink) -> None:
    def statements_of(number: int) -> int:
        Incident.objects.all().delete()
        for one in range(number):
            slow(storage(cluster, f"lun-{number}-{one}"), 0)
        rule(by(cluster, web, HOURLY), NOW, name=f"rule {number}")
        look(cluster.organisation.pk, now=NOW + number * MINUTE)
        with CaptureQueriesContext(connection) as captured:
            assert look(cluster.organisation.pk, now=NOW + (60 * number + 1) * MINUTE) == 1
        return len(captured)

    few = statements_of(1)
    Delivery.objects.all().delete()
    ToldIncident.objects.all().delete()
    assert statements_of(30) == few <= 20
