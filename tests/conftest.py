"""What every test may use: private servers, the real Telegraf, and the folder of captured data."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from django.core.cache import cache

from tests.lanes import ON_TIMESCALEDB, Lanes, required_lanes

SHARED = Path(os.environ.get("SLUICE_SHARED") or Path(__file__).resolve().parents[2] / "shared")

# A busy machine is slow; that is no property of the code under test.
hypothesis.settings.register_profile("thorough", deadline=None)
hypothesis.settings.register_profile("fast", deadline=None, max_examples=5)
hypothesis.settings.load_profile("thorough")


def pytest_configure(config: pytest.Config) -> None:
    """Skip by lane, and tell at the end."""
    required = required_lanes(os.environ.get("SLUICE_REQUIRE_LANES", ""))
    config.pluginmanager.register(Lanes(required), "sluice-lanes")


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
def postgres_server() -> Iterator[None]:
    """A private PostgreSQL for this run, below the run's own data directory."""
    from appliance.embedded.scratch_database import scratch_cluster
    from config.paths import data_dir

    with scratch_cluster(data_dir(), timescaledb=ON_TIMESCALEDB):
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres_server: None) -> None:
    """pytest-django makes the test database after this, so the server is there."""


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
