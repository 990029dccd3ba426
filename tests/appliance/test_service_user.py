"""Programs that the servers' user can reach."""

import os
import pwd
import stat
from pathlib import Path

import pytest

from appliance.embedded import service_user as service_user_module
from appliance.embedded.service_user import can_run, reachable_copy, service_user
from config.paths import DataDirError


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "tree" / "bin" / "server"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\necho server 1.0\n")
    path.chmod(0o755)
    return path


def test_only_root_needs_another_user(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert service_user() is None


def test_root_without_an_unprivileged_user_is_told(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(service_user_module, "CANDIDATES", ("no-such-user",))

    with pytest.raises(DataDirError, match="create one of no-such-user, or run as another user"):
        service_user()


@pytest.mark.root
def test_servers_run_as_who_has_the_cluster(tmp_path):
    games = pwd.getpwnam("games")
    cluster = tmp_path / "postgres"
    cluster.mkdir()
    os.chown(cluster, games.pw_uid, games.pw_gid)

    assert service_user(cluster).name == "games"
    # Neither nothing nor what is root's says anything.
    assert service_user(tmp_path / "absent") == service_user() == service_user(tmp_path)


def test_program_within_reach_can_run(program):
    assert can_run(program, None)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda path: path.unlink(), id="absent"),
        pytest.param(lambda path: path.chmod(0o644), id="not executable"),
        pytest.param(lambda path: path.write_text("#!/bin/sh\nexit 1\n"), id="does not work"),
    ],
)
def test_program_that_fails_cannot_run(program, spoil):
    spoil(program)

    assert not can_run(program, None)


@pytest.mark.root
def test_program_in_a_closed_directory_runs_from_its_copy(program, tmp_path, data_root):
    user = service_user()
    tree = program.parents[1]
    tmp_path.chmod(0o700)

    copy = reachable_copy((tree,), into=data_root / "programs", version="1")

    assert not can_run(program, user)
    assert can_run(copy / "tree" / "bin" / "server", user)


@pytest.fixture
def data_root():
    from tests.appliance.embedded_run import short_directory

    with short_directory() as path:
        yield path


def test_copy_of_the_same_version_is_kept_and_of_another_made_anew(program, tmp_path):
    tree, into = program.parents[1], tmp_path / "copies"
    copied = reachable_copy((tree,), into=into, version="1") / "tree" / "bin" / "server"
    program.write_text("changed")

    reachable_copy((tree,), into=into, version="1")
    kept = copied.read_text()
    reachable_copy((tree,), into=into, version="2")

    assert kept.startswith("#!/bin/sh")
    assert copied.read_text() == "changed"
    assert stat.S_IMODE(copied.stat().st_mode) == 0o755
