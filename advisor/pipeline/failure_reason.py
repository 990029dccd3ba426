"""Why a task failed, in words that an operator can act on."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType

import redis
from celery.exceptions import SoftTimeLimitExceeded, TimeLimitExceeded, WorkerLostError
from django.db import InterfaceError, OperationalError

LONGEST_REASON = 500


_ROOT = Path(__file__).resolve().parents[2]


def failure_reason(
    error: BaseException, *, soft_limit_s: float | None = None, hard_limit_s: float | None = None
) -> str:
    """One or two sentences; an error of the program names its place in the code."""
    return _reason(error, soft_limit_s, hard_limit_s)[:LONGEST_REASON]


def _reason(error: BaseException, soft_limit_s: float | None, hard_limit_s: float | None) -> str:
    match error:
        case SoftTimeLimitExceeded():
            return f"It took longer than {_seconds(soft_limit_s)} and was interrupted."
        case TimeLimitExceeded():
            return (
                f"It took longer than {_seconds(hard_limit_s)}, could not be interrupted, "
                "and its process was killed."
            )
        case WorkerLostError():
            return (
                "Its process ended in the middle of it. If the system was short of memory, "
                "its log says which process was killed."
            )
        case OperationalError() | InterfaceError():
            return _database_reason(error)
        case redis.RedisError():
            return f"The queue's server did not answer: {_first_line(error)}."
    kind = type(error).__name__
    return f"An error in the program: {kind}: {_first_line(error)}{_place(error.__traceback__)}."


def _database_reason(error: Exception) -> str:
    match getattr(error.__cause__, "sqlstate", None):
        case "57014":  # query_canceled
            return "A statement in the database took longer than its time limit."
        case "55P03":  # lock_not_available
            return "It waited longer than its limit for a lock in the database."
    return f"The database did not answer: {_first_line(error)}."


def _seconds(limit_s: float | None) -> str:
    return "its time limit" if limit_s is None else f"{limit_s:g} s"


def _first_line(error: BaseException) -> str:
    """The first line of its text, without a full stop; its class if it has none."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _place(trace: TracebackType | None) -> str:
    """The last place in our own code that it passed through; empty if there is none."""
    for frame in reversed(traceback.extract_tb(trace)):
        path = Path(frame.filename)
        if path.is_relative_to(_ROOT) and ".venv" not in path.parts:
            return f" (line {frame.lineno} of {path.relative_to(_ROOT)})"
    return ""
