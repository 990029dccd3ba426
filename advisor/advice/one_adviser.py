"""One adviser a resource at a time, without holding up those who detect its congestion."""

from __future__ import annotations

from django.db import connection

from advisor.models import Resource

# The first of two numbers of an advisory lock; nothing else in this database uses two.
_ADVISERS = 7_011_514
_NUMBERS = 2**31


def be_the_only_adviser(resource: Resource) -> None:
    """Lock advising on the resource until the end of this transaction; wait for others.

    The row of its status cannot be the lock: advice may take minutes, and the detector needs it.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_ADVISERS, resource.pk % _NUMBERS])
