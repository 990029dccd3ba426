"""What Celery's signals say of each task, kept where people see it.

Keeping it never makes a task fail: what cannot be kept is a warning in the log.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import redis
from celery.exceptions import TimeLimitExceeded, WorkerLostError
from celery.signals import task_failure, task_postrun, task_prerun, task_success
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from advisor.core.turns import organisation_of
from advisor.pipeline import work_figures

log = logging.getLogger(__name__)

SUBJECT_ARGUMENTS = ("resource_id", "organisation_id", "recommendation_id")
"""A task on several subjects keeps the failure of each itself."""
SEEN_BY_PARENT = (TimeLimitExceeded, WorkerLostError)
"""Failures that end the task's process, so that only its parent can tell of them."""


def _never_raises(receiver: Callable[..., None]) -> Callable[..., None]:
    @wraps(receiver)
    def receive(**facts: Any) -> None:
        try:
            receiver(**facts)
        except (DatabaseError, InterfaceError, redis.RedisError) as error:
            log.warning("facts of a task not kept", extra={"reason": str(error).strip()})

    return receive


_began_s: dict[str, float] = {}
"""When each run in this process began, by the monotonic clock."""


@task_prerun.connect(weak=False)
@_never_raises
def note_start(*, sender: Any, task_id: str, args: Sequence[Any], **_: Any) -> None:
    """Show the task among those that run."""
    if _is_ours(sender):
        _began_s[task_id] = time.monotonic()
        work_figures.note_start(
            run=task_id,
            task=short_name(sender),
            subject=_subject_text(sender, args),
            limit_s=sender.time_limit,
            now=timezone.now(),
        )


@task_postrun.connect(weak=False)
@_never_raises
def note_end(*, sender: Any, task_id: str, args: Sequence[Any], **_: Any) -> None:
    """Note how long the task took."""
    if (began_s := _began_s.pop(task_id, None)) is not None:
        _note_end(sender, task_id, args, seconds=time.monotonic() - began_s)


@task_failure.connect(weak=False)
@_never_raises
def note_killed(
    *, sender: Any, task_id: str, exception: BaseException, args: Sequence[Any], **_: Any
) -> None:
    """A task whose process was killed took all its time, or nobody knows how long."""
    if isinstance(exception, SEEN_BY_PARENT) and _is_ours(sender):
        is_timeout = isinstance(exception, TimeLimitExceeded)
        _note_end(sender, task_id, args, seconds=sender.time_limit if is_timeout else None)


@task_failure.connect(weak=False)
@_never_raises
def keep_failed_task(
    *, sender: Any, exception: BaseException, args: Sequence[Any], **_: Any
) -> None:
    """Keep the failure with its reason."""
    from advisor.pipeline.failed_work import keep_failure
    from advisor.pipeline.failure_reason import failure_reason

    if not _is_ours(sender):
        return
    # The task may have failed because its connection broke.
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()
    reason = failure_reason(
        exception, soft_limit_s=sender.soft_time_limit, hard_limit_s=sender.time_limit
    )
    keep_failure(
        task=short_name(sender), subject=_subject(sender, args), reason=reason, now=timezone.now()
    )
    # After the row, which people are shown: the queue that counts may be what failed.
    work_figures.note_failure(task=short_name(sender))
    if isinstance(exception, SEEN_BY_PARENT):
        # Processes that are forked later must not inherit it.
        connection.close()


@task_success.connect(weak=False)
@_never_raises
def solve_failed_task(*, sender: Any, **_: Any) -> None:
    """Note that the work succeeded, in case it had failed before."""
    from advisor.pipeline.failed_work import solve

    if _is_ours(sender):
        subject = _subject(sender, sender.request.args or ())
        solve(task=short_name(sender), subject=subject, now=timezone.now())


def short_name(task: Any) -> str:
    """The name of the task's function."""
    name: str = task.name.rpartition(".")[2]
    return name


def _note_end(task: Any, run: str, args: Sequence[Any], *, seconds: float | None) -> None:
    work_figures.note_end(
        run=run,
        task=short_name(task),
        subject=_subject_text(task, args),
        seconds=seconds,
        now=timezone.now(),
    )


def _is_ours(task: Any) -> bool:
    return not task.name.startswith("celery.")


def _subject(task: Any, args: Sequence[Any]) -> Any:
    from advisor.pipeline.failed_work import INSTALLATION, Subject

    named = _named(task, args)
    return INSTALLATION if named is None else Subject(**dict([named]))


def _subject_text(task: Any, args: Sequence[Any]) -> str:
    named = _named(task, args)
    return "" if named is None else f"{named[0]} {named[1]}"


def _named(task: Any, args: Sequence[Any]) -> tuple[str, int] | None:
    """The subject by the name of the task's argument; None if it has no single one."""
    for name, value in zip(inspect.signature(task.run).parameters, args, strict=False):
        if name in SUBJECT_ARGUMENTS:
            return name.removesuffix("_id"), value
        if name == "group":
            return "organisation", organisation_of(value)
        if name == "source_id":
            return _organisation_of_source(value)
    return None


def _organisation_of_source(pk: int) -> tuple[str, int] | None:
    from advisor.models import ReadSource

    found = ReadSource.objects.filter(pk=pk).values_list("organisation", flat=True).first()
    return None if found is None else ("organisation", found)
