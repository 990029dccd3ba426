"""Web servers with a replica: a story on real servers, and where its pages are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import settings as product_settings
from django.db import connections
from pytest_django import DjangoDbBlocker

from appliance.embedded.postgres_cluster import DATABASE, ROLE, PostgresCluster
from config.database_roles import EMBEDDED_USERS, DatabaseRole
from config.paths import POSTGRES_PORT
from config.replica import as_replica
from tests.config.queued import empty
from tests.web.fleet import Fleet
from tests.web.replica.pair import Pair, running_pair
from tests.web.scenario import noisy_neighbour
from tests.web.test_accessibility import PAGES
from web.replica.alias import ALIAS
from web.replica.own_changes import _Server
from web.replica.watch import WATCH

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WEB = EMBEDDED_USERS[DatabaseRole.WEB]


def at(cluster: PostgresCluster, user: str) -> dict[str, Any]:
    """Where Django finds the product's database of a cluster, as this user."""
    return {
        "HOST": str(cluster.data.sockets), "PORT": str(POSTGRES_PORT), "NAME": DATABASE,
        "USER": user, "PASSWORD": "",
    }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The story, and the address of each page of it."""

    pair: Pair
    fleet: Fleet
    addresses: dict[str, str]


@pytest.fixture(scope="module")
def told(postgres_server: object, django_db_blocker: DjangoDbBlocker) -> Iterator[Told]:
    """Told by the owner on the primary; the standby has it too."""
    with running_pair() as pair, pytest.MonkeyPatch.context() as patch:
        with django_db_blocker.unblock(), _default_at(pair.primary, ROLE):
            patch.setattr("django.utils.timezone.now", lambda: NOW)
            fleet = noisy_neighbour(NOW, hours=1.5)
            addresses = {name: address(fleet) for name, address in PAGES.items()}
        pair.catch_up()
        yield Told(pair=pair, fleet=fleet, addresses=addresses)


@pytest.fixture
def fleet(told: Told) -> Fleet:
    return told.fleet


@pytest.fixture
def pair(told: Told) -> Pair:
    return told.pair


@pytest.fixture(autouse=True)
def web_server(
    told: Told,
    valkey_url: str,
    settings: Any,
    django_db_blocker: DjangoDbBlocker,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[None]:
    """This process is a web server with a replica."""
    empty(valkey_url)
    _Server.away_until_s = 0.0
    WATCH.__init__(WATCH._look)  # type: ignore[misc]
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    settings.HAS_ROW_WALLS = settings.HAS_REPLICA = True
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "web.replica.middleware.ReplicaMiddleware"]
    usual = product_settings.DATABASES["default"]
    own = {**usual, **at(told.pair.standby, WEB), "OPTIONS": {}}
    with django_db_blocker.unblock(), _default_at(told.pair.primary, WEB):
        connections.settings[ALIAS] = as_replica(own)
        try:
            yield
        finally:
            connections[ALIAS].close()
            del connections[ALIAS], connections.settings[ALIAS]
    empty(valkey_url)


@contextmanager
def _default_at(cluster: PostgresCluster, user: str) -> Iterator[None]:
    primary = connections["default"]
    primary.close()
    before = dict(primary.settings_dict)
    primary.settings_dict |= at(cluster, user)
    try:
        yield
    finally:
        primary.close()
        primary.settings_dict |= before


class Statements:
    """What is asked of each server, without what tells whose rows are seen.

    Neither is connected to for that.
    """

    @property
    def of_primary(self) -> list[str]:
        return _asked("default")

    @property
    def of_replica(self) -> list[str]:
        return _asked(ALIAS)


def _asked(alias: str) -> list[str]:
    queries = [one["sql"] for one in connections[alias].queries_log]
    return [one for one in queries if "set_config" not in one and "pg_control" not in one]


@contextmanager
def statements() -> Iterator[Statements]:
    """Count within the block; read it before the next one begins."""
    both = [connections["default"], connections[ALIAS]]
    for one in both:
        one.queries_log.clear()
        one.force_debug_cursor = True
    try:
        yield Statements()
    finally:
        for one in both:
            one.force_debug_cursor = False


def look_again() -> None:
    """As if the time until the next look were over."""
    WATCH._due_s = float("-inf")
