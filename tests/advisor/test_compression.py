"""What is written anew in each window is compressed in the way that costs least."""

from __future__ import annotations

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db


def test_open_incidents_are_compressed_by_lz4_where_the_server_has_it() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 'lz4' = ANY(enumvals) FROM pg_settings"
            " WHERE name = 'default_toast_compression'"
        )
        (has_lz4,) = cursor.fetchone()
        cursor.execute(
            "SELECT attname, attcompression FROM pg_attribute"
            " WHERE attrelid = 'advisor_incident'::regclass AND attnum > 0"
        )
        methods = dict(cursor.fetchall())

    asked = {methods[name] for name in ("victims", "aggressors", "evidence", "signals", "tally")}
    assert asked == ({"l"} if has_lz4 else {""})
