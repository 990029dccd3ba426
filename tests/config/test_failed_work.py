"""Scheduled work that fails leaves one row with its reason, until the same work succeeds."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from celery.exceptions import SoftTimeLimitExceeded, TimeLimitExceeded, WorkerLostError
from django.db import OperationalError, connection

from accounts.models import Organisation
from advisor.decisions.sources import reading
from advisor.models import FailedWork, ReadSource, Resource
from advisor.pipeline import failed_work, groups, upkeep
from advisor.pipeline.failed_work import INSTALLATION, Subject, keep_failure, solve
from advisor.pipeline.failure_reason import LONGEST_REASON, failure_reason
from advisor.tasks import detect_resource, read_source_of, tidy
from config.celery import app
from config.work_record import SUBJECT_ARGUMENTS
from tests.advisor.stated_datastores import stated_datastore

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def resource(db: None) -> Resource:
    acme = Organisation.objects.create(slug="acme", name="Acme")
    return stated_datastore(acme, "sda", "h1")


@pytest.fixture
def break_detection(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException | None], None]:
    """Let every evaluation raise this, or work again."""
    working = groups.judge_alone

    def broken_by(error: BaseException | None) -> None:
        def run(*arguments: Any, **named: Any) -> None:
            if error is not None:
                raise error
            working(*arguments, **named)

        monkeypatch.setattr(groups, "judge_alone", run)

    return broken_by


def test_task_that_raises_leaves_a_row_with_its_subject_and_reason(
    resource: Resource, break_detection: Callable[[BaseException | None], None]
) -> None:
    break_detection(ValueError("depth must be positive.\nsecond line"))

    detect_resource.apply((resource.pk,))

    row = FailedWork.objects.get()
    assert (row.task, row.organisation, row.resource) == (
        "detect_resource", resource.organisation, resource,
    )  # fmt: skip
    assert row.reason.startswith(
        "An error in the program: ValueError: depth must be positive (line "
    )
    assert (row.times, row.solved_at, row.first_at) == (1, None, row.last_at)


def test_second_failure_counts_and_keeps_the_first_time(
    resource: Resource, break_detection: Callable[[BaseException | None], None]
) -> None:
    break_detection(ValueError("first"))
    detect_resource.apply((resource.pk,))
    break_detection(SoftTimeLimitExceeded())

    detect_resource.apply((resource.pk,))

    row = FailedWork.objects.get()
    assert row.times == 2
    assert row.first_at < row.last_at
    assert row.reason == "It took longer than 40 s and was interrupted."


def test_success_of_the_same_work_solves_it_and_a_new_failure_opens_it_again(
    resource: Resource, break_detection: Callable[[BaseException | None], None]
) -> None:
    other = stated_datastore(resource.organisation, "sdb", "h1")
    break_detection(ValueError("poison"))
    for one in (resource, other):
        detect_resource.apply((one.pk,))
    break_detection(None)

    detect_resource.apply((resource.pk,))

    assert FailedWork.objects.get(resource=resource).solved_at is not None
    assert FailedWork.objects.get(resource=other).solved_at is None
    break_detection(ValueError("poison"))
    detect_resource.apply((resource.pk,))
    again = FailedWork.objects.get(resource=resource)
    assert (again.solved_at, again.times) == (None, 2)


def test_failure_of_work_without_a_subject_belongs_to_the_installation(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise ValueError("full")

    with monkeypatch.context() as patched:
        patched.setattr(upkeep, "tidy", fail)
        tidy.apply()
    row = FailedWork.objects.get()
    assert (row.task, row.organisation, row.resource) == ("tidy", None, None)

    tidy.apply()

    row.refresh_from_db()
    assert row.solved_at is not None


def test_nothing_is_kept_of_a_subject_that_is_gone(db: None) -> None:
    keep_failure(task="detect_resource", subject=Subject(resource=1), reason="-", now=NOW)

    assert FailedWork.objects.count() == 0


def test_rows_are_bounded_and_what_was_solved_goes_first(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed_work, "MOST_ROWS", 3)
    subject = Subject(organisation=resource.organisation_id)
    keep_failure(task="other", subject=INSTALLATION, reason="-", now=NOW)
    for number in range(3):
        at = NOW + timedelta(minutes=number)
        keep_failure(task=f"task-{number}", subject=subject, reason="-", now=at)
    assert solve(task="task-2", subject=subject, now=NOW)

    for number in (3, 4):
        at = NOW + timedelta(minutes=number)
        keep_failure(task=f"task-{number}", subject=subject, reason="-", now=at)

    # First the solved one went, then the oldest; that of the installation is counted apart.
    kept = FailedWork.objects.order_by("task").values_list("task", flat=True)
    assert list(kept) == ["other", "task-1", "task-3", "task-4"]


@pytest.mark.parametrize(
    ("solved", "days", "left"), [(True, 6, 1), (True, 8, 0), (False, 8, 1), (False, 31, 0)]
)
def test_old_failures_go_a_week_after_they_were_solved_or_a_month_after_the_last_try(
    db: None, solved: bool, days: int, left: int
) -> None:
    keep_failure(task="tidy", subject=INSTALLATION, reason="-", now=NOW)
    if solved:
        solve(task="tidy", subject=INSTALLATION, now=NOW)

    done = upkeep.tidy(now=NOW + timedelta(days=days))

    assert FailedWork.objects.count() == left
    assert done.failures == 1 - left


def test_failure_that_cannot_be_kept_does_not_change_the_outcome_of_the_task(
    resource: Resource,
    break_detection: Callable[[BaseException | None], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    break_detection(ValueError("poison"))
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE advisor_failedwork RENAME TO advisor_failedwork_away")

    found = detect_resource.apply((resource.pk,))

    assert str(found.result) == "poison"
    assert "facts of a task not kept" in caplog.text


def test_first_argument_of_every_task_names_a_subject() -> None:
    app.loader.import_default_modules()
    own = [task for name, task in app.tasks.items() if not name.startswith("celery.")]

    assert own
    # A group has many subjects; one that fails in it is judged alone, and that is kept.
    # A source is told with its organisation.
    others = {"advisor.tasks.detect_group", "advisor.tasks.read_source_of"}
    for task in (one for one in own if one.name not in others):
        assert set(inspect.signature(task.run).parameters) <= set(SUBJECT_ARGUMENTS), task.name


def test_source_that_fails_is_work_of_its_organisation(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ReadSource.objects.create(
        organisation=resource.organisation, name="main", address="https://vc.example.org",
        user="reader", password="opensesame", next_at=NOW,
    )  # fmt: skip

    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("no such answer")

    monkeypatch.setattr(reading, "read_where_due", fail)
    read_source_of.apply((row.pk,))

    (failed,) = FailedWork.objects.all()
    assert (failed.task, failed.organisation) == ("read_source_of", resource.organisation)


def with_sqlstate(code: str) -> OperationalError:
    error = OperationalError("canceling statement")
    cause = Exception()
    cause.sqlstate = code  # type: ignore[attr-defined]
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeLimitExceeded(50), "took longer than 50 s, could not be interrupted"),
        (WorkerLostError("signal 9"), "Its process ended in the middle of it."),
        (with_sqlstate("57014"), "A statement in the database took longer than its time limit."),
        (with_sqlstate("55P03"), "It waited longer than its limit for a lock in the database."),
        (OperationalError("no route\nmore"), "The database did not answer: no route."),
        (redis.ConnectionError("refused"), "The queue's server did not answer: refused."),
        (KeyError(), "An error in the program: KeyError: KeyError."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_reason_is_told_in_plain_words(error: BaseException, words: str) -> None:
    assert words in failure_reason(error, soft_limit_s=40, hard_limit_s=50)


def test_reason_has_a_bound() -> None:
    assert len(failure_reason(ValueError("x" * 10_000))) == LONGEST_REASON
