"""`sluice report`: what people and programs get of a period, and what is refused with a reason."""

from __future__ import annotations

import csv
import json
from datetime import date, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import Organisation
from advisor.models import (
    DemandOutlook,
    Incident,
    NotificationChannel,
    Policy,
    ReportSubscription,
    Workload,
)
from tests.advisor.scenario import Cluster, make_cluster, propose

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def cluster() -> Cluster:
    cluster = make_cluster()
    Organisation.objects.filter(slug="other").delete()
    return cluster


def sluice(*words: str) -> str:
    out = StringIO()
    call_command("report", *words, stdout=out)
    return out.getvalue()


def yesterday(cluster: Cluster) -> None:
    """An hour at noon in which web-1 had half of what it was entitled to."""
    noon = timezone.now().replace(hour=12, minute=0, second=0, microsecond=0)
    began = noon - timedelta(days=1)
    Incident.objects.create(
        organisation=cluster.organisation, resource=cluster.uplink, started_at=began,
        ended_at=began + timedelta(hours=1), aggressors=[{"workload": "web-3"}],
        victims=[{"workload": "web-1", "rate": 1.0, "shortfall_ratio": 0.5}],
    )  # fmt: skip


def test_people_read_what_was_lost_and_by_whom(cluster: Cluster) -> None:
    yesterday(cluster)

    text = sluice("--period", "last-day")

    assert "30.0 min lost" in text
    assert "h1/up0: 60 min, 30.0 lost by web-1; caused by web-3" in text
    assert "not measured" in text


def test_programs_get_the_same(cluster: Cluster) -> None:
    yesterday(cluster)

    found = json.loads(sluice("--period", "last-day", "--json"))

    assert (found["lost_min"], found["promise_kept"]) == (30, None)
    assert [one["name"] for one in found["workloads"]] == ["web-1", "web-2", "web-3"]


def test_what_was_done_and_what_becomes_full_is_told(cluster: Cluster) -> None:
    row = propose(cluster)
    Policy.objects.create(
        organisation=cluster.organisation, resource=cluster.uplink, version=1, allocations=[],
        recommendation=row, created_at=timezone.now() - timedelta(days=1),
    )  # fmt: skip
    DemandOutlook.objects.create(
        resource=cluster.uplink, last_day=date(2026, 11, 19), soonest_day=date(2026, 12, 1),
        median_day=date(2026, 12, 7), latest_day=date(2026, 12, 9),
    )  # fmt: skip

    text = sluice("--period", "last-day")

    assert "h1/up0: Reserve bandwidth for web-1 on h1/up0; not measured; prediction: not" in text
    assert "h1/up0: full between 2026-12-01 and 2026-12-09, about 2026-12-07 (80 %)" in text
    found = json.loads(sluice("--period", "last-day", "--json"))
    assert (found["actions"]["count"], found["full_days"][0]["median"]) == (1, "2026-12-07")


def test_csv_has_a_line_for_each_workload_and_no_formulas(cluster: Cluster) -> None:
    Workload.objects.filter(name="web-2").update(name='=cmd()"\u202e<b>')

    rows = list(csv.DictReader(StringIO(sluice("--csv"))))

    assert len(rows) == 3
    assert [one["workload"] for one in rows if "cmd" in one["workload"]] == ["'=cmd()\"\u202e<b>"]
    assert {one["promise_kept"] for one in rows} == {""}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--period", "often"), "is no period"),
        (("--period", "2026-01-01..2026-12-31"), "at most 92 days"),
        (("--zone", "Mars/Olympus"), "is not a time zone"),
        (("--team", "shop"), 'no team "shop"; there are: none'),
    ],
)
def test_refusals_say_what_can_be_written(words: tuple[str, ...], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        sluice(*words)


def test_report_without_workloads_says_so() -> None:
    assert "There were no such workloads" in sluice("--tag", "label.team=none")


@pytest.fixture
def letters(cluster: Cluster) -> NotificationChannel:
    """A channel of mail."""
    return NotificationChannel.objects.create(
        organisation=cluster.organisation, name="letters", kind="mail", address="a@example.org"
    )


SUBSCRIBE = ("subscribe", "mondays", "--channel", "letters", "--every", "weekly")


def test_report_is_subscribed_to_listed_and_unsubscribed(letters: NotificationChannel) -> None:
    said = sluice(*SUBSCRIBE, "--hour", "6", "--zone", "Europe/Berlin", "--tag", "label.app=db")

    row = ReportSubscription.objects.get()
    assert (row.every, row.hour, row.zone, row.tag) == (
        "weekly", 6, "Europe/Berlin", "label.app=db",
    )  # fmt: skip
    assert "weekly at 6:00, Europe/Berlin" in said
    assert "label.app=db" in said
    sluice("unsubscribe", "mondays")
    assert not ReportSubscription.objects.exists()
    assert sluice("subscriptions").startswith("none: sluice report subscribe")


def test_subscription_is_stopped_started_and_sent_now(letters: NotificationChannel) -> None:
    sluice(*SUBSCRIBE)

    assert "stopped: command line stopped it" in sluice("stop", "mondays")
    assert "in use" in sluice("start", "mondays")
    before = timezone.now()
    sluice("send", "mondays")

    assert before <= ReportSubscription.objects.get().due_at <= timezone.now()


def test_subscriptions_are_json_for_programs(letters: NotificationChannel) -> None:
    (told,) = json.loads(sluice("--json", *SUBSCRIBE))

    row = ReportSubscription.objects.get()
    assert (told["name"], told["channel"], told["every"], told["hour"]) == (
        "mondays", "letters", "weekly", 7,
    )  # fmt: skip
    assert (told["team"], told["tag"], told["zone"]) == ("", "", "UTC")
    assert told["due_at"] == row.due_at.isoformat()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("stop", "tuesdays"), 'there is no "tuesdays"'),
        (("unsubscribe", ""), 'there is no ""'),
        ((*SUBSCRIBE[:3], "pager", *SUBSCRIBE[4:]), 'there is no channel "pager"'),
        ((*SUBSCRIBE, "--team", "shop"), 'there is no team "shop"'),
        ((*SUBSCRIBE, "--hour", "24"), "from 0 to 23"),
        ((*SUBSCRIBE, "--zone", "Mars"), "Mars"),
        ((*SUBSCRIBE, "--every", "hourly"), "hourly"),
    ],
    ids=str,
)
def test_subscription_that_cannot_be_is_refused_with_its_reason(
    letters: NotificationChannel, words: tuple[str, ...], why: str
) -> None:
    with pytest.raises(CommandError, match=why):
        sluice(*words)

    assert not ReportSubscription.objects.exists()
