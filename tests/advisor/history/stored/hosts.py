"""Hosts whose samples are known exactly, for the tests of the stored history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from django.db import connection

from advisor.history.stored.partitions import Level
from advisor.history.stored.read import read_sealed
from advisor.history.stored.seal import Sealed, seal
from advisor.models import Chunk
from ingest.core.catalogue import MEASUREMENTS
from ingest.core.figures import INTERFACE, FigureKind
from ingest.core.grid import GridGrowth, grid_of
from ingest.grid_reader import Subject, read_growth
from ingest.kept_rows import note_dropped
from tests.ingest.scenario import Tenant, nanoseconds, write_lines

STEP = timedelta(seconds=10)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def hour_of_tests() -> datetime:
    """An hour that is over and not near the end of retention: yesterday's tenth."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(hours=14)


def after(hour: datetime, *, hours: int = 1) -> datetime:
    """When this hour and the next ones up to `hours` in all can be sealed."""
    return hour + hours * HOUR + timedelta(minutes=20)


def times(since: datetime, until: datetime, step: timedelta = STEP) -> list[datetime]:
    """From `since` to `until`, both included."""
    return [since + step * place for place in range((until - since) // step + 1)]


def net_line(at: datetime, *, host: str = "h1", name: str = "eth0", total: int = 0) -> str:
    """An interface that has sent `total` bytes and received twice as many."""
    return (
        f"net,host={host},interface={name} bytes_sent={total}i,bytes_recv={2 * total}i,"
        f"packets_sent=0i,packets_recv=0i,drop_in=0i,drop_out=0i,err_in=0i,err_out=0i"
        f" {nanoseconds(at)}"
    )


def send_net(
    tenant: Tenant,
    at: Sequence[datetime],
    *,
    host: str = "h1",
    name: str = "eth0",
    begun: datetime | None = None,
    per_s: int = 7,
) -> None:
    """Samples of an interface that sends `per_s` bytes a second since `begun`."""
    start = begun or at[0]
    lines = [
        net_line(
            one, host=host, name=name, total=1000 + round(per_s * (one - start).total_seconds())
        )
        for one in at
    ]
    write_lines(tenant, *lines, at=max(at))


def from_samples(
    kind: FigureKind[Any], subjects: Sequence[Subject], since: datetime, until: datetime
) -> GridGrowth:
    return read_growth(kind, subjects, grid_of(since, until, 10.0))


def seal_all(tenant: Tenant, now: datetime) -> Sealed:
    return seal(organisation=tenant.organisation, now=now, limit_s=60.0)


def stored_bytes() -> dict[tuple[int, int, datetime], bytes]:
    rows = Chunk.objects.values_list("shard_id", "figure", "at", "data")
    return {(shard, figure, at): bytes(data) for shard, figure, at, data in rows}


def assert_same(one: GridGrowth, other: GridGrowth) -> None:
    assert np.array_equal(one.seconds, other.seconds)
    assert np.array_equal(one.growth, other.growth)


def drop_samples() -> None:
    """As retention does once all is sealed."""
    note_dropped(datetime.now(UTC))
    with connection.cursor() as cursor:
        for measurement in MEASUREMENTS:
            cursor.execute(f"DELETE FROM {measurement.table}")
            # A commit empties it; a test has none.
            staged = measurement.table.replace("ingest_", "staged_")
            cursor.execute(f"DROP TABLE IF EXISTS pg_temp.{staged}")


def row_count(level: Level) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {level.value}")
        (count,) = cursor.fetchone()
    return int(count)


BYTES_SENT = INTERFACE.counters.index("bytes_sent")


def read(
    tenant: Tenant,
    subjects: list[Subject],
    since: datetime,
    until: datetime,
    window_s: float = 10.0,
) -> GridGrowth:
    return read_sealed(
        tenant.organisation.pk, INTERFACE, subjects, grid_of(since, until, window_s)
    )


def eth0(tenant: Tenant, host: str = "h1") -> Subject:
    return Subject(host=tenant.host(host).pk, name="eth0")


def known_windows(found: GridGrowth) -> int:
    return int((found.seconds > 0).sum())
