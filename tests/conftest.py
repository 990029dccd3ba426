"""What every test may use: a private PostgreSQL, and the folder of captured data."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("SLUICE_SHARED") or Path(__file__).resolve().parents[2] / "shared")


def pytest_unconfigure() -> None:
    """Remove the run's data directory (tests/settings.py makes it)."""
    from django.conf import settings

    shutil.rmtree(settings.DATA_DIR.root, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of captured data beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip(f"no captured data: {SHARED} is absent (SLUICE_SHARED says where it is)")
    return SHARED


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[None]:
    """A private PostgreSQL for this run, below the run's own data directory.

    SLUICE_TEST_DATABASE=timescaledb asks for TimescaleDB, the default is plain partitions.
    """
    from config.embedded.child import Child
    from config.embedded.paths import data_dir
    from config.embedded.postgres_cluster import PostgresCluster
    from config.embedded.postgres_programs import choose_programs, runnable_by
    from config.embedded.service_user import make_directory, service_user

    timescaledb = os.environ.get("SLUICE_TEST_DATABASE") == "timescaledb"
    data, user = data_dir(), service_user()
    programs = runnable_by(choose_programs(timescaledb=timescaledb), user, copies=data.programs)
    cluster = PostgresCluster(data=data, programs=programs, user=user, timescaledb=timescaledb)
    data.logs.mkdir(exist_ok=True)
    make_directory(data.sockets, user)
    cluster.create()
    child = Child(cluster.server(durable=False))
    child.wait_until_ready()
    yield
    child.stop()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres_server: None) -> None:
    """pytest-django makes the test database after this, so the server is there."""
