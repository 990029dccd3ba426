"""The write side: a body of line protocol is stored in one transaction.

Writing is idempotent on series and time. A sample that is sent again is united with the stored
one: fields that it has replace the stored values, fields that it lacks stay. So a host may send
the fields of one moment in several lines or batches, and a batch may come twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache

from django.db import IntegrityError, connection, transaction
from psycopg import sql

from accounts.models import Organisation, Token
from ingest.core.batch import Batch, Rejection, Rows, Rules, batch_of_points, read_batch
from ingest.core.catalogue import SYSTEM, Measurement
from ingest.core.copy_encoding import encode_rows
from ingest.core.decoders.rejections import Rejections
from ingest.core.line_protocol import Precision
from ingest.core.point import Point
from ingest.facts import live_hosts, note_facts
from ingest.late_samples import Wrote, note_late_samples
from ingest.partitions import PART, ensure_parts
from ingest.quotas.new_series import OverQuota, save_within_quotas
from ingest.ready_rows import uptimes_of
from ingest.refused import Refused, note_refused
from ingest.series_rows import (
    SeriesDeletedError,
    note_open_hours,
    note_samples,
    open_hours_of,
    series_ids,
)
from ingest.shared_names import note_shared_names, series_of_several_machines
from ingest.sources.registry import find_head

FUTURE_TOLERANCE = timedelta(minutes=10)
"""How far a host's clock may be ahead."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What became of a body, counted in lines.

    `unknown` lines are those of the rejected whose measurement is not stored; `ignored` lines are
    good and have no field that is stored. `changed_rows` counts rows that are new or differ from
    what was stored, so it is 0 for a body that came before.
    """

    accepted: int
    ignored: int
    rejected: int
    unknown: int
    changed_rows: int
    rejections: Sequence[Rejection]


def store(
    body: bytes,
    *,
    token: Token,
    precision: Precision,
    now: datetime,
    retention: timedelta,
    over_quota: OverQuota = OverQuota.HOLD,
) -> WriteResult:
    """Store the good lines of a body for the token's organisation and record the others.

    Raises `QuotaExceededError` if all of it has to wait at its sender.
    """
    rules = rules_of(token=token, precision=precision, now=now, retention=retention)
    batch = read_batch(body, rules, find_head)
    return _result(*_keep(batch, token=token, now=now, over_quota=over_quota))


def _result(batch: Batch, changed_rows: int) -> WriteResult:
    return WriteResult(
        accepted=batch.accepted_lines,
        ignored=batch.ignored_lines,
        rejected=batch.rejected_lines,
        unknown=batch.unknown_lines,
        changed_rows=changed_rows,
        rejections=batch.rejections,
    )


def store_points(
    points: Iterable[Point],
    refused: Rejections,
    *,
    token: Token,
    now: datetime,
    retention: timedelta,
) -> WriteResult:
    """The same of points with times in nanoseconds; what gave none is in `refused` once they are
    out, and counts as rejected."""
    rules = rules_of(token=token, precision=Precision.NS, now=now, retention=retention)
    batch = batch_of_points(points, rules, find_head)
    undecoded = [
        Rejection(line_number=0, line=one.part, reason=one.reason, line_count=one.count)
        for one in refused.all()
    ]
    batch = replace(
        batch,
        rejected_lines=batch.rejected_lines + refused.count,
        rejections=[*batch.rejections, *undecoded],
    )
    # Those who send points send for many hosts, and none of these may wait for another.
    return _result(*_keep(batch, token=token, now=now, over_quota=OverQuota.REFUSE))


def store_file(
    points: Iterable[Point], *, organisation: Organisation, now: datetime, retention: timedelta
) -> tuple[WriteResult, frozenset[str]]:
    """The same of points of a file, with the hosts they are of; what is refused is only told.

    A host of which there are only files is not taken for one that sends. What a file says of
    things is left out where their host says itself what is so now. Raises `QuotaExceededError`
    if there is no room for all of its series.
    """
    token = Token(organisation=organisation)
    rules = rules_of(token=token, precision=Precision.NS, now=now, retention=retention)
    points = list(points)
    batch = batch_of_points(points, rules, find_head)
    newest_ns = max((one.time for one in points if one.time is not None), default=None)
    newest = now if newest_ns is None else _EPOCH + timedelta(microseconds=newest_ns // 1000)
    live = live_hosts(organisation, after=newest, now=now)
    facts = [fact for fact in batch.facts if fact.host not in live]
    kept = replace(batch, rejections=[], unknown={}, facts=facts, is_of_file=True)
    _, changed_rows = _keep(kept, token=token, now=now, over_quota=OverQuota.FAIL)
    return _result(batch, changed_rows), frozenset(one.host for one in batch.series)


def rules_of(*, token: Token, precision: Precision, now: datetime, retention: timedelta) -> Rules:
    """What the lines of a body must keep to."""
    return Rules(
        precision=precision,
        now_ns=_nanoseconds(now),
        earliest_ns=_nanoseconds(now - retention),
        latest_ns=_nanoseconds(now + FUTURE_TOLERANCE),
        too_early=f"the time is more than {retention.days} days ago: so long nothing is kept",
        too_late="the time is more than 10 minutes in the future; is the host's clock right?",
        only_host=token.host.name if token.host else None,
    )


def _nanoseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1) * 1000


def _parts(batch: Batch) -> list[datetime]:
    """The begins of the partitions that the batch belongs to."""
    part_us = PART // timedelta(microseconds=1)
    numbers = {time_us // part_us for rows in batch.rows.values() for _, time_us in rows}
    return [_EPOCH + number * PART for number in sorted(numbers)]


def _keep(
    batch: Batch, *, token: Token, now: datetime, over_quota: OverQuota
) -> tuple[Batch, int]:
    """Save the samples and what was said beside them: what was saved, and the rows changed."""
    saved, changed_rows = save_within_quotas(
        batch,
        lambda one: _save_until_undisturbed(one, token=token, now=now),
        organisation=token.organisation,
        over=over_quota,
    )
    if saved.facts:
        note_facts(token.organisation, saved.facts, now=now)
    return saved, changed_rows


def _save_until_undisturbed(batch: Batch, *, token: Token, now: datetime) -> int:
    """Save, again if a series or an old partition goes meanwhile; the rows that changed."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return _save_in_parts(batch, token=token, now=now)
        except (SeriesDeletedError, IntegrityError):
            continue
    return _save_in_parts(batch, token=token, now=now)


def _save_in_parts(batch: Batch, *, token: Token, now: datetime) -> int:
    ensure_parts(_parts(batch))
    return _save(batch, token=token, now=now)


@transaction.atomic
def _save(batch: Batch, *, token: Token, now: datetime) -> int:
    changed_rows = 0
    if batch.rows:
        ids = series_ids(token.organisation, batch.series)
        shared = series_of_several_machines(uptimes_of(batch.rows.get(SYSTEM, {}), ids))
        by_name = sorted(batch.rows.items(), key=lambda item: item[0].name)
        changed_rows = sum(_copy(measurement, rows, ids) for measurement, rows in by_name)
        wrote = _wrote(batch, ids)
        before = note_samples(
            {one: (own.first, own.last) for one, own in wrote.items()},
            heard_at=None if batch.is_of_file else now,
        )
        note_shared_names(shared, now=now)
        if changed_rows:
            note_open_hours(open_hours_of(_times(batch, ids)))
            note_late_samples(wrote, before, now=now)
    refused = Refused(token=token, rejections=batch.rejections, unknown=batch.unknown)
    note_refused([refused], now=now)
    return changed_rows


def _copy(measurement: Measurement, rows: Rows, ids: list[int]) -> int:
    """COPY into a staging table and unite it with what is stored; the rows that changed."""
    encoded = encode_rows(
        measurement, ((ids[place], time_us, values) for (place, time_us), values in rows.items())
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT ingest_stage_samples(%s)", [measurement.table])
        with (
            connection.wrap_database_errors,
            cursor.copy(_copying(measurement)) as copy,
        ):
            copy.write(encoded)
        assert cursor.rowcount == len(rows), (
            f"invariant encoded-row: {len(rows)} were sent and {cursor.rowcount} were read"
        )
        columns = [column.name for column in measurement.fields]
        cursor.execute("SELECT ingest_unite_samples(%s, %s)", [measurement.table, columns])
        changed_rows: int = cursor.fetchone()[0]
        return changed_rows


@cache
def _copying(measurement: Measurement) -> sql.Composed:
    staged = sql.Identifier("pg_temp", measurement.table.replace("ingest_", "staged_"))
    return sql.SQL("COPY {} FROM STDIN (FORMAT binary)").format(staged)


def _times(batch: Batch, ids: list[int]) -> Iterable[tuple[int, int]]:
    """The series and time of each row."""
    return ((ids[place], time_us) for rows in batch.rows.values() for place, time_us in rows)


def _wrote(batch: Batch, ids: list[int]) -> dict[int, Wrote]:
    """The first and last time of each series, by its row."""
    times: dict[int, list[int]] = {}
    measurements: dict[int, Measurement] = {}
    for measurement, rows in batch.rows.items():
        for place, time_us in rows:
            times.setdefault(place, []).append(time_us)
            measurements[place] = measurement
    return {
        ids[place]: Wrote(
            measurement=measurements[place], first=_at(min(found)), last=_at(max(found))
        )
        for place, found in sorted(times.items())
    }


def _at(time_us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=time_us)
