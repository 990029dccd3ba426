"""As root, web, workers, scheduler and signer run as users who may do nothing else."""

import http.client
import json
import os
import pwd
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from appliance.embedded import product_users as module
from appliance.embedded.product_users import NO_OTHER_USERS, product_users
from config.paths import DataDir, DataDirError
from tests.appliance.embedded_run import SLUICE, EmbeddedRun, short_directory, started
from tests.appliance.reachable import WITHIN_REACH
from tests.kept_cluster import put_tables

# Debian has both, and neither owns a process.
WEB, SIGNER = "games", "news"
OURS = {"SLUICE_USER": WEB, "SLUICE_SIGNER_USER": SIGNER}
ROLES = {
    "appliance.web_server": WEB,
    "spawn_main": WEB,
    "celery --app=config.celery worker": WEB,
    "celery --app=config.celery beat": WEB,
    "appliance.embedded.fork_server": WEB,
    "appliance.signer": SIGNER,
    "/postgres -D": "postgres",
}
pytestmark = pytest.mark.timeout(600)


def test_who_is_not_root_stays_who_it_is(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert product_users(OURS) == NO_OTHER_USERS


def test_root_without_the_users_is_told_and_goes_on(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(module, "PRODUCT_USER", "no-such-user")

    users = product_users({})

    assert (users.product, users.signer) == (None, None)
    assert "run as root: there is no user no-such-user" in users.said
    assert "useradd --system" in users.said


@pytest.mark.parametrize(
    ("name", "why"),
    [("no-such-user", "there is no user no-such-user"), ("toor", "toor is root by another name")],
)
def test_user_of_a_setting_that_cannot_be_used_is_refused(monkeypatch, name, why):
    found = {"toor": module.ServiceUser(name="toor", uid=0, gid=0)}
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(module, "user_of_name", found.get)

    with pytest.raises(DataDirError, match=f"SLUICE_USER={name}: {why}"):
        product_users({"SLUICE_USER": name})


@pytest.mark.root
def test_one_user_serves_for_both_where_the_signers_is_missing(monkeypatch):
    monkeypatch.setattr(module, "SIGNER_USER", "no-such-user")
    monkeypatch.setattr(module, "_reaches_programs", lambda _: True)

    users = product_users({"SLUICE_USER": WEB})

    assert users.product == users.signer
    assert f"the signer runs as {WEB}, as the web server does" in users.said


@pytest.mark.root
def test_file_of_a_setting_that_the_user_cannot_read_is_refused(monkeypatch):
    monkeypatch.setattr(module, "_reaches_programs", lambda _: True)
    with short_directory() as folder:
        secret = folder / "mail"
        secret.touch(mode=0o600)
        given = OURS | {"SLUICE_MAIL_URL_FILE": str(secret)}

        with pytest.raises(DataDirError, match=f"SLUICE_MAIL_URL_FILE: user {WEB} cannot read"):
            product_users(given)
        # The signer's is read by root.
        product_users(OURS | {"SLUICE_SIGNING_KEYS_FILE": str(secret)})


@pytest.fixture(scope="module")
def upgraded() -> Iterator[tuple[EmbeddedRun, str]]:
    """A run by the users in a directory that root alone ran before, and what that one said."""
    with short_directory() as path:
        data = path / "data"
        put_tables(DataDir(data))
        with started(data, env={"SLUICE_USER": "root"}) as before, database(before) as connection:
            connection.execute("UPDATE accounts_organisation SET name = 'Kept'")
        with started(data, env=OURS, prefix=WITHIN_REACH) as run:
            yield run, before.said


def database(run: EmbeddedRun) -> psycopg.Connection:
    return psycopg.connect(f"host={run.data_dir}/run user=sluice dbname=sluice", autocommit=True)


def ids(pid: int) -> tuple[list[int], list[int], list[int]]:
    """Its users, its groups and its other groups: real, effective, saved and of files."""
    words = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    found = ([int(one) for one in words[name].split()] for name in ("Uid", "Gid", "Groups"))
    return tuple(found)


def may_read(name: str, path: Path) -> bool:
    user = pwd.getpwnam(name)
    identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    done = subprocess.run(["cat", path], capture_output=True, check=False, **identity)
    return done.returncode == 0


def connects(name: str, path: Path) -> bool:
    """Whether a process of this user is let in; raises AssertionError if for another reason."""
    user = pwd.getpwnam(name)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            socket.socket(socket.AF_UNIX).connect(str(path))
            os._exit(0)
        except PermissionError:
            os._exit(1)
        finally:
            os._exit(2)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in {0, 1}
    return status == 0


@pytest.mark.root
@pytest.mark.postgres
@pytest.mark.valkey
@pytest.mark.long
@pytest.mark.parametrize("mark", ROLES)
def test_process_runs_as_its_user_and_no_other(upgraded, mark):
    run, _ = upgraded
    user = pwd.getpwnam(ROLES[mark])

    found = [ids(pid) for pid, line in run.processes().items() if mark in line]

    assert found
    for users, groups, others in found:
        assert set(users) == {user.pw_uid}
        assert set(groups) == {user.pw_gid}
        assert others == []


@pytest.mark.root
@pytest.mark.postgres
@pytest.mark.valkey
@pytest.mark.long
def test_nothing_but_the_supervisor_stays_root(upgraded):
    run, _ = upgraded

    as_root = [line for pid, line in run.processes().items() if 0 in ids(pid)[0]]

    assert [line.split()[1:3] for line in as_root] == [[str(SLUICE), "run"]]


@pytest.mark.root
@pytest.mark.postgres
@pytest.mark.valkey
@pytest.mark.long
def test_directory_that_root_ran_goes_on_with_its_data(upgraded):
    run, before = upgraded

    with closing(http.client.HTTPConnection("127.0.0.1", run.port, timeout=10)) as connection:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    with database(run) as connection:
        (name,) = connection.execute("SELECT name FROM accounts_organisation").fetchone()

    assert (status, name) == (200, "Kept")
    assert "run as root: SLUICE_USER says so" in before
    assert "as root" not in run.said
    assert "ended with" not in run.said


@pytest.mark.root
@pytest.mark.postgres
@pytest.mark.valkey
@pytest.mark.long
def test_web_server_cannot_read_what_is_the_signers_or_the_databases(upgraded):
    run, _ = upgraded
    data = DataDir(run.data_dir)

    assert may_read(WEB, data.secret_key)
    assert may_read(WEB, data.encryption_keys)
    assert not may_read(WEB, data.signing_keys)
    assert not may_read(SIGNER, data.secret_key)
    assert not may_read(WEB, data.postgres / "PG_VERSION")
    assert not may_read("nobody", data.secret_key)
    for path in (data.secret_key, data.encryption_keys, data.signing_keys):
        assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode) & 0o022) == (0, 0)


@pytest.mark.root
@pytest.mark.postgres
@pytest.mark.valkey
@pytest.mark.long
@pytest.mark.parametrize(("name", "is_let_in"), [(WEB, True), (SIGNER, False), ("nobody", False)])
def test_signer_and_database_are_asked_by_the_product_alone(upgraded, name, is_let_in):
    run, _ = upgraded
    data = DataDir(run.data_dir)
    sockets = (data.signer_socket, data.database_socket, data.valkey_socket)

    assert [connects(name, path) for path in sockets] == [is_let_in] * 3


@pytest.mark.root
@pytest.mark.postgres
@pytest.mark.valkey
@pytest.mark.long
def test_health_says_who_runs_as_root(upgraded):
    run, _ = upgraded

    done = subprocess.run(
        [SLUICE, "status", "--json"],
        env={**os.environ, "SLUICE_DATA_DIR": str(run.data_dir)},
        capture_output=True,
        check=False,
    )
    # The signs of life are of the users' processes; those of the run before had the same names.
    processes = json.loads(done.stdout)["health"]["work"]["processes"]

    assert processes
    assert not any(process["as_root"] for process in processes)
