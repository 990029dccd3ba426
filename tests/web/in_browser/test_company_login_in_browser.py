"""The company's login in a real Chromium: there and back, in both schemes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from pytest_django import DjangoDbBlocker

from tests.web.company import Company
from tests.web.in_browser.conftest import server_of_company
from tests.web.in_browser.visit import visit

pytestmark = [pytest.mark.browser, pytest.mark.valkey, pytest.mark.usefixtures("fleet")]


@pytest.fixture(scope="module")
def server(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
    valkey_url: str,
    company: Company,
) -> Iterator[str]:
    """A server whose environment names the provider."""
    log = tmp_path_factory.mktemp("web") / "server.log"
    with server_of_company(company, log, django_db_blocker) as address:
        yield address


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_person_logs_in_at_the_company(
    chromium: Browser, server: str, company: Company, tmp_path: Path, scheme: str
) -> None:
    company.person = {"sub": scheme, "preferred_username": "alice", "groups": ["storage"]}
    with visit(chromium, server, scheme=scheme) as tab:
        tab.go("/hosts/")
        tab.page.screenshot(path=tmp_path / "login.png")
        tab.page.get_by_role("button", name="Log in with Northgate AG").click()
        tab.page.wait_for_url(f"{server}/hosts/")
        expect(tab.page.get_by_role("heading", level=1)).to_contain_text("host")

    assert tab.complaints == []


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_person_whom_nothing_is_open_to_is_told_so(
    chromium: Browser, server: str, company: Company, tmp_path: Path, scheme: str
) -> None:
    company.person = {"sub": "bob", "preferred_username": "bob", "groups": ["canteen"]}
    with visit(chromium, server, scheme=scheme) as tab:
        tab.go("/login/")
        tab.page.get_by_role("button", name="Log in with Northgate AG").click()
        expect(tab.page.get_by_role("heading", level=1)).to_contain_text("nothing here is open")
        tab.page.screenshot(path=tmp_path / "refused.png")
