"""How a web server stores bodies: it remembers senders and series, and commits bodies together.

Bodies of several requests that are small go into one transaction; a large one has its own, so that
others need not wait for it. An answer is given only after the commit. What cannot be copied
straight in is stored by `ingest.write.store`, which takes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock, Thread

from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction
from django.utils import timezone
from psycopg.errors import LockNotAvailable, QueryCanceled, UniqueViolation

from accounts.models import Token
from ingest.behind import note_every_second, note_waiting, try_to_note
from ingest.commit_queue import CommitQueue
from ingest.core.batch import read_batch
from ingest.core.grid import EPOCH
from ingest.core.line_protocol import Precision
from ingest.direct_copy import copy_rows, note_committed
from ingest.facts import note_facts
from ingest.known_series import MOST_SERIES, KnownSeries, new_known_series
from ingest.native_lines import IS_BUILT
from ingest.partitions import PART, ensure_parts
from ingest.plain_lines import PlainLines, Sender
from ingest.quotas.new_series import SeriesOverQuotaError
from ingest.ready_rows import ReadBody, ready_body
from ingest.series_rows import SeriesDeletedError
from ingest.sources.registry import find_head
from ingest.write import WriteResult, note_refused, rules_of, store

LARGE_ROWS = 1000
"""A body of so many rows has a transaction of its own."""
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
        self._senders: dict[tuple[int, str | None], PlainLines] = {}
        self._lock = Lock()

    def read(self, body: Body) -> ReadBody:
        rules = rules_of(
            token=body.token, precision=body.precision, now=body.now, retention=body.retention
        )
        organisation = body.token.organisation
        if not IS_BUILT:
            batch = read_batch(body.content, rules, find_head)
            return ready_body(batch, self.known, organisation)
        key = organisation.pk, rules.only_host
        with self._lock:
            if key not in self._senders:
                sender = Sender(organisation=organisation, only_host=rules.only_host)
                self._senders[key] = PlainLines(sender, self.known, find_head)
        return self._senders[key].read(body.content, rules)


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
        self._queue = CommitQueue(self._store_together)

    def store(
        self,
        content: bytes,
        *,
        token: Token,
        precision: Precision,
        now: datetime,
        retention: timedelta,
    ) -> WriteResult:
        """Store a body as `ingest.write.store` does; also raises `NotCommittedError`."""
        body = Body(
            content=content, token=token, precision=precision, now=now, retention=retention
        )
        return self._stored(body)

    def _stored(self, body: Body) -> WriteResult:
        for _ in range(_ATTEMPTS):
            memory = self._remembered()
            try:
                read = self._committed(body, memory)
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
                if isinstance(error.__cause__, (QueryCanceled, LockNotAvailable)):
                    raise
                # The database was started again, or it ended one of two that waited in turn; the
                # connection may be that of another thread, which committed for this one too.
                connection.close_if_unusable_or_obsolete()
            else:
                if read.facts:
                    note_facts(body.token.organisation, read.facts, now=body.now)
                return _result(read)
        return store(
            body.content,
            token=body.token,
            precision=body.precision,
            now=body.now,
            retention=body.retention,
        )

    def _committed(self, body: Body, memory: _Memory) -> ReadBody:
        """What the body says, once its rows are committed."""
        read = memory.read(body)
        waiting = _Waiting(body=body, read=read, memory=memory)
        if read.row_count < LARGE_ROWS:
            self._queue.put(waiting, rows=read.row_count)
        else:
            self._store_together([waiting])
        return read

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
            for one in every:
                note_refused(
                    one.read.rejections, one.read.unknown, token=one.body.token, now=one.body.now
                )
        if written is not None:
            note_committed(memory.known, rows, written, now=now)

    def _make_parts(self, memory: _Memory, parts: set[int]) -> None:
        missing = parts - memory.parts
        if missing:
            ensure_parts(EPOCH + number * PART for number in missing)
            memory.parts |= missing


def _result(read: ReadBody) -> WriteResult:
    return WriteResult(
        accepted=read.accepted,
        ignored=read.ignored,
        rejected=read.rejected,
        unknown=read.unknown_lines,
        changed_rows=read.row_count,
        rejections=read.rejections,
    )
