"""Where memory runs out, the kernel ends first who can do its work again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from appliance.embedded import children
from appliance.embedded.child import Child, ChildSpec
from appliance.embedded.kill_order import KillOrder, put_in_order
from appliance.embedded.postgres_cluster import PostgresCluster
from appliance.embedded.postgres_programs import PostgresPrograms
from appliance.embedded.service_user import ServiceUser, service_user
from appliance.embedded.valkey import valkey_server
from config.paths import DataDir

FORKS = """
import os, time
child = os.fork()
if child:
    print(child, flush=True)
time.sleep(600)
"""


def score(pid: int | str) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


@contextmanager
def running(folder: Path, place: KillOrder, user: ServiceUser | None = None) -> Iterator[Child]:
    log = folder / "child.log"
    spec = ChildSpec(
        name="child",
        argv=("/bin/sleep", "600"),
        log=log,
        user=user,
        kill_order=place,
    )
    child = Child(spec)
    try:
        yield child
    finally:
        child.stop(at_once=True)


@pytest.mark.parametrize("place", list(KillOrder))
def test_child_has_its_place_above_the_supervisor(tmp_path: Path, place: KillOrder) -> None:
    with running(tmp_path, place) as child:
        assert score(child.process.pid) == min(score("self") + place, 1000)


@pytest.mark.skipif(service_user() is None, reason="only root starts children as another user")
def test_child_of_another_user_has_its_place(tmp_path: Path) -> None:
    with running(tmp_path, KillOrder.WORK, service_user()) as child:
        assert score(child.process.pid) == min(score("self") + KillOrder.WORK, 1000)


def test_process_of_a_pool_has_the_place_of_its_worker(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    child = Child(
        ChildSpec(
            name="child",
            argv=(sys.executable, "-c", FORKS),
            log=log,
            kill_order=KillOrder.WORK,
            is_ready=lambda: bool(log.read_text().strip()),
        )
    )
    try:
        child.wait_until_ready()
        assert score(log.read_text().strip()) == score(child.process.pid)
    finally:
        child.stop(at_once=True)


def test_highest_score_is_not_passed(tmp_path: Path) -> None:
    for name, text in (("self", "900"), ("17", "900")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "oom_score_adj").write_text(text)

    put_in_order(17, KillOrder.WORK, proc=tmp_path)

    assert (tmp_path / "17/oom_score_adj").read_text() == "1000"


def test_process_that_is_gone_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self/oom_score_adj").write_text("0")

    put_in_order(17, KillOrder.WORK, proc=tmp_path)

    assert not (tmp_path / "17").exists()


def test_work_is_ended_before_pages_and_the_database_last(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    programs = PostgresPrograms(
        bin_dir=tmp_path, major=16, version="16.0", has_timescaledb=False, trees=()
    )
    cluster = PostgresCluster(data=data, programs=programs, user=None, timescaledb=False)
    database, queue = cluster.server(), valkey_server(data, None)
    web = children.web(data, host="::1", port=8000, allowed_hosts="")

    order = [database, queue, web, children.workers(data)[0]]

    places = [spec.kill_order for spec in order]
    assert places == sorted(set(places))
