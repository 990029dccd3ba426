"""What every test may use: private servers, the real Telegraf, and the folder of captured data."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from django.core.cache import cache
from pytest_django import DjangoDbBlocker

from tests.lanes import ON_TIMESCALEDB, Lanes, required_lanes

if TYPE_CHECKING:
    from tests.kept_cluster import KeptCluster

SHARED = Path(os.environ.get("SLUICE_SHARED") or Path(__file__).resolve().parents[2] / "shared")

# A busy machine is slow; that is no property of the code under test.
hypothesis.settings.register_profile("thorough", deadline=None)
hypothesis.settings.register_profile("fast", deadline=None, max_examples=5)
hypothesis.settings.load_profile("thorough")


def pytest_configure(config: pytest.Config) -> None:
    """Skip by lane, and tell at the end."""
    required = required_lanes(os.environ.get("SLUICE_REQUIRE_LANES", ""))
    config.pluginmanager.register(Lanes(required), "sluice-lanes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that may take longest come first, so that no process is left alone with one of them.

    The Makefile tells xdist to keep this order.
    """
    files: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[item.path].append(item)
    items[:] = [item for file in sorted(files.values(), key=_first) for item in file]


def _first(items: list[pytest.Item]) -> tuple[float, bool, int]:
    """Small for a file with a long time limit, slow tests, or many tests."""
    limits = [item.get_closest_marker("timeout") for item in items]
    longest = max((float(limit.args[0]) for limit in limits if limit and limit.args), default=0.0)
    is_slow = any(item.get_closest_marker("slow") for item in items)
    return -longest, not is_slow, -len(items)


def pytest_unconfigure() -> None:
    """Remove the run's data directory (tests/settings.py makes it)."""
    from django.conf import settings

    shutil.rmtree(settings.DATA_DIR.root, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of captured data beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip(
            f"does not apply without captured data: {SHARED} is absent "
            "(SLUICE_SHARED says where it is)"
        )
    return SHARED


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[KeptCluster]:
    """A private PostgreSQL for this run, below the run's own data directory."""
    from config.paths import data_dir
    from tests.kept_cluster import KeptCluster

    cluster = KeptCluster(data_dir(), timescaledb=ON_TIMESCALEDB)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres_server: KeptCluster) -> None:
    """pytest-django makes the test database after this, so the server is there."""


@pytest.fixture(scope="session")
def django_db_keepdb(postgres_server: KeptCluster) -> bool:
    """Whether the test database is there already."""
    return postgres_server.is_copy


@pytest.fixture(scope="session")
def django_db_setup(
    postgres_server: KeptCluster, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """The test database, kept as it is before the first test."""
    from django.db import connection

    with django_db_blocker.unblock():
        connection.close()
    postgres_server.keep()


@pytest.fixture(autouse=True)
def _nothing_is_kept_of_the_test_before() -> None:
    """A row of another test may have the same number, for migrations number rows anew."""
    cache.clear()


@pytest.fixture(autouse=True)
def _committed_samples_go(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test commits into the sample tables is gone after it.

    Django empties the tables that it manages; whichever test came next would find these full.
    """
    if not commits(request.node):
        yield
        return
    blocker = request.getfixturevalue("django_db_blocker")
    yield
    from django.db import connection

    from ingest.partitions import TABLES

    with blocker.unblock(), connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT EXISTS (SELECT FROM {table})")
            if cursor.fetchone() == (True,):
                cursor.execute(f"TRUNCATE {table}")
    # A browser's event loop has had a connection of its own, which nobody else closes.
    with blocker.unblock():
        connection.close()


def commits(test: pytest.Item) -> bool:
    """Whether what a test writes is really committed."""
    marker = test.get_closest_marker("django_db")
    is_marked = marker is not None and bool(marker.kwargs.get("transaction"))
    return is_marked or "transactional_db" in getattr(test, "fixturenames", ())


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    """The address of a private valkey for this run; its tests are marked `valkey`."""
    from appliance.embedded.child import Child
    from appliance.embedded.service_user import make_directory, service_user
    from appliance.embedded.valkey import valkey_server
    from config.paths import data_dir

    data, user = data_dir(), service_user()
    data.logs.mkdir(exist_ok=True)
    make_directory(data.sockets, user)
    make_directory(data.valkey, user)
    child = Child(valkey_server(data, user))
    child.wait_until_ready()
    yield data.valkey_url
    child.stop()


@pytest.fixture(scope="session")
def telegraf() -> Path:
    """The real Telegraf; its tests are marked `telegraf`."""
    from appliance.embedded.telegraf import find_telegraf

    program = find_telegraf()
    assert program is not None, "mark the test: pytest.mark.telegraf"
    return program
