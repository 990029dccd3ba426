"""The present of the data set in place of today: what the product takes for the time.

The product asks `django.utils.timezone.now` and nothing else, so that is what is replaced.
Processes that the benchmark starts get the shift by their environment, and so do those that they
start: Python imports `sitecustomize` of `at_start` before anything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.utils import timezone

SHIFT_VARIABLE = "SLUICE_BENCH_SHIFT_S"
_AT_START = Path(__file__).with_name("at_start")
_CHECKOUT = Path(__file__).parents[2]


@contextmanager
def frozen_at(moment: datetime) -> Iterator[None]:
    """It is this moment all the time."""
    real = timezone.now
    timezone.now = lambda: moment
    try:
        yield
    finally:
        timezone.now = real


@contextmanager
def shifted_by(shift: timedelta) -> Iterator[None]:
    """Time goes on, shifted."""
    real = timezone.now
    shift_clock(shift)
    try:
        yield
    finally:
        timezone.now = real


def shift_clock(shift: timedelta) -> None:
    """The same, for good."""
    timezone.now = lambda: datetime.now(UTC) + shift


def shifted_environment(shift: timedelta) -> dict[str, str]:
    """What a process needs to be in that time; it may begin in another folder than this one."""
    return {
        SHIFT_VARIABLE: str(shift.total_seconds()),
        "PYTHONPATH": os.pathsep.join(map(str, (_AT_START, _CHECKOUT))),
    }


def shift_as_asked() -> None:
    """Shift the clock of this process as its environment says."""
    shift_clock(timedelta(seconds=float(os.environ[SHIFT_VARIABLE])))
