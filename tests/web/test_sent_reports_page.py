"""Reports that leave the house: who has them sent and shared, and what a link opens."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core import signing
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, Organisation
from advisor.models import (
    NotificationChannel,
    ReportDelivery,
    ReportSubscription,
    SharedReport,
    Workload,
)
from advisor.notifications.deliver import deliver_next
from advisor.reports import shared, subscriptions
from config.database_roles import DatabaseRole
from tests.advisor.notifications.receivers import MailSink, mail_sink
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of

FORM = {
    "name": "mondays", "channel": "letters", "every": "weekly", "hour": "7",
    "zone": "Europe/Berlin", "team": "", "tag": "",
}  # fmt: skip
TODAY = {
    "period": "days", "first": "2026-11-20", "last": "2026-11-20", "zone": "UTC", "team": "",
    "tag": "", "days_open": "30",
}  # fmt: skip


@pytest.fixture
def admin(fleet: Fleet) -> Client:
    return client_of(fleet.people.owner)


@pytest.fixture
def mail(fleet: Fleet, settings: Any) -> Iterator[MailSink]:
    NotificationChannel.objects.create(
        organisation=fleet.organisation, name="letters", kind="mail", address="ann@example.org"
    )
    with mail_sink() as sink:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.HAS_MAIL, settings.EMAIL_HOST, settings.EMAIL_PORT = True, "127.0.0.1", sink.port
        yield sink


def send(client: Client, verb: str, form: dict[str, str] | None = None, *of: int) -> Page:
    return page_of(client.post(reverse(verb, args=of), form or {}, follow=True))


def text_of(page: Page) -> str:
    return page.root.all_text()


def test_admin_has_a_report_sent_now_stops_starts_and_removes_it(
    admin: Client, fleet: Fleet, mail: MailSink
) -> None:
    assert "mondays is set." in text_of(send(admin, "set-subscription", FORM))
    row = ReportSubscription.objects.get()
    assert (row.every, row.hour, row.zone) == ("weekly", 7, "Europe/Berlin")

    assert "is made and sent now" in text_of(send(admin, "send-report", {}, row.pk))
    assert subscriptions.make_next(fleet.organisation.pk, now=fleet.now)
    assert deliver_next(fleet.organisation.pk, now=fleet.now)
    (letter,) = mail.letters
    assert "2026-11-09 to 2026-11-15, Europe/Berlin" in str(letter["Subject"])

    assert "owner stopped it" in text_of(send(admin, "stop-subscription", {}, row.pk))
    assert "mondays goes on." in text_of(send(admin, "start-subscription", {}, row.pk))
    assert "no mondays any more" in text_of(send(admin, "remove-subscription", {}, row.pk))
    assert not ReportSubscription.objects.exists()


def test_admin_mails_the_report_of_the_page_once(
    admin: Client, fleet: Fleet, mail: MailSink
) -> None:
    channel = NotificationChannel.objects.get()
    page = page_of(admin.get(reverse("reports"), {"period": "last-day"}))
    form = page.fields("#mail-report form")
    assert form["channel"] == str(channel.pk)

    assert "on its way by letters" in text_of(send(admin, "mail-report", form))
    assert deliver_next(fleet.organisation.pk, now=fleet.now)

    (letter,) = mail.letters
    assert "All workloads of Northgate Cloud, 2026-11-19, UTC" in str(letter["Subject"])
    (pdf,) = (one for one in letter.walk() if one.get_content_type() == "application/pdf")
    assert pdf.get_payload(decode=True).startswith(b"%PDF-")
    assert not ReportSubscription.objects.exists()
    assert AuditEntry.objects.order_by("-number")[0].action == "mail a report"
    # Nothing that was sent is kept twice.
    assert bytes(ReportDelivery.objects.get().file) == b""


def test_report_goes_once_by_no_channel_of_others_and_by_no_other_kind(
    admin: Client, operator: Client, fleet: Fleet, mail: MailSink
) -> None:
    channel = NotificationChannel.objects.get()
    address = reverse("mail-report")

    assert operator.post(address, {"channel": channel.pk}).status_code == 403
    assert admin.post(address, {"channel": "0"}).status_code == 404
    assert admin.post(address, {"channel": "x"}).status_code == 404
    NotificationChannel.objects.update(stopped_at=fleet.now, stopped_because="refused")
    assert "is stopped: refused" in text_of(
        send(admin, "mail-report", {"channel": str(channel.pk)})
    )
    NotificationChannel.objects.update(stopped_at=None, kind="webhook")
    assert "sends no mail" in text_of(send(admin, "mail-report", {"channel": str(channel.pk)}))
    assert not ReportDelivery.objects.exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"channel": "nobody"}, 'there is no channel "nobody"'),
        ({"hour": "25"}, "an hour is from 0 to 23"),
        ({"hour": "\u0663"}, "an hour is from 0 to 23"),
        ({"zone": "Mars"}, "is not a time zone"),
        ({"team": "none"}, 'there is no team "none"'),
        ({"name": ""}, "name"),
        ({"tag": "a\x00"}, "cannot be stored"),
    ],
)
def test_what_cannot_be_set_is_told_and_stays_in_the_form(
    admin: Client, mail: MailSink, change: dict[str, str], reason: str
) -> None:
    answer = admin.post(reverse("set-subscription"), FORM | {"tag": "label.a=b"} | change)

    page = page_of(answer, status=400)
    (said,) = page.elements(".form-error")
    assert reason in said.all_text()
    (tag,) = (one for one in page.elements("input") if one.get("name") == "tag")
    assert tag["value"].startswith("a" if "tag" in change else "label.a=b")
    assert not ReportSubscription.objects.exists()


def test_operator_reads_and_may_neither_send_nor_share(
    operator: Client, admin: Client, fleet: Fleet, mail: MailSink
) -> None:
    send(admin, "set-subscription", FORM)
    send(admin, "share-report", TODAY)
    row, link = ReportSubscription.objects.get(), SharedReport.objects.get()

    assert "mondays" in text_of(page_of(operator.get(reverse("sent-reports"))))
    assert shared.link_secret(link) not in operator.get(reverse("sent-reports")).content.decode()
    for verb, of in (
        ("set-subscription", ()), ("send-report", (row.pk,)), ("stop-subscription", (row.pk,)),
        ("remove-subscription", (row.pk,)), ("share-report", ()), ("take-back-link", (link.pk,)),
    ):  # fmt: skip
        form = FORM if verb == "set-subscription" else TODAY
        assert operator.post(reverse(verb, args=of), form).status_code == 403
    row.refresh_from_db()
    assert row.stopped_at is None
    assert SharedReport.objects.count() == 1


def share(admin: Client) -> str:
    """The address of the link."""
    page = send(admin, "share-report", TODAY)
    return next(one["href"] for one in page.elements("a") if "/reports/of/" in one["href"])


@pytest.mark.pdf
def test_link_opens_the_report_for_who_is_not_logged_in_as_it_was(
    admin: Client, fleet: Fleet
) -> None:
    address = share(admin)
    Workload.objects.filter(name="db-orders").update(name="renamed-later")
    make_roles()

    with acting_as(DatabaseRole.WEB):
        answer = Client().get(address)
        sheet = Client().get(f"{address}?format=csv")
        pdf = Client().get(f"{address}?format=pdf")

    text = text_of(page_of(answer))
    assert "All workloads of Northgate Cloud" in text
    assert "db-orders" in text
    assert "renamed-later" not in text
    assert "Recommendations" not in text
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "no-store" in answer["Cache-Control"]
    assert b"db-orders" in sheet.content
    assert pdf.content.startswith(b"%PDF-")


def test_link_expires(admin: Client, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    address = share(admin)
    last = fleet.now + timedelta(days=30)

    monkeypatch.setattr("django.utils.timezone.now", lambda: last - timedelta(seconds=1))
    assert Client().get(address).status_code == 200
    monkeypatch.setattr("django.utils.timezone.now", lambda: last)
    assert "This link opens no report" in text_of(page_of(Client().get(address), status=410))
    shared.forget_expired(now=last)
    assert not SharedReport.objects.exists()


def test_link_can_be_taken_back(admin: Client) -> None:
    address = share(admin)

    send(admin, "take-back-link", {}, SharedReport.objects.get().pk)

    assert Client().get(address).status_code == 410
    assert "was taken back before" in text_of(
        send(admin, "take-back-link", {}, SharedReport.objects.get().pk)
    )
    told = [one.action for one in AuditEntry.objects.order_by("number")]
    assert told[-2:] == ["share a report by a link", "take back the link to a report"]


def test_link_of_others_or_changed_opens_nothing(admin: Client, fleet: Fleet) -> None:
    address = share(admin)
    row = SharedReport.objects.get()
    other = Organisation.objects.get(slug="lakeside")
    made_up = signing.dumps([row.organisation_id, row.pk], salt="of something else")
    of_others = signing.dumps([other.pk, row.pk], salt=shared.SALT)

    for secret in (f"{address.rstrip('/')[:-1]}x".rpartition("/")[2], made_up, of_others, "x"):
        assert Client().get(f"/reports/of/{secret}/").status_code == 410


def test_longer_than_allowed_is_refused(admin: Client) -> None:
    page = send(admin, "share-report", TODAY | {"days_open": "999"})

    assert "a link opens a report for 7, 30, 90 days" in text_of(page)
    assert not SharedReport.objects.exists()


def test_stranger_changes_nothing(outsider: Client, admin: Client, mail: MailSink) -> None:
    send(admin, "set-subscription", FORM)
    share(admin)

    row, link = ReportSubscription.objects.get(), SharedReport.objects.get()
    assert outsider.post(reverse("send-report", args=[row.pk])).status_code == 404
    assert outsider.post(reverse("take-back-link", args=[link.pk])).status_code == 404
    assert "mondays" not in text_of(page_of(outsider.get(reverse("sent-reports"))))
