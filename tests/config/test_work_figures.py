"""What processes note of their work in a real valkey, and what others read there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from celery.exceptions import TimeLimitExceeded
from django.test import override_settings
from django.utils import timezone

from accounts.models import Organisation
from advisor.core.health.distribution import bucket_quantile_s
from advisor.pipeline import work_figures
from advisor.pipeline.evaluation_lag import NewWindows, lag, note
from advisor.pipeline.work_figures import (
    beats,
    lags,
    note_end,
    note_lags,
    note_life,
    note_start,
    queue_states,
    slowest_run,
)
from advisor.tasks import detect_everywhere, detect_resource
from config import heartbeats, one_waiting, work_record
from config.celery import app
from config.queues import QUEUES
from tests.advisor.stated_datastores import stated_datastore
from tests.config.queued import empty

pytestmark = pytest.mark.valkey

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def later(**length: float) -> datetime:
    return NOW + timedelta(**length)


@pytest.fixture(autouse=True)
def queue(valkey_url: str) -> Iterator[str]:
    empty(valkey_url)
    yield valkey_url
    empty(valkey_url)


def test_processes_are_known_for_an_hour_after_their_last_sign_of_life() -> None:
    note_life(name="a", kind="worker", queues=["report", "advise"], now=NOW)
    note_life(name="a", kind="worker", queues=["report", "advise"], now=later(minutes=1))
    note_life(name="b", kind="scheduler", queues=[], now=later(minutes=30), as_root=True)

    both = beats(now=later(minutes=61))
    one = beats(now=later(minutes=62))

    assert [(beat.name, beat.kind, beat.queues) for beat in both] == [
        ("a", "worker", ("advise", "report")),
        ("b", "scheduler", ()),
    ]
    assert both[0].at == later(minutes=1).timestamp()
    assert not both[0].as_root
    assert [(beat.name, beat.as_root) for beat in one] == [("b", True)]


def test_slowest_run_of_ten_minutes_is_kept() -> None:
    def ran(task: str, seconds: float, now: datetime) -> None:
        note_end(run=task, task=task, subject="resource 5", seconds=seconds, now=now)

    ran("old", 90.0, later(minutes=-11))
    ran("slow", 9.0, later(minutes=-9))
    ran("slow", 4.0, later(minutes=-9))
    ran("fast", 1.0, NOW)

    found = slowest_run(now=NOW)

    assert found is not None
    assert (found.task, found.subject, found.seconds, found.is_running) == (
        "slow", "resource 5", 9.0, False,
    )  # fmt: skip
    assert slowest_run(now=later(minutes=20)) is None


def test_run_that_goes_on_counts_with_its_time_so_far() -> None:
    note_end(run="1", task="done", subject="", seconds=9.0, now=NOW)
    note_start(run="2", task="hangs", subject="resource 5", limit_s=50, now=NOW)

    found = slowest_run(now=later(seconds=30))
    after_its_end = slowest_run(now=later(seconds=51))

    assert found is not None
    assert (found.task, found.seconds, found.is_running) == ("hangs", 30.0, True)
    # Beyond its hard limit it cannot run any more.
    assert after_its_end is not None
    assert after_its_end.task == "done"


def test_lags_of_all_processes_are_counted_together_and_apart_per_organisation() -> None:
    note_lags(organisation=1, lags_s={7: [1.0, 2.0]}, now=NOW)
    note_lags(organisation=1, lags_s={8: [30.0]}, now=later(minutes=1))
    note_lags(organisation=1, lags_s={9: [90.0]}, now=later(minutes=-20))
    note_lags(organisation=2, lags_s={5: [60.0]}, now=NOW)

    counts, worst = lags(organisation=1, now=later(minutes=1))

    assert sum(counts.values()) == 3
    assert bucket_quantile_s(counts, 0.5) == pytest.approx(2.0, rel=0.05)
    assert worst == (8, 30.0)
    assert lags(organisation=3, now=NOW) == ({}, None)


@pytest.mark.django_db(transaction=True)
def test_lag_is_counted_from_ten_seconds_after_the_end_of_the_window() -> None:
    acme = Organisation.objects.create(slug="acme", name="Acme")
    resource = stated_datastore(acme, "sda", "h1")
    now = timezone.now()

    ends = [now - timedelta(seconds=30), now - timedelta(seconds=5)]
    note([NewWindows(resource=resource, ends=ends, stored_at=now)])

    counts, worst = lags(organisation=acme.pk, now=timezone.now())
    assert sum(counts.values()) == 2
    assert worst is not None
    # 30 - 10 s.
    assert worst[1] == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("heard_s", "lag_s"),
    [
        pytest.param(None, 2.0, id="never heard: from 10 s after its end"),
        pytest.param(3, 9.0, id="complete after 3 s: from then on"),
        pytest.param(11, 2.0, id="the last sample came after 10 s: nobody waited for it"),
        pytest.param(-5, 12.0, id="a host whose clock is ahead: from its end"),
    ],
)
def test_lag_begins_with_the_last_sample_or_after_ten_seconds(
    heard_s: float | None, lag_s: float
) -> None:
    heard_at = None if heard_s is None else NOW + timedelta(seconds=heard_s)

    found = lag(NOW, heard_at=heard_at, now=NOW + timedelta(seconds=12))

    assert found.total_seconds() == lag_s


@pytest.mark.usefixtures("db")
def test_oldest_message_of_a_queue_tells_how_long_it_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = timezone.now()
    for seconds_ago in (40, 20):
        at = now.timestamp() - seconds_ago
        monkeypatch.setattr(one_waiting.time, "time", lambda at=at: at)
        (detect_everywhere if seconds_ago == 40 else detect_resource).apply_async(
            () if seconds_ago == 40 else (1,)
        )

    (evaluate, advise) = queue_states(["evaluate", "advise"], now=now)

    assert evaluate == (2, pytest.approx(40.0))
    assert advise == (0, None)


@pytest.mark.django_db
def test_task_is_noted_while_it_runs_and_when_it_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def look(*_: object, **__: object) -> None:
        seen.append(slowest_run(now=timezone.now()))

    acme = Organisation.objects.create(slug="acme", name="Acme")
    resource = stated_datastore(acme, "sda", "h1")
    monkeypatch.setattr("advisor.pipeline.groups.judge_alone", look)
    detect_resource.apply((resource.pk,))

    ended = slowest_run(now=timezone.now())

    assert [(run.task, run.subject, run.is_running) for run in [*seen, ended]] == [
        ("detect_resource", f"resource {resource.pk}", True),
        ("detect_resource", f"resource {resource.pk}", False),
    ]


def test_task_whose_process_was_killed_took_all_its_time() -> None:
    note_start(
        run="1", task="detect_resource", subject="resource 5", limit_s=50, now=timezone.now()
    )

    work_record.note_killed(
        sender=detect_resource, task_id="1", exception=TimeLimitExceeded(50), args=(5,)
    )

    found = slowest_run(now=timezone.now())
    assert found is not None
    assert (found.task, found.subject, found.seconds, found.is_running) == (
        "detect_resource", "resource 5", 50.0, False,
    )  # fmt: skip


def test_worker_and_scheduler_give_signs_of_life(tmp_path: Path) -> None:
    dispatcher = SimpleNamespace(hostname="evaluate@h", app=app)
    heartbeats.worker_lives(sender=SimpleNamespace(eventer=dispatcher))
    app.loader.import_default_modules()
    scheduler = heartbeats.LivingScheduler(app=app, schedule_filename=str(tmp_path / "beat"))
    scheduler.tick()
    scheduler.close()

    worker, planner = beats(now=timezone.now())

    assert (worker.name, worker.kind) == ("evaluate@h", "worker")
    assert set(worker.queues) == {queue.name for queue in QUEUES}
    assert planner.kind == "scheduler"


def test_server_that_does_not_answer_ends_no_task(caplog: pytest.LogCaptureFixture) -> None:
    work_figures._client.cache_clear()
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        dispatcher = SimpleNamespace(hostname="evaluate@h", app=app)
        heartbeats.worker_lives(sender=SimpleNamespace(eventer=dispatcher))
        work_record.note_start(sender=detect_resource, task_id="1", args=(5,))
    work_figures._client.cache_clear()

    assert "sign of life not noted" in caplog.text
    assert "facts of a task not kept" in caplog.text
