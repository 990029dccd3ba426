"""A line to connect a host, and its checklist that fills by itself, in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, ViewportSize, expect

from accounts.models import Collects, JoinToken
from advisor.decisions.joining import Asking, join
from tests.web.in_browser.visit import DESKTOP, visit

pytestmark = [pytest.mark.browser, pytest.mark.valkey, pytest.mark.usefixtures("fleet")]
PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_page_follows_a_host_without_being_loaded_again(
    chromium: Browser, server: str, tmp_path: Path, scheme: str, size: ViewportSize
) -> None:
    name = f"new-{scheme}-{size['width']}"
    with visit(chromium, server, scheme=scheme, size=size) as tab:
        tab.log_in("owner")
        tab.go("/hosts/connect/")
        tab.page.screenshot(path=tmp_path / "form.png", full_page=True)
        tab.page.get_by_role("button", name="Make the line").click()
        line = tab.page.get_by_label("For 1 host").input_value()
        tab.page.screenshot(path=tmp_path / "line.png", full_page=True)
        secret = line.partition("/join/")[2].partition(" ")[0]
        join(
            secret=secret,
            asking=Asking(
                host_name=name, url=server, collects=Collects.READER, system="Debian 12",
                kernel="6.1.0", address="192.0.2.7", clock=timezone.now(),
            ),
            now=timezone.now(),
        )  # fmt: skip
        expect(tab.page.get_by_role("heading", name=name)).to_be_visible(timeout=10_000)
        width = tab.page.evaluate("document.documentElement.scrollWidth")
        tab.page.screenshot(path=tmp_path / "joined.png", full_page=True)

    assert (line.startswith(f"curl -fsSL {server}/join/slj_"), width) == (True, size["width"])
    assert JoinToken.objects.latest("pk").hosts_joined == 1
    assert tab.complaints == []
