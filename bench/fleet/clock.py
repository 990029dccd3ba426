"""The present of the data set in place of today: what the product takes for the time.

The product asks `django.utils.timezone.now` and nothing else, so that is what is replaced.
Processes that the benchmark starts get the shift by their environment: `bench.fleet.shifted`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django.utils import timezone

SHIFT_VARIABLE = "SLUICE_BENCH_SHIFT_S"


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
