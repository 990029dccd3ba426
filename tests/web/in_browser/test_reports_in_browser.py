"""A report chosen, downloaded, sent by mail and shared by a link, in Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, expect

from advisor.models import NotificationChannel, ReportSubscription
from advisor.notifications.deliver import deliver_next
from advisor.reports.subscriptions import make_next
from tests.advisor.notifications.receivers import MailSink, mail_sink
from tests.web.fleet import Fleet
from tests.web.in_browser.visit import Visit, visit

pytestmark = [pytest.mark.browser, pytest.mark.pdf, pytest.mark.usefixtures("fleet")]


@pytest.fixture
def mail(fleet: Fleet, settings: Any) -> Iterator[MailSink]:
    NotificationChannel.objects.create(
        organisation=fleet.organisation, name="letters", kind="mail", address="ann@example.org"
    )
    with mail_sink() as sink:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.HAS_MAIL, settings.EMAIL_HOST, settings.EMAIL_PORT = True, "127.0.0.1", sink.port
        yield sink


def test_days_are_chosen_in_the_zone_of_the_browser(tab: Visit) -> None:
    session = tab.page.context.new_cdp_session(tab.page)
    session.send("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
    tab.go("/reports/")
    page = tab.page
    expect(page.get_by_label("Time zone of its days")).to_have_value("Asia/Tokyo")
    expect(page.get_by_label("From")).to_be_hidden()

    page.get_by_label("Period").select_option("days")
    page.get_by_label("From").fill("2026-11-20")
    page.get_by_label("To, that day too").fill("2026-11-20")
    page.get_by_role("button", name="Show").click()

    expect(page.locator(".lead")).to_contain_text("2026-11-20, Asia/Tokyo")
    with page.expect_download() as found:
        page.get_by_role("link", name="PDF").click()
    assert found.value.suggested_filename == "sluice-report-2026-11-20.pdf"
    assert Path(found.value.path()).read_bytes().startswith(b"%PDF-")


def test_report_is_sent_and_shared_by_keys(
    chromium: Browser, server: str, fleet: Fleet, mail: MailSink
) -> None:
    with visit(chromium, server) as tab:
        tab.log_in("owner")
        tab.go("/reports/sent/")
        page, keys = tab.page, tab.page.keyboard
        page.locator("#subscription-name").focus()
        keys.type("mornings")
        keys.press("Enter")
        expect(page.get_by_text("mornings is set.")).to_be_visible()
        page.get_by_role("button", name="Send now mornings").focus()
        keys.press("Enter")
        expect(page.get_by_text("is made and sent now")).to_be_visible()
        assert make_next(fleet.organisation.pk, now=timezone.now())
        assert deliver_next(fleet.organisation.pk, now=timezone.now())
        (letter,) = mail.letters
        assert [one.get_content_type() for one in letter.iter_attachments()] == ["application/pdf"]

        page.get_by_role("button", name="Remove… mornings").focus()
        keys.press("Enter")
        page.get_by_role("button", name="Remove it").focus()
        keys.press("Enter")
        expect(page.get_by_text("There is no mornings any more.")).to_be_visible()
        assert not ReportSubscription.objects.exists()

        tab.go("/reports/")
        page.get_by_role("button", name="Share…").focus()
        keys.press("Enter")
        page.get_by_role("button", name="Make the link").focus()
        keys.press("Enter")
        link = page.get_by_role("link", name="for who has this link").get_attribute("href")
        assert link is not None
        assert tab.complaints == []

    with visit(chromium, server) as tab:
        tab.page.goto(link)
        expect(tab.page.get_by_role("heading", level=1)).to_have_text(
            "All workloads of Northgate Cloud"
        )
        assert tab.complaints == []
