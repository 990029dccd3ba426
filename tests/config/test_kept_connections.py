"""Worker processes keep their connection to the database over tasks, but for doubtful ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection

from advisor.tasks import detect_everywhere
from config.kept_connections import begin_with_a_good_one, end_a_doubtful_one
from tests.config.queued import empty
from tests.config.test_poison import wait_for, worker

DONE = "status=success task=detect_everywhere"

pytestmark = [pytest.mark.django_db(transaction=True)]


def task(*, is_eager: bool = False) -> Any:
    return SimpleNamespace(request=SimpleNamespace(is_eager=is_eager))


@pytest.fixture(autouse=True)
def _young(transactional_db: None) -> None:
    """The connection is no older than the test, and so not closed for its age."""
    connection.close()


def session() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize("state", ["SUCCESS", "IGNORED"])
def test_next_task_has_the_same_session(state: str) -> None:
    before = session()

    end_a_doubtful_one(sender=task(), state=state)
    begin_with_a_good_one(sender=task())

    assert session() == before


@pytest.mark.parametrize("state", ["FAILURE", "RETRY", None])
def test_session_of_a_task_that_failed_is_closed(state: str | None) -> None:
    before = session()

    end_a_doubtful_one(sender=task(), state=state)

    assert connection.connection is None
    assert session() != before


def test_session_that_a_task_left_in_a_transaction_is_closed() -> None:
    before = session()
    connection.connection.autocommit = False
    session()

    end_a_doubtful_one(sender=task(), state="SUCCESS")

    assert connection.connection is None
    assert session() != before


def test_session_that_the_database_ended_is_replaced_before_the_next_task() -> None:
    before = session()
    end_a_doubtful_one(sender=task(), state="SUCCESS")
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [before])
    other.close()

    begin_with_a_good_one(sender=task())

    assert session() != before


def test_task_that_runs_where_it_is_called_leaves_the_callers_session_alone() -> None:
    before = session()

    begin_with_a_good_one(sender=task(is_eager=True))
    end_a_doubtful_one(sender=task(is_eager=True), state="FAILURE")

    assert session() == before


@pytest.fixture
def log(valkey_url: str, transactional_db: None, tmp_path: Path) -> Iterator[Path]:
    empty(valkey_url)
    yield tmp_path / "worker.log"
    empty(valkey_url)


@pytest.mark.valkey
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_worker_has_one_session_a_process_for_many_tasks(log: Path) -> None:
    # Threads of an earlier test may still have theirs.
    before, seen = _others(), set[int]()
    with worker(log, "evaluate"):
        for number in range(1, 7):
            detect_everywhere.delay()
            wait_for(partial(_has_done, log, number), log)
            seen |= _others() - before

    # Two processes, and their parent.
    assert 1 <= len(seen) <= 3


def _has_done(log: Path, times: int) -> bool:
    return log.read_text().count(DONE) == times


def _others() -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return {row[0] for row in cursor.fetchall()}
