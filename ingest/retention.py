"""How long samples are kept."""

from datetime import timedelta

from django.conf import settings


def retention() -> timedelta:
    """The age at which samples are deleted; older ones are rejected."""
    return timedelta(days=settings.SAMPLE_RETENTION_DAYS)
