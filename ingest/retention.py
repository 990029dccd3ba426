"""How long samples are kept."""

from datetime import timedelta

from django.conf import settings


def retention() -> timedelta:
    """The age from which samples are refused, and those that are never sealed are dropped."""
    return timedelta(days=settings.SAMPLE_RETENTION_DAYS)


def row_retention() -> timedelta:
    """So long samples stay rows, if they are sealed by then."""
    return timedelta(hours=settings.SAMPLE_ROWS_HOURS)
