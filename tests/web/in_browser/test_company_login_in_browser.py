"""The company's login in a real Chromium: there and back, in both schemes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from pytest_django import DjangoDbBlocker

from tests.web.company import CLIENT_ID, SECRET, Company, company_at_work
from tests.web.in_browser.visit import visit, web_server

pytestmark = [pytest.mark.browser, pytest.mark.valkey, pytest.mark.usefixtures("fleet")]


@pytest.fixture(scope="module")
def company() -> Iterator[Company]:
    with company_at_work() as company:
        yield company


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
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_OIDC_ISSUER", company.issuer)
        patch.setenv("SLUICE_OIDC_CLIENT_ID", CLIENT_ID)
        patch.setenv("SLUICE_OIDC_CLIENT_SECRET", SECRET)
        patch.setenv("SLUICE_OIDC_NAME", "Northgate Cloud")
        patch.setenv("SLUICE_OIDC_ROLES", json.dumps({"storage": {"northgate": "operator"}}))
        with web_server(log) as address:
            yield address


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_person_logs_in_at_the_company(
    chromium: Browser, server: str, company: Company, tmp_path: Path, scheme: str
) -> None:
    company.person = {"sub": scheme, "preferred_username": "alice", "groups": ["storage"]}
    with visit(chromium, server, scheme=scheme) as tab:
        tab.go("/hosts/")
        tab.page.screenshot(path=tmp_path / "login.png")
        tab.page.get_by_role("button", name="Log in with Northgate Cloud").click()
        tab.page.wait_for_url(f"{server}/hosts/")
        expect(tab.page.get_by_role("heading", level=1)).to_contain_text("host")

    assert tab.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_person_whom_nothing_is_open_to_is_told_so(
    chromium: Browser, server: str, company: Company, tmp_path: Path, scheme: str
) -> None:
    company.person = {"sub": "bob", "preferred_username": "bob", "groups": ["canteen"]}
    with visit(chromium, server, scheme=scheme) as tab:
        tab.go("/login/")
        tab.page.get_by_role("button", name="Log in with Northgate Cloud").click()
        expect(tab.page.get_by_role("heading", level=1)).to_contain_text("nothing here is open")
        tab.page.screenshot(path=tmp_path / "refused.png")
