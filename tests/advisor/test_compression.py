"""What is written anew in each window, and what is long, is compressed as costs least."""

from __future__ import annotations

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db


WRITTEN = {
    "advisor_incident": ("victims", "aggressors", "evidence", "signals", "tally"),
    "advisor_recommendation": ("inputs", "answer"),
}


@pytest.mark.parametrize("table", WRITTEN)
def test_what_is_long_or_often_written_is_compressed_by_lz4_where_the_server_has_it(
    table: str,
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 'lz4' = ANY(enumvals) FROM pg_settings"
            " WHERE name = 'default_toast_compression'"
        )
        (has_lz4,) = cursor.fetchone()
        cursor.execute(
            "SELECT attname, attcompression FROM pg_attribute"
            " WHERE attrelid = %s::regclass AND attnum > 0",
            [table],
        )
        methods = dict(cursor.fetchall())

    asked = {methods[name] for name in WRITTEN[table]}
    assert asked == ({"l"} if has_lz4 else {""})
