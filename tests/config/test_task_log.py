"""The lines of a real worker have the id of the request that its work goes back to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from accounts.log_context import working_on
from accounts.models import Organisation
from advisor.decisions.uploads import upload
from advisor.pipeline import asked_by, work_figures
from advisor.tasks import import_everywhere
from ingest.core.imported.answers import Answers
from tests.config.queued import empty

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 110.0


@pytest.fixture
def queue(valkey_url: str) -> Iterator[str]:
    empty(valkey_url)
    yield valkey_url
    empty(valkey_url)


@contextmanager
def worker(log: Path, queues: str) -> Iterator[None]:
    """The product's worker, whose lines are JSON."""
    database = connection.settings_dict
    host, name = quote(str(database["HOST"]), safe=""), database["NAME"]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": f"postgres://{database['USER']}@{host}:{database['PORT']}/{name}",
        "CELERY_SKIP_CHECKS": "1",
        "SLUICE_LOG_FORMAT": "json",
    }
    words = [
        sys.executable, "-m", "celery", "--app=config.celery", "worker", f"--queues={queues}",
        "--concurrency=1", "--loglevel=INFO", "--without-gossip", "--without-mingle",
    ]  # fmt: skip
    with log.open("wb") as output:
        process = subprocess.Popen(words, cwd=ROOT, env=environment, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30.0)


def task_lines(log: Path) -> list[dict[str, Any]]:
    """What the worker said of tasks that ended."""
    lines = [json.loads(one) for one in log.read_text().splitlines() if one.startswith("{")]
    return [one for one in lines if one["logger"] == "sluice.task"]


@pytest.mark.valkey
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.django_db(transaction=True)
def test_work_that_a_request_asked_for_is_told_under_its_id(queue: str, tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    person = User.objects.create_user("ada")
    with working_on(request_id="the-upload"):
        run = upload(
            organisation=organisation,
            user=person,
            files=[("notes.txt", [b"nothing of any use"])],
            answers=Answers(),
            is_shifted=False,
            now=timezone.now(),
        )
    # The timer looks for what people left; its own id leads to what it queues.
    with working_on(request_id="the-timer"):
        import_everywhere.apply_async()

    with worker(log, "report"):
        deadline = time.monotonic() + DEADLINE_S
        while len(task_lines(log)) < 2:
            assert time.monotonic() < deadline, log.read_text()[-4000:]
            time.sleep(0.1)

    run.refresh_from_db()
    assert run.ended_at is not None
    found = {one["task"]: one for one in task_lines(log)}
    assert found["import_everywhere"]["request_id"] == "the-timer"
    assert found["import_upload"]["request_id"] == "the-upload"
    for line in found.values():
        assert (line["level"], line["status"]) == ("info", "success")
        assert line["duration_ms"] > 0
        assert len(line["task_id"]) == 36
        assert line["time"].endswith("+00:00")
    # One line for each task is enough: Celery's own two are left out.
    assert "received" not in log.read_text()


@pytest.mark.valkey
def test_who_asked_is_told_once(queue: str) -> None:
    with working_on(request_id="the-request"):
        asked_by.note_asked("source 5")

    with working_on(request_id="first-task") as first:
        asked_by.tell_who_asked("source 5")
    with working_on(request_id="next-task") as second:
        asked_by.tell_who_asked("source 5")

    assert first == {"request_id": "the-request"}
    assert second == {"request_id": "next-task"}


def test_work_goes_on_where_the_queues_server_is_away(
    settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/none.sock"
    work_figures._client.cache_clear()
    try:
        with working_on(request_id="the-request") as fields:
            asked_by.note_asked("source 5")
            asked_by.tell_who_asked("source 5")
    finally:
        work_figures._client.cache_clear()

    assert fields == {"request_id": "the-request"}
    assert "request of later work not noted" in caplog.messages
