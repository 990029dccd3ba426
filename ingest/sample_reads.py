"""Reading rows of samples through the function that may: `ingest_read_samples`.

Web servers have no right to read the tables. The function leaves out series that its session may
not see, and has the statement of each way of reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from ingest.binary_cursor import binary_cursor
from ingest.core.figures import FigureKind


class Way(StrEnum):
    """How readings are found."""

    EVERY = "every"
    NEW = "new"
    OF_EACH_SERIES = "of each series"
    LAST_OF_EACH_STEP = "last of each step"
    AROUND = "around"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Of which series, as an array that PostgreSQL reads, and of which time.

    `reach` is the length of a step, or how far before the time is looked; `most` how many
    readings of a series are wanted.
    """

    series: str
    since: datetime
    until: datetime
    reach: timedelta | None = None
    most: int | None = None


def read_parts(
    way: Way, asked: Mapping[FigureKind[Any], Asked]
) -> dict[FigureKind[Any], list[tuple[int, bytes]]]:
    """The series that a part is of, if it is of one alone, and its readings as bytes, by kind.

    All kinds together take one statement.
    """
    if not asked:
        return {}
    parameters: list[Any] = []
    for place, (kind, of_kind) in enumerate(asked.items()):
        parameters += [
            place, way, kind.measurement.table, f"{{{','.join(kind.columns)}}}", of_kind.series,
            of_kind.since, of_kind.until, of_kind.reach, of_kind.most,
        ]  # fmt: skip
    found: dict[FigureKind[Any], list[tuple[int, bytes]]] = {kind: [] for kind in asked}
    kinds = list(asked)
    with binary_cursor() as cursor:
        cursor.execute(" UNION ALL ".join([_READ] * len(asked)), parameters)
        for place, series, part in cursor.fetchall():
            found[kinds[place]].append((series, part))
    return found


_READ = """
SELECT %s::int8, series_id, readings FROM ingest_read_samples(
    %s::text, %s::text, %s::text[], %s::bigint[],
    %s::timestamptz, %s::timestamptz, %s::interval, %s::integer
)
"""
