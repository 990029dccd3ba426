"""Import one file: in batches, from where it stopped, and once however often it comes.

Memory is bounded by a batch. A batch is stored before its row says so; one that is stored twice
after an end in between changes nothing.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from django.db import transaction

from ingest.core.decoders.errors import DecodeError, QuestionError
from ingest.core.decoders.rejections import Rejection, Rejections
from ingest.core.imported.answers import Answers
from ingest.core.imported.formats import START_BYTES, Format, recognise
from ingest.core.point import Point
from ingest.core.quota.limits import QuotaExceededError
from ingest.imports.archives import ArchiveError, Member
from ingest.imports.decode import moved, points_of
from ingest.models import Import, ImportRun, ImportState
from ingest.quotas.entry import count_import, import_wait_s, most_import_points
from ingest.write import WriteResult, store_file

BATCH_POINTS = 20_000
NOT_RECOGNISED = "it is of no format that can be imported"
WAITS_FOR_QUOTA = "it waits for the quota of points a second"
LONGEST_PAUSE_S = 5.0
_ENDED = (ImportState.DONE, ImportState.UNKNOWN)
_NS = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Progress = Callable[[Import, int], None]
"""Told after each batch of how far a file is: its row, and the bytes that were read."""
Pause = Callable[[float], None]
"""Waits for some seconds, because the quota of points is used up; may raise `Interrupted`."""


class Interrupted(Exception):
    """The time for importing is over; the file goes on from its position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is known of a file before it is decoded."""

    digest: str
    size_bytes: int
    form: Format | None


def content_of(member: Member) -> Content:
    """Read a file once; raises `ArchiveError`."""
    digest, size, start = hashlib.sha256(), 0, b""
    for chunk in member.chunks(Rejections()):
        digest.update(chunk)
        size += len(chunk)
        if len(start) < START_BYTES:
            start += chunk[: START_BYTES - len(start)]
    return Content(digest=digest.hexdigest(), size_bytes=size, form=recognise(start))


def newest_ns(member: Member, form: Format, answers: Answers) -> int | None:
    """Decode a file for the time of its newest sample, in nanoseconds since 1970; None: no sample.

    Raises `DecodeError` and `ArchiveError`.
    """
    rejections = Rejections()
    points = points_of(form, member.chunks(rejections), rejections, answers)
    return max((point.time for point in points if point.time is not None), default=None)


def import_file(
    member: Member,
    content: Content,
    *,
    run: ImportRun,
    answers: Answers,
    now: datetime,
    earliest: datetime,
    progress: Progress = lambda _row, _read: None,
    pause: Pause = time.sleep,
) -> Import:
    """Store what a file says, and return its row; one that was imported before stays as it is.

    Raises a `QuestionError` where the file does not say what is needed. A file with more new
    series than may be stored fails; imported again, it goes through.
    """
    row = _row(member, content, run, answers, earliest=earliest)
    if row.state in _ENDED:
        return row
    if content.form is None:
        row.state, row.problem = ImportState.UNKNOWN, NOT_RECOGNISED
        row.save()
        return row
    reading = _Reading(member)
    try:
        points = points_of(content.form, reading.chunks(), reading.rejections, answers)
        _store_points(
            points, row, reading, now=now, earliest=earliest, progress=progress, pause=pause
        )
    except QuestionError as error:
        row.state, row.problem = ImportState.QUESTION, str(error)
        row.save()
        raise
    except (DecodeError, ArchiveError, QuotaExceededError) as error:
        row.state, row.problem = ImportState.FAILED, str(error)
    else:
        row.state, row.problem = ImportState.DONE, ""
    row.rejected += reading.rejections.count
    row.refusals = _united(row.refusals, reading.rejections.all())
    row.save()
    return row


@transaction.atomic
def _row(
    member: Member, content: Content, run: ImportRun, answers: Answers, *, earliest: datetime
) -> Import:
    """The row of the content; a run that has it again takes it over.

    What a run has imported needs none of the answers to what other files of it asked.
    """
    done = Import.objects.filter(run=run, digest=content.digest, state__in=_ENDED).first()
    if done is not None:
        return done
    said = answers.key + (";shifted" if run.is_shifted else "")
    row, is_new = Import.objects.get_or_create(
        organisation_id=run.organisation_id,
        digest=content.digest,
        said=said,
        defaults={
            "run": run,
            "name": member.name,
            "size_bytes": content.size_bytes,
            "format": content.form or "",
            "shift_s": run.shift_s or 0,
        },
    )
    if not is_new:
        row.run, row.name = run, member.name
        is_gone = row.last_at is not None and row.last_at < earliest
        if row.state == ImportState.FAILED or is_gone:
            _begin_anew(row)
            row.shift_s = run.shift_s or 0
        row.save()
    return row


def _begin_anew(row: Import) -> None:
    """What is stored stays; counts are those of the next attempt."""
    row.position = row.accepted = row.ignored = row.rejected = row.too_old = 0
    row.refusals, row.state, row.problem = [], ImportState.WAITING, ""
    row.first_at = row.last_at = None


class _Reading:
    """A file that is being read: how far, and what gave nothing."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self.rejections = Rejections()
        self.read_bytes = 0

    def chunks(self) -> Iterator[bytes]:
        for chunk in self._member.chunks(self.rejections):
            self.read_bytes += len(chunk)
            yield chunk


def _store_points(
    points: Iterator[Point],
    row: Import,
    reading: _Reading,
    *,
    now: datetime,
    earliest: datetime,
    progress: Progress,
    pause: Pause,
) -> None:
    shifted = moved(points, by_ns=row.shift_s * _NS) if row.shift_s else points
    skipped = sum(1 for _ in islice(shifted, row.position))
    assert skipped <= row.position
    earliest_ns = (earliest - _EPOCH) // timedelta(microseconds=1) * 1000
    while batch := list(islice(shifted, _batch_points(row, pause))):
        young = [one for one in batch if one.time is None or one.time >= earliest_ns]
        result, hosts = store_file(
            young, organisation=row.organisation, now=now, retention=now - earliest
        )
        count_import(row.organisation, points=len(batch))
        _note(row, batch, young, result)
        row.hosts = sorted({*row.hosts, *hosts})
        row.state, row.problem = ImportState.RUNNING, ""
        row.save()
        progress(row, reading.read_bytes)


def _batch_points(row: Import, pause: Pause) -> int:
    """How many points may be stored next, after a wait for the quota of points."""
    while wait_s := import_wait_s(row.organisation):
        row.state, row.problem = ImportState.RUNNING, WAITS_FOR_QUOTA
        row.save()
        pause(min(wait_s, LONGEST_PAUSE_S))
        # Somebody may have changed the quota.
        row.organisation.refresh_from_db()
    return most_import_points(row.organisation, most=BATCH_POINTS)


def _note(row: Import, batch: list[Point], young: list[Point], result: WriteResult) -> None:
    row.position += len(batch)
    row.accepted += result.accepted
    row.ignored += result.ignored
    row.rejected += result.rejected
    row.too_old += len(batch) - len(young)
    row.changed_rows += result.changed_rows
    times = [one.time for one in young if one.time is not None]
    if result.accepted and times:
        first, last = _at(min(times)), _at(max(times))
        row.first_at = first if row.first_at is None else min(first, row.first_at)
        row.last_at = last if row.last_at is None else max(last, row.last_at)
    row.refusals = _united(
        row.refusals,
        [
            Rejection(part=one.line, reason=one.reason, count=one.line_count)
            for one in result.rejections
        ],
    )


def _united(known: list[dict[str, object]], more: list[Rejection]) -> list[dict[str, object]]:
    """One entry per reason."""
    by_reason: dict[object, dict[str, object]] = {one["reason"]: {**one} for one in known}
    for one in more:
        entry = by_reason.setdefault(
            one.reason, {"part": one.part, "reason": one.reason, "count": 0}
        )
        entry["count"] = int(str(entry["count"])) + one.count
    return list(by_reason.values())


def _at(time_ns: int) -> datetime:
    return _EPOCH + timedelta(microseconds=time_ns // 1000)
