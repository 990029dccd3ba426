"""Partitions of the stored history: by organisation, in it by day, month or year, in UTC.

They are made when they are first written to. Retention drops them whole, so what one
organisation keeps is no business of another, and no row is ever deleted. Functions of the database
make and drop them with its owner's rights, because the roles of processes own no table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from django.db import connection, transaction

# Any number that nothing else in this database uses for an advisory lock.
_LOCK = 7_011_514


class Level(StrEnum):
    """The tables of the history; the value is the table."""

    EXACT = "advisor_history_chunk"
    QUARTER = "advisor_history_quarter"
    DAY = "advisor_history_day"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Span:
    """The time of one partition: from `begin` to before `end`, both midnight UTC."""

    begin: date
    end: date


def span_of(level: Level, day: date) -> Span:
    """The partition of the level that holds the day."""
    match level:
        case Level.EXACT:
            return Span(begin=day, end=day + timedelta(days=1))
        case Level.QUARTER:
            begin = day.replace(day=1)
            return Span(begin=begin, end=(begin + timedelta(days=32)).replace(day=1))
        case Level.DAY:
            begin = day.replace(month=1, day=1)
            return Span(begin=begin, end=begin.replace(year=day.year + 1))


def ensure_partitions(organisation: int, days: Iterable[date], levels: Iterable[Level]) -> None:
    """Make what is missing to write these days of the organisation."""
    for level in levels:
        spans = sorted({span_of(level, day) for day in days})
        if all(_exists(_name(level, organisation, span)) for span in spans):
            continue
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            for span in spans:
                # Somebody else may have made it while this one waited for the lock.
                if not _exists(_name(level, organisation, span)):
                    _create(level, organisation, span)


def drop_before(organisation: int, level: Level, day: date) -> int:
    """Drop the organisation's partitions that end at or before this day; the number dropped."""
    expired = [span for span in partitions_of(organisation, level) if span.end <= day]
    _drop([_name(level, organisation, span) for span in expired])
    return len(expired)


def drop_organisation(organisation: int) -> None:
    """Drop all that an organisation has in the history."""
    names = [_parent(level, organisation) for level in Level]
    _drop([name for name in names if _exists(name)])


def organisations_with_partitions() -> set[int]:
    """Organisations of the history, whether they still exist or not."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT child.relname FROM pg_inherits"
            " JOIN pg_class AS child ON child.oid = inhrelid"
            " WHERE inhparent = ANY(%s::regclass[])",
            [[level.value for level in Level]],
        )
        return {int(name.rpartition("_o")[2]) for (name,) in cursor.fetchall()}


def partitions_of(organisation: int, level: Level) -> list[Span]:
    """The organisation's partitions, the oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT child.relname FROM pg_inherits"
            " JOIN pg_class AS child ON child.oid = inhrelid"
            " WHERE inhparent = to_regclass(%s)",
            [_parent(level, organisation)],
        )
        days = [date.fromisoformat(name.rpartition("_p")[2]) for (name,) in cursor.fetchall()]
    return sorted(span_of(level, day) for day in days)


def _parent(level: Level, organisation: int) -> str:
    return f"{level.value}_o{organisation}"


def _name(level: Level, organisation: int, span: Span) -> str:
    return f"{_parent(level, organisation)}_p{span.begin:%Y%m%d}"


def _exists(name: str) -> bool:
    # Not to_regclass: it remembers what was absent before this transaction waited for a lock.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_class"
            " WHERE relname = %s AND relnamespace = current_schema()::regnamespace)",
            [name],
        )
        (exists,) = cursor.fetchone()
    return bool(exists)


def _create(level: Level, organisation: int, span: Span) -> None:
    """Attaching an empty table, unlike creating a partition, lets reads and writes go on."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT advisor_make_history_partition(%s, %s, %s, %s)",
            [level.value, organisation, span.begin, span.end],
        )


def _drop(names: Iterable[str]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        # A reader that takes minutes must not make writers wait behind this drop.
        cursor.execute("SET LOCAL lock_timeout = '5s'")
        for name in names:
            cursor.execute("SELECT advisor_drop_history_partition(%s)", [name])
