"""How long samples are kept."""

from datetime import timedelta

from django.conf import settings


def retention() -> timedelta:
    """The time after which samples are dropped; older ones are not taken in."""
    return timedelta(days=settings.SAMPLE_RETENTION_DAYS)
