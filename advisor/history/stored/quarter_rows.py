"""Rows of quarters of an hour: written when the hour is sealed, read by SQL and charts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from django.db import connection
from psycopg import sql

from advisor.core.stored_hour import Floats, QuarterValues

QUARTER = timedelta(minutes=15)


def write_quarters(
    organisation: int, hour: datetime, tracks: Sequence[int], quarters: QuarterValues
) -> None:
    """Write the quarters of this hour in which anything of a track is known."""
    places, columns = np.nonzero(quarters.known)
    own = np.array(tracks, dtype=np.int64)[columns]
    means = quarters.mean[:, places, columns]
    largest = quarters.maximum[:, places, columns]
    with connection.cursor() as cursor:
        cursor.execute(
            _statement(len(means)),
            [
                own.tolist(),
                [hour + place * QUARTER for place in places.tolist()],
                *_lists(means),
                *_lists(largest),
                organisation,
            ],
        )


def _statement(figures: int) -> sql.Composed:
    """One array per figure on the way in: PostgreSQL has no array of arrays to unnest."""
    means = [sql.Identifier(f"mean_{place}") for place in range(figures)]
    largest = [sql.Identifier(f"maximum_{place}") for place in range(figures)]
    comma = sql.SQL(", ")
    return sql.SQL(
        """
        WITH new AS (
            SELECT * FROM unnest(%s::int[], %s::timestamptz[], {arrays})
                AS new(track, at, {columns})
        )
        INSERT INTO advisor_history_quarter AS stored
               (organisation_id, track_id, at, mean, maximum)
        SELECT %s, track, at, ARRAY[{means}], ARRAY[{largest}] FROM new
            ON CONFLICT (organisation_id, track_id, at)
            DO UPDATE SET mean = excluded.mean, maximum = excluded.maximum
            WHERE (stored.mean, stored.maximum) IS DISTINCT FROM (excluded.mean, excluded.maximum)
        """
    ).format(
        arrays=comma.join([sql.SQL("%s::real[]")] * (2 * figures)),
        columns=comma.join([*means, *largest]),
        means=comma.join(means),
        largest=comma.join(largest),
    )


def _lists(values: Floats) -> list[list[float | None]]:
    """A list for each row, None for what is not known."""
    return [[None if value != value else value for value in row.tolist()] for row in values]
