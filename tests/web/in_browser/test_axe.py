"""Axe-core finds nothing on any page, in both themes, on a desk and on a phone."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize

from tests.web.fleet import Fleet
from tests.web.in_browser.visit import DESKTOP, Visit, visit
from tests.web.test_accessibility import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

AXE = Axe()
PHONE: ViewportSize = {"width": 390, "height": 844}
MORE = {
    "login": "/login/",
    "not there": "/no-such-page/",
    "studies": "/replay/",
    "study": "/replay/sioc-nfs-shares/",
    "documentation": "/docs/",
    "long page of it": "/docs/settings/",
    "search of it": "/docs/search?q=lease",
}
"""Pages that are of no organisation."""
OPENED = (
    ("sources", "Remove…"),
    ("notifications", "Remove…"),
)
"""Dialogs, by their page and the button that opens them."""


def findings(page: Page) -> dict[str, list[str]]:
    """By rule, what it is found in."""
    found: list[dict[str, Any]] = AXE.run(page).response["violations"]
    return {one["id"]: [node["html"][:200] for node in one["nodes"]] for one in found}


def settled(tab: Visit, address: str) -> None:
    """All that a page asks for by itself is there, and nothing moves."""
    tab.go(address)
    tab.page.wait_for_load_state("load")
    # Parts that renew themselves ask again and again, so the network is never quiet.
    tab.page.wait_for_selector("[hx-trigger~=load].htmx-request", state="detached")


@pytest.mark.parametrize(
    ("scheme", "size"),
    [
        pytest.param("light", DESKTOP, id="light, desk"),
        pytest.param("dark", PHONE, id="dark, phone"),
        pytest.param("dark", DESKTOP, id="dark, desk", marks=pytest.mark.long),
        pytest.param("light", PHONE, id="light, phone", marks=pytest.mark.long),
    ],
)
def test_axe_finds_nothing_on_any_page(
    chromium: Browser, server: str, fleet: Fleet, scheme: str, size: ViewportSize
) -> None:
    addresses = {name: address(fleet) for name, address in PAGES.items()}
    found: dict[str, dict[str, list[str]]] = {}
    with visit(chromium, server, scheme=scheme, size=size) as tab:
        settled(tab, MORE["login"])
        found["login"] = findings(tab.page)
        tab.log_in("owner")
        for name, address in {**addresses, **MORE}.items():
            settled(tab, address)
            found[name] = findings(tab.page)
        for name, button in OPENED:
            settled(tab, addresses[name])
            tab.page.get_by_role("button", name=button).first.click()
            found[f"dialog of {name}"] = findings(tab.page)

    assert len(found) == len(PAGES) + len(MORE) + len(OPENED)
    assert {name: rules for name, rules in found.items() if rules} == {}
