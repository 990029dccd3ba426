"""Refuse impossible numbers and times on entry to the core."""

import math
from datetime import datetime


def check_amount(name: str, value: float | None) -> None:
    """Refuse anything but a finite number of at least 0; None is absence and allowed."""
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} is {value!r}; it must be a finite number of at least 0")


def check_positive(name: str, value: float | None) -> None:
    """Refuse anything but a finite number above 0; None is absence and allowed."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} is {value!r}; it must be a finite number above 0")


def check_ratio(name: str, value: float | None) -> None:
    """Refuse anything but a number from 0 to 1; None is absence and allowed."""
    if value is not None and not 0 <= value <= 1:
        raise ValueError(f"{name} is {value!r}; it must be a number from 0 to 1")


def check_aware(name: str, at: datetime) -> None:
    """Refuse a time without a zone."""
    if at.utcoffset() is None:
        raise ValueError(f"{name} is {at!r}; it must have a time zone")
