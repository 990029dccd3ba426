"""How a web server stores bodies: it remembers senders and series, and commits bodies together.

Bodies that come together go into one transaction. What cannot be copied straight in is stored by
`ingest.write.store`, which takes anything.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock, Thread

from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    connection,
    transaction,
)
from django.utils import timezone
from psycopg.errors import LockNotAvailable, QueryCanceled, UniqueViolation

from accounts.models import Token
from ingest.behind import note_every_second, note_waiting, try_to_note
from ingest.core.batch import read_batch
from ingest.core.grid import EPOCH
from ingest.core.line_protocol import Precision
from ingest.direct_copy import copy_rows, note_committed
from ingest.facts import note_facts
from ingest.known_heads import KnownHeads
from ingest.known_series import MOST_SERIES, KnownSeries, new_known_series
from ingest.native_lines import IS_BUILT
from ingest.partitions import PART, ensure_parts
from ingest.quotas.new_series import SeriesOverQuotaError
from ingest.ready_rows import ReadBody, ready_body
from ingest.refused import Refused, note_refused
from ingest.series_rows import SeriesDeletedError
from ingest.sources.registry import find_head
from ingest.write import WriteResult, rules_of, store

log = logging.getLogger(__name__)

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A body of line protocol and what it is stored by."""

    content: bytes
    token: Token
    precision: Precision
    now: datetime
    retention: timedelta


class _Memory:
    """What is remembered of the database, until a series of it is deleted."""

    def __init__(self) -> None:
        self.known: KnownSeries = new_known_series()
        self.parts: set[int] = set()
        self._heads = KnownHeads(self.known, find_head)

    def read(self, body: Body) -> ReadBody:
        rules = rules_of(
            token=body.token, precision=body.precision, now=body.now, retention=body.retention
        )
        organisation = body.token.organisation
        if IS_BUILT:
            return self._heads.read(body.content, rules, organisation)
        batch = read_batch(body.content, rules, find_head)
        return ready_body(batch, self.known, organisation)

    def read_quickly(self, body: Body) -> ReadBody | None:
        if not IS_BUILT:
            return None
        rules = rules_of(
            token=body.token, precision=body.precision, now=body.now, retention=body.retention
        )
        return self._heads.read_quickly(body.content, rules, body.token.organisation)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """A body that was read, and what it was read by."""

    body: Body
    read: ReadBody
    memory: _Memory


class Writer:
    """Stores bodies for one process."""

    def __init__(
        self, *, notes_by_itself: bool = True, clock: Callable[[], datetime] = timezone.now
    ) -> None:
        self._memory: _Memory | None = None
        self._lock = Lock()
        self._noting: Thread | None = None
        self._notes_by_itself = notes_by_itself
        self._clock = clock

    def store_together(self, bodies: Sequence[Body]) -> list[WriteResult | Exception | None]:
        """Store bodies in one transaction; None for those that may take longer than the others.

        These are to be stored by `store_alone`: what is new, or not plain, or there already.
        """
        memory = self._remembered()
        waiting: dict[int, _Waiting] = {}
        for place, body in enumerate(bodies):
            read = memory.read_quickly(body)
            if read is not None:
                waiting[place] = _Waiting(body=body, read=read, memory=memory)
        try:
            if waiting:
                self._store_together(list(waiting.values()))
        except Exception as error:
            if _took_too_long(error):
                # It would for each of them.
                return [error if place in waiting else None for place in range(len(bodies))]
            log.debug("bodies are stored one by one", exc_info=True)
            if isinstance(error, (OperationalError, InterfaceError)):
                connection.close_if_unusable_or_obsolete()
            return [None for _ in bodies]
        return [
            self._told(waiting[place]) if place in waiting else None
            for place in range(len(bodies))
        ]

    @staticmethod
    def _told(stored: _Waiting) -> WriteResult | None:
        try:
            _note_facts(stored)
        except DatabaseError:
            log.debug("what a host says of itself is noted again", exc_info=True)
            return None
        return _result(stored.read)

    def store_alone(self, body: Body) -> WriteResult:
        """Store a body as `ingest.write.store` does."""
        for _ in range(_ATTEMPTS):
            memory = self._remembered()
            try:
                waiting = _Waiting(body=body, read=memory.read(body), memory=memory)
                self._store_together([waiting])
            except SeriesDeletedError:
                self._forget(memory)
            except SeriesOverQuotaError:
                # A sender is told to wait for minutes: not by quotas that are remembered.
                body.token.organisation.refresh_from_db()
                break
            except IntegrityError as error:
                if isinstance(error.__cause__, UniqueViolation):
                    break
                # A partition was dropped.
                self._forget(memory)
            except (OperationalError, InterfaceError) as error:
                if _took_too_long(error):
                    raise
                # The database was started again, or it ended one of two that waited in turn.
                connection.close_if_unusable_or_obsolete()
            else:
                _note_facts(waiting)
                return _result(waiting.read)
        return store(
            body.content,
            token=body.token,
            precision=body.precision,
            now=body.now,
            retention=body.retention,
        )

    def note_waiting(self) -> None:
        """Note with the rows of series and hosts when they were heard of last."""
        memory = self._memory
        if memory is not None:
            note_waiting(memory.known, now=self._clock())

    def _remembered(self) -> _Memory:
        with self._lock:
            if self._notes_by_itself and not (self._noting and self._noting.is_alive()):
                self._noting = note_every_second(self.note_waiting)
            if self._memory is None or len(self._memory.known) > MOST_SERIES:
                self._memory = _Memory()
            return self._memory

    def _forget(self, memory: _Memory) -> None:
        """Begin anew; what waits to be noted is noted, as far as it is there."""
        with self._lock:
            if self._memory is memory:
                self._memory = None
        try_to_note(lambda: note_waiting(memory.known, now=self._clock()))

    def _store_together(self, every: Sequence[_Waiting]) -> None:
        """Store bodies in one transaction; all or none."""
        memory = every[-1].memory
        if any(one.memory is not memory for one in every):
            raise SeriesDeletedError
        rows = [rows for one in every for rows in one.read.rows]
        self._make_parts(memory, {part for one in rows for part in one.parts})
        now = self._clock()
        with transaction.atomic():
            written = copy_rows(memory.known, rows, now=now) if rows else None
            note_refused(map(_refused, every), now=now)
        if written is not None:
            note_committed(memory.known, rows, written, now=now)

    def _make_parts(self, memory: _Memory, parts: set[int]) -> None:
        missing = parts - memory.parts
        if missing:
            ensure_parts(EPOCH + number * PART for number in missing)
            memory.parts |= missing


def _took_too_long(error: Exception) -> bool:
    return isinstance(error.__cause__, (QueryCanceled, LockNotAvailable))


def _note_facts(stored: _Waiting) -> None:
    if stored.read.facts:
        note_facts(stored.body.token.organisation, stored.read.facts, now=stored.body.now)


def _refused(one: _Waiting) -> Refused:
    return Refused(token=one.body.token, rejections=one.read.rejections, unknown=one.read.unknown)


def _result(read: ReadBody) -> WriteResult:
    return WriteResult(
        accepted=read.accepted,
        ignored=read.ignored,
        rejected=read.rejected,
        unknown=read.unknown_lines,
        changed_rows=read.row_count,
        rejections=read.rejections,
    )
