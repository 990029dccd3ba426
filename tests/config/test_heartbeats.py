"""The scheduler goes on when the wall clock is set back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery
from celery.beat import ScheduleEntry
from celery.schedules import BaseSchedule

from config import heartbeats
from config.heartbeats import LivingScheduler
from config.scheduler_lease import SchedulerLease

HOUR = timedelta(hours=1)
EACH_S = 5.0


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the entries that the scheduler queues."""
    names: list[str] = []

    def apply_entry(_: LivingScheduler, entry: ScheduleEntry, **__: object) -> None:
        names.append(entry.name)

    monkeypatch.setattr(LivingScheduler, "apply_entry", apply_entry)
    monkeypatch.setattr(heartbeats, "note_life", lambda **_: None)
    # Whether another one queues work is another question, which takes the queue's server.
    monkeypatch.setattr(SchedulerLease, "take", lambda _: True)
    return names


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[LivingScheduler]:
    app = Celery("clocks", broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {"detect": {"task": "detect", "schedule": EACH_S}}
    scheduler = LivingScheduler(app=app, schedule_filename=str(tmp_path / "beat-schedule"))
    yield scheduler
    scheduler.close()


def ran_at(scheduler: LivingScheduler, ago: timedelta) -> None:
    """The entry was queued last so long ago, by the clock of now."""
    entry = scheduler.schedule["detect"]
    entry.last_run_at = entry.default_now() - ago


def test_entry_that_is_due_is_queued(scheduler: LivingScheduler, sent: list[str]) -> None:
    ran_at(scheduler, timedelta(seconds=EACH_S + 1))

    scheduler.tick()

    assert sent == ["detect"]


def test_entry_that_was_queued_by_a_clock_an_hour_ahead_is_due_after_its_own_time(
    scheduler: LivingScheduler, sent: list[str]
) -> None:
    ran_at(scheduler, -HOUR)

    wait_s = scheduler.tick()

    assert sent == []
    assert wait_s <= EACH_S
    entry = scheduler.schedule["detect"]
    assert entry.last_run_at <= entry.default_now()


def test_looks_that_were_planned_by_a_clock_an_hour_ahead_are_planned_anew(
    scheduler: LivingScheduler, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = BaseSchedule.now
    monkeypatch.setattr(BaseSchedule, "now", lambda self: real(self) + HOUR)
    ran_at(scheduler, timedelta(seconds=EACH_S + 1))
    scheduler.tick()
    monkeypatch.setattr(BaseSchedule, "now", real)

    wait_s = scheduler.tick()

    assert sent == ["detect"]
    assert wait_s <= EACH_S
