"""Rows of chunks: read in one statement, written in one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

import psycopg
from django.db import connection

ChunkKey = tuple[int, int, datetime]
"""A shard, the number of a figure, and the begin of an hour."""


def read_chunks(
    organisations: Collection[int],
    *,
    shards: Collection[int],
    figures: Collection[int],
    since: datetime,
    until: datetime,
) -> Iterator[tuple[ChunkKey, bytes]]:
    """The stored chunks of hours that begin in [since, until), in one statement.

    They come one by one, so that a month of them need not fit into memory.
    """
    with connection.wrap_database_errors, binary_cursor() as cursor:
        found = cursor.stream(
            "SELECT shard_id, figure, at, data FROM advisor_history_chunk"
            " WHERE organisation_id = ANY(%s) AND shard_id = ANY(%s) AND figure = ANY(%s)"
            " AND at >= %s AND at < %s",
            [list(organisations), list(shards), list(figures), since, until],
            binary=True,
        )
        for shard, figure, at, data in found:
            yield (shard, figure, at), data


def write_chunks(organisation: int, hour: datetime, data: Mapping[tuple[int, int], bytes]) -> int:
    """Write the chunks of an hour by shard and figure; the number that is new or differs."""
    keys = sorted(data)
    with connection.wrap_database_errors, binary_cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO advisor_history_chunk AS stored
                   (organisation_id, shard_id, figure, at, data)
            SELECT %s, shard, figure, %s, data
              FROM unnest(%s::int[], %s::smallint[], %s::bytea[]) AS new(shard, figure, data)
                ON CONFLICT (organisation_id, shard_id, figure, at)
                DO UPDATE SET data = excluded.data WHERE stored.data <> excluded.data
            """,
            [
                organisation,
                hour,
                [shard for shard, _ in keys],
                [figure for _, figure in keys],
                [data[key] for key in keys],
            ],
        )
        return cursor.rowcount


def binary_cursor() -> psycopg.Cursor[tuple[Any, ...]]:
    """Bytes go to the server as they are; Django's own cursor would write them as text."""
    connection.ensure_connection()
    return psycopg.Cursor(connection.connection)
