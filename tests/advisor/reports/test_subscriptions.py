"""From a subscription to a letter that somebody got, over a real mail server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection

from accounts.actor import COMMAND_LINE
from accounts.models.audit import AuditEntry
from advisor.decisions import report_subscriptions
from advisor.errors import DecisionRefused, ExportImpossible
from advisor.models import (
    ChannelKind,
    Delivery,
    DeliveryState,
    FailedWork,
    Incident,
    NotificationChannel,
    ReportDelivery,
    ReportSubscription,
    Team,
    Workload,
)
from advisor.notifications import deliver
from advisor.reports import once, subscriptions
from config.database_roles import DatabaseRole
from tests.advisor.notifications.conftest import NOW
from tests.advisor.notifications.receivers import MailSink, mail_sink
from tests.advisor.notifications.support import channel
from tests.advisor.scenario import Cluster, make_cluster
from tests.config.roles import acting_as, make_roles

DUE = NOW.replace(hour=7) + timedelta(days=1)


@pytest.fixture
def cluster(db: None, settings: Any) -> Cluster:
    settings.PUBLIC_URL = "https://sluice.example.net"
    return make_cluster()


@pytest.fixture
def mail(settings: Any) -> Iterator[MailSink]:
    with mail_sink() as sink:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.HAS_MAIL, settings.EMAIL_HOST, settings.EMAIL_PORT = True, "127.0.0.1", sink.port
        settings.EMAIL_TIMEOUT = 5
        yield sink


def letters(cluster: Cluster) -> NotificationChannel:
    return channel(cluster, ChannelKind.MAIL, "ann@example.org", NOW)


def daily(
    cluster: Cluster, by: NotificationChannel | None = None, **stated: Any
) -> ReportSubscription:
    row = ReportSubscription(
        organisation=cluster.organisation, channel=by or letters(cluster),
        **{"name": "yesterday", "every": "daily", "hour": 7, **stated},
    )  # fmt: skip
    return report_subscriptions.state_subscription(row, actor=COMMAND_LINE, now=NOW)


def incident(cluster: Cluster) -> Incident:
    """An hour at noon in which web-1 had half of its due."""
    return Incident.objects.create(
        organisation=cluster.organisation, resource=cluster.uplink,
        started_at=NOW, ended_at=NOW + timedelta(hours=1),
        victims=[{"workload": "web-1", "rate": 1.0, "shortfall_ratio": 0.5}],
        aggressors=[{"workload": "web-3"}],
    )  # fmt: skip


def work(now: datetime) -> None:
    """What the scheduler and workers do at this moment."""
    for one in subscriptions.organisations_with_due_reports(now=now):
        while subscriptions.make_next(one, now=now):
            pass
    for one in deliver.organisations_with_messages(now=now):
        while deliver.deliver_next(one, now=now):
            pass


@pytest.mark.pdf
def test_letter_has_the_figures_and_the_pdf_at_its_hour_and_once(
    cluster: Cluster, mail: MailSink
) -> None:
    incident(cluster)
    daily(cluster)

    work(DUE - timedelta(minutes=1))
    assert mail.letters == []
    work(DUE)
    work(DUE + timedelta(minutes=1))

    (letter,) = mail.letters
    plain, html = letter.get_body(("plain",)), letter.get_body(("html",))
    assert plain is not None
    assert html is not None
    subject = " ".join(str(letter["Subject"]).split())
    assert "yesterday: All workloads of" in subject
    assert subject.endswith("2026-11-20, UTC")
    assert "1 incident took 30 minutes of service." in plain.get_content()
    assert "web-1" in html.get_content()
    assert (
        "https://sluice.example.net/reports/?period=days&first=2026-11-20" in plain.get_content()
    )
    (file,) = letter.iter_attachments()
    assert file.get_filename() == "sluice-report-2026-11-20.pdf"
    assert bytes(file.get_content()).startswith(b"%PDF-")


def test_next_day_has_its_own_letter_and_files_are_not_kept(
    cluster: Cluster, mail: MailSink
) -> None:
    daily(cluster)

    for days in range(3):
        work(DUE + timedelta(days=days))

    subjects = [" ".join(str(one["Subject"]).split())[-15:] for one in mail.letters]
    assert subjects == ["2026-11-20, UTC", "2026-11-21, UTC", "2026-11-22, UTC"]
    assert {bytes(one.file) for one in ReportDelivery.objects.all()} == {b""}


def test_after_a_pause_the_newest_alone_is_sent(cluster: Cluster, mail: MailSink) -> None:
    row = daily(cluster)

    work(DUE + timedelta(days=4, hours=3))

    (letter,) = mail.letters
    assert "2026-11-24" in str(letter["Subject"])
    row.refresh_from_db()
    assert row.due_at == DUE + timedelta(days=5)


def test_now_is_sent_beside_its_turns(cluster: Cluster, mail: MailSink) -> None:
    row = daily(cluster)

    report_subscriptions.send_now(row, actor=COMMAND_LINE, now=NOW)
    work(NOW)
    work(DUE)

    assert ["2026-11-19" in str(mail.letters[0]["Subject"]), len(mail.letters)] == [True, 2]


def test_team_gets_its_own_workloads_alone(cluster: Cluster, mail: MailSink) -> None:
    Workload.objects.filter(name="web-2").update(tags=["label.team=shop"])
    team = Team.objects.create(
        organisation=cluster.organisation, name="shop", tags=["label.team=shop"]
    )
    daily(cluster, team=team)

    work(DUE)

    html = mail.letters[0].get_body(("html",))
    assert html is not None
    assert "web-2" in html.get_content()
    assert "web-1" not in html.get_content()


def test_names_are_text_in_a_letter(cluster: Cluster, mail: MailSink) -> None:
    Workload.objects.filter(name="web-1").update(name="<script>x</script>\u202e")
    daily(cluster, name="a <b>")

    work(DUE)

    html = mail.letters[0].get_body(("html",))
    assert html is not None
    assert "<script" not in html.get_content()
    assert "\u202e" not in html.get_content()


def test_letter_without_pdf_says_why(
    cluster: Cluster, mail: MailSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(html: str) -> bytes:
        raise ExportImpossible("this server makes no PDF: libpango is missing")

    monkeypatch.setattr(once, "pdf_of", none)
    daily(cluster)

    work(DUE)

    (letter,) = mail.letters
    plain = letter.get_body(("plain",))
    assert plain is not None
    assert "There is no PDF with this letter" in plain.get_content()
    assert list(letter.iter_attachments()) == []


@pytest.mark.django_db(transaction=True)
def test_two_schedulers_send_one_letter(cluster: Cluster, mail: MailSink) -> None:
    daily(cluster)
    together = Barrier(4)

    def one_of_them() -> None:
        together.wait(10)
        try:
            subscriptions.make_next(cluster.organisation.pk, now=DUE)
        finally:
            connection.close()

    threads = [Thread(target=one_of_them) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work(DUE)

    assert len(mail.letters) == 1


def test_what_a_killed_worker_left_is_made_by_the_next_and_not_by_both(
    cluster: Cluster, mail: MailSink
) -> None:
    row = daily(cluster)
    first = subscriptions._claim(cluster.organisation.pk, DUE)
    assert first is not None

    work(DUE + timedelta(minutes=1))
    assert mail.letters == []
    work(DUE + subscriptions.CLAIM)
    assert len(mail.letters) == 1
    # The first was only slow: its turn is over.
    report = subscriptions._made(row, DUE)
    subscriptions._put_down(first, report, ("", b"", ""), link="", now=DUE)
    work(DUE + subscriptions.CLAIM)

    assert len(mail.letters) == 1


def test_report_that_fails_is_tried_again_then_stopped_and_told(
    cluster: Cluster, mail: MailSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> str:
        raise ExportImpossible("the template reports/mail.html raises KeyError: 'x'")

    monkeypatch.setattr(once, "rendered", broken)
    row = daily(cluster)

    for number in range(5):
        at = DUE + number * subscriptions.CLAIM
        try:
            work(at)
        except ExportImpossible:
            continue
    work(DUE + 5 * subscriptions.CLAIM)

    row.refresh_from_db()
    assert (row.failures, row.stopped_at is not None) == (3, True)
    assert "3 reports in a row failed" in row.stopped_because
    assert "mail.html raises KeyError" in row.stopped_because
    (letter,) = mail.letters
    assert letter["Subject"] == "[Sluice] yesterday is stopped"


def test_letters_that_nobody_takes_stop_it(cluster: Cluster, mail: MailSink) -> None:
    mail.answer = "554 go away"
    row = daily(cluster)

    for days in range(3):
        work(DUE + timedelta(days=days))

    row.refresh_from_db()
    assert "it could not be sent: the mail server answers 554" in row.stopped_because
    assert Delivery.objects.filter(state=DeliveryState.GIVEN_UP).count() == 3
    failed = FailedWork.objects.get()
    assert failed.reason.startswith("yesterday: 3 reports in a row failed; the last: it could not")
    assert failed.solved_at is None


def test_health_names_a_stopped_one_until_it_is_started_again(
    cluster: Cluster, mail: MailSink
) -> None:
    mail.answer = "554 go away"
    row = daily(cluster)
    for days in range(3):
        work(DUE + timedelta(days=days))

    report_subscriptions.start_again(row, actor=COMMAND_LINE, now=DUE + timedelta(days=3))

    assert FailedWork.objects.get().solved_at == DUE + timedelta(days=3)


def test_letter_that_is_taken_forgives_what_failed_before(
    cluster: Cluster, mail: MailSink
) -> None:
    row = daily(cluster)
    mail.answer = "554 go away"
    work(DUE)
    mail.answer = "250 OK"
    work(DUE + timedelta(days=1))

    row.refresh_from_db()
    assert row.failures == 0


def test_stopped_one_goes_on_at_its_next_turn(cluster: Cluster, mail: MailSink) -> None:
    row = daily(cluster)
    report_subscriptions.stop(row, actor=COMMAND_LINE, now=NOW)
    work(DUE)
    assert mail.letters == []

    report_subscriptions.start_again(row, actor=COMMAND_LINE, now=DUE)
    work(DUE)
    assert mail.letters == []
    work(DUE + timedelta(days=1))

    assert len(mail.letters) == 1


def test_removed_one_sends_nothing_that_waited(cluster: Cluster, mail: MailSink) -> None:
    row = daily(cluster)
    subscriptions.make_next(cluster.organisation.pk, now=DUE)

    report_subscriptions.remove(row, actor=COMMAND_LINE, now=DUE)
    work(DUE)

    assert mail.letters == []
    told = [one.action for one in AuditEntry.objects.order_by("number")]
    assert told[-2:] == ["state a subscription of reports", "remove a subscription of reports"]


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ({"every": "often"}, "it comes daily, weekly, monthly"),
        ({"hour": 24}, "from 0 to 23"),
        ({"zone": "Mars/Olympus"}, "is not a time zone"),
        ({"tag": "a\nb"}, "letters that can be printed"),
        ({"name": ""}, "name"),
    ],
)
def test_what_cannot_be_is_refused(
    cluster: Cluster, mail: MailSink, stated: dict[str, Any], reason: str
) -> None:
    with pytest.raises(DecisionRefused, match=reason):
        daily(cluster, **stated)


def test_channel_that_sends_no_mail_is_refused(cluster: Cluster, settings: Any) -> None:
    settings.NOTIFY_INSIDE = True
    by = channel(cluster, ChannelKind.WEBHOOK, "https://a.example.org/", NOW)

    with pytest.raises(DecisionRefused, match="sends no mail"):
        daily(cluster, by)


def test_nothing_of_another_organisation_is_in_a_letter(cluster: Cluster, mail: MailSink) -> None:
    other = make_cluster("lake")
    incident(other)
    daily(cluster)

    work(DUE)

    plain = mail.letters[0].get_body(("plain",))
    assert plain is not None
    assert "There was no incident." in plain.get_content()


def test_worker_may_do_all_of_it(cluster: Cluster, mail: MailSink) -> None:
    incident(cluster)
    daily(cluster)
    make_roles()

    with acting_as(DatabaseRole.WORKER):
        work(DUE)

    assert len(mail.letters) == 1
