"""A browser, a server, and the noisy neighbour that both see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
import redis
from django.conf import global_settings
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.utils import timezone
from playwright.sync_api import Browser, sync_playwright
from pytest_django import DjangoDbBlocker, Settings

from ingest.partitions import TABLES
from tests.lanes import find_browser
from tests.web.company import CLIENT_ID, SECRET, Company, company_at_work
from tests.web.fleet import Fleet
from tests.web.in_browser.visit import Visit, visit, web_server
from tests.web.scenario import noisy_neighbour


@cache
def hashed_once(password: str) -> str:
    """Who has the same password has the same hash here."""
    return make_password(password)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        program = find_browser()
        # As root Chromium runs without its sandbox only.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
    valkey_url: str,
) -> Iterator[str]:
    """The server finds valkey, in which it counts logins, in the data directory of the run.

    It starts in five seconds, so one serves all files.
    """
    log = tmp_path_factory.mktemp("web") / "server.log"
    with django_db_blocker.unblock(), web_server(log) as address:
        yield address


@pytest.fixture(scope="module")
def company() -> Iterator[Company]:
    """A provider of OpenID Connect, for files whose server knows of one."""
    with company_at_work() as company:
        yield company


@contextmanager
def server_of_company(
    company: Company, log: Path, django_db_blocker: DjangoDbBlocker, **settings: str
) -> Iterator[str]:
    """A server that lets people of the group `storage` in as operators of northgate."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_OIDC_ISSUER", company.issuer)
        patch.setenv("SLUICE_OIDC_CLIENT_ID", CLIENT_ID)
        patch.setenv("SLUICE_OIDC_CLIENT_SECRET", SECRET)
        patch.setenv("SLUICE_OIDC_NAME", "Northgate AG")
        patch.setenv("SLUICE_OIDC_ROLES", json.dumps({"storage": {"northgate": "operator"}}))
        for name, value in settings.items():
            patch.setenv(name, value)
        with web_server(log) as address:
            yield address


@pytest.fixture
def committed(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, settings: Settings, valkey_url: str
) -> Iterator[None]:
    """What a test writes is seen by the server; the sample tables are emptied after it."""
    # The server has the product's settings, so passwords are hashed as those say.
    settings.PASSWORD_HASHERS = global_settings.PASSWORD_HASHERS
    # A hash takes half a second, and a fleet has four people.
    monkeypatch.setattr("django.contrib.auth.models.make_password", hashed_once)
    # Playwright keeps an event loop in this thread, which Django would take for async code.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    # All tests log in from one address, which would have to wait.
    redis.Redis.from_url(valkey_url).flushall()
    yield
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"TRUNCATE {table}")


@pytest.fixture
def fleet(committed: None) -> Fleet:
    return noisy_neighbour(timezone.now(), hours=1.5)


@pytest.fixture
def tab(chromium: Browser, server: str, fleet: Fleet) -> Iterator[Visit]:
    """The operator's tab, logged in, with nothing to complain about at the end."""
    with visit(chromium, server) as opened:
        opened.log_in("operator")
        yield opened
    assert opened.complaints == []
