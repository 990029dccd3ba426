"""Waiting until transactions meet."""

from __future__ import annotations

import time

from django.db import connection


def wait_for_a_lock() -> None:
    """Until some transaction waits for another."""
    for _ in range(600):
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone() != (0,):
                return
        time.sleep(0.05)
    raise AssertionError("nobody waits for a lock")
