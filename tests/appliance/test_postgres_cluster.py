"""Private clusters, served by every PostgreSQL of this machine."""

import functools
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from appliance.embedded import postgres_cluster, postgres_programs
from appliance.embedded.child import Child
from appliance.embedded.errors import NoServerProgram
from appliance.embedded.leftovers import clear_leftovers
from appliance.embedded.postgres_cluster import PostgresCluster, find_cluster
from appliance.embedded.postgres_programs import PostgresPrograms, choose_programs, runnable_by
from appliance.embedded.service_user import make_directory, service_user
from config.paths import DataDir
from tests.appliance.embedded_run import short_directory

INSTALLED = postgres_programs.installed_programs()


def named(programs: PostgresPrograms) -> str:
    return f"{programs.version}{'+timescaledb' if programs.has_timescaledb else ''}"


@pytest.fixture
def data() -> Iterator[DataDir]:
    with short_directory() as path:
        data = DataDir(path)
        data.logs.mkdir()
        make_directory(data.sockets, service_user())
        yield data


@pytest.fixture
def programs(monkeypatch) -> Callable[..., PostgresPrograms]:
    """Pretend that these are the installations of this machine."""
    found: list[PostgresPrograms] = []
    monkeypatch.setattr(postgres_programs, "_candidates", lambda: iter(found))

    def install(major: int, *, timescaledb: bool = False) -> PostgresPrograms:
        programs = PostgresPrograms(
            bin_dir=Path(f"/opt/{major}{timescaledb}/bin"),
            major=major,
            version=f"{major}.0",
            has_timescaledb=timescaledb,
            trees=(),
        )
        found.append(programs)
        return programs

    return install


@pytest.mark.postgres
@pytest.mark.parametrize("found", INSTALLED, ids=named)
def test_cluster_is_made_served_and_found_again(data, found):
    user = service_user()
    here = runnable_by(found, user, copies=data.programs)
    cluster = PostgresCluster(
        data=data, programs=here, user=user, timescaledb=found.has_timescaledb
    )

    cluster.create()
    server = Child(cluster.server())
    try:
        server.wait_until_ready()
        cluster.create_database()
        cluster.create_database()  # The second time it is there.
        with psycopg.connect(cluster.address("sluice")) as connection:
            (version,) = connection.execute("SHOW server_version").fetchone()
            (encoding,) = connection.execute("SHOW server_encoding").fetchone()
    finally:
        server.stop()

    assert version.startswith(found.version)
    assert encoding == "UTF8"
    again = find_cluster(data, user)
    assert again.exists
    assert (again.programs.major, again.timescaledb) == (found.major, found.has_timescaledb)


def test_installation_with_timescaledb_is_preferred_then_the_first_found(programs):
    programs(17)
    best = programs(15, timescaledb=True)

    assert choose_programs() == best


def test_installation_that_is_too_old_is_passed_over(programs):
    programs(14, timescaledb=True)
    usable = programs(15)

    assert choose_programs() == usable


def test_no_installation_is_told_with_ways_out(programs):
    programs(14)

    with pytest.raises(NoServerProgram, match=r"no PostgreSQL 15 or later .* set DATABASE_URL"):
        choose_programs()


@pytest.mark.parametrize(
    ("timescaledb", "expected"),
    [
        pytest.param(False, "made by PostgreSQL 16, which is not installed", id="plain"),
        pytest.param(True, "made by PostgreSQL 16 with TimescaleDB, which is not", id="extension"),
    ],
)
def test_existing_cluster_whose_programs_are_gone_is_told(programs, data, timescaledb, expected):
    programs(17, timescaledb=True)
    data.postgres.mkdir()
    (data.postgres / "PG_VERSION").write_text("16\n")
    if timescaledb:
        (data.postgres / postgres_cluster.TIMESCALEDB_MARKER).touch()

    with pytest.raises(NoServerProgram, match=expected):
        find_cluster(data, None)


def test_plain_cluster_stays_plain_when_the_extension_is_installed_later(
    programs, data, monkeypatch
):
    monkeypatch.setattr(postgres_cluster, "runnable_by", lambda found, *_, **__: found)
    programs(15, timescaledb=True)
    data.postgres.mkdir()
    (data.postgres / "PG_VERSION").write_text("15\n")

    cluster = find_cluster(data, None)

    assert not cluster.timescaledb
    assert not any("shared_preload_libraries" in word for word in cluster.server().argv)


def test_server_of_a_killed_run_is_stopped(data):
    # Anything that works in the cluster's directory and is named by its lock file.
    data.postgres.mkdir()
    # A run in the background of a script has SIGINT ignored, which would be inherited.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(["sleep", "600"], cwd=data.postgres, preexec_fn=heed) as server:  # noqa: PLW1509  no threads
        (data.postgres / "postmaster.pid").write_text(f"{server.pid}\n{data.postgres}\n")

        said = clear_leftovers(data.postgres)

        assert server.wait(20) == -signal.SIGINT
    assert said == f"stopped the PostgreSQL server (process {server.pid}) that a killed run left"


def test_lock_file_whose_number_went_to_another_program_is_removed(data):
    data.postgres.mkdir()
    lock_file = data.postgres / "postmaster.pid"
    with subprocess.Popen(["sleep", "600"], cwd="/") as other:
        lock_file.write_text(f"{other.pid}\n{data.postgres}\n")

        said = clear_leftovers(data.postgres)

        assert other.poll() is None
        other.kill()
    assert said is not None
    assert not lock_file.exists()


@pytest.mark.parametrize("content", [None, "", "word\n"], ids=["absent", "empty", "no number"])
def test_nothing_is_done_without_a_process_to_look_for(data, content):
    data.postgres.mkdir()
    if content is not None:
        (data.postgres / "postmaster.pid").write_text(content)

    assert clear_leftovers(data.postgres) is None
