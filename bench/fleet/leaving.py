"""An organisation of the size of the fleet leaves: its export, and its deletion beside others."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from unittest import mock

from django.db import connection

from accounts.models import Organisation, Scope, Token
from accounts.services.export import export_organisation
from advisor.pipeline import organisation_deletion
from bench.fleet.lag import percentile
from bench.fleet.rows import Row, at_most, below
from bench.fleet.shape import END
from bench.fleet.stage import Stage
from ingest.core.line_protocol import Precision
from ingest.write import store

MEMORY_MB_ASKED = 64.0
WAIT_S_ASKED = 1.0
ROUND_S = 60.0
"""A task deletes for so long and is then sent again."""
STATEMENT_S = 30.0
"""After so long the database ends a statement of a worker."""
ALONE_S = 5.0
EVERY_S = 0.05


def leaving_rows(stage: Stage) -> list[Row]:
    """Of the export its memory; of the deletion its longest part, and how long others wait.

    It deletes the fleet, so nothing can be measured after it.
    """
    return [*_export_rows(stage), *_deletion_rows(stage)]


def _export_rows(stage: Stage) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder, _peak_mb() as peak_mb:
        path, begin = Path(folder) / "all.zip", time.monotonic()
        written = export_organisation(stage.organisation, path, now=END)
        took_s, size_mb = time.monotonic() - begin, path.stat().st_size / 1e6
        note = f"{sum(written.values()):,} rows in {took_s:.0f} s, {size_mb:,.0f} MB packed"
        return [at_most("export, growth of memory", "MB", MEMORY_MB_ASKED, peak_mb(), note)]


def _deletion_rows(stage: Stage) -> list[Row]:
    Organisation.objects.filter(pk=stage.organisation.pk).update(deletion_due_at=END)
    parts: list[float] = []
    delete_some = organisation_deletion._delete_some  # noqa: SLF001  Its parts are timed.

    def timed(*asked: object) -> int:
        begin = time.monotonic()
        deleted: int = delete_some(*asked)  # type: ignore[arg-type]
        parts.append(time.monotonic() - begin)
        return deleted

    with _others_writes() as waits_s:
        time.sleep(ALONE_S)
        alone, begin = list(waits_s), time.monotonic()
        with mock.patch.object(organisation_deletion, "_delete_some", timed):
            while not organisation_deletion.delete_organisation(
                stage.organisation.pk, limit_s=ROUND_S
            ):
                pass
        took_s, beside = time.monotonic() - begin, waits_s[len(alone) :]
    note = f"{took_s:.0f} s in {len(parts)} parts"
    waited = (
        f"{len(beside)} writes, median {1000 * percentile(beside, 50):.0f} ms;"
        f" alone {1000 * percentile(alone, 50):.0f} ms, longest {1000 * max(alone):.0f} ms"
    )
    return [
        below("deletion, its longest part", "s", STATEMENT_S, max(parts), note),
        below("deletion, another's longest write meanwhile", "s", WAIT_S_ASKED, max(beside),
              waited),
    ]  # fmt: skip


@contextmanager
def _others_writes() -> Iterator[list[float]]:
    """The time that each write of another organisation takes, on a connection of its own."""
    other = Organisation.objects.create(slug="other", name="Other")
    token, _ = Token.objects.issue(organisation=other, scope=Scope.INGEST, name="t")
    took_s: list[float] = []
    done = Event()

    def write() -> None:
        number = 0
        while not done.wait(EVERY_S):
            number += 1
            at_ns = int((END - timedelta(minutes=10)).timestamp()) * 10**9 + number * 10**7
            begin = time.monotonic()
            store(
                f"diskio,host=h,name=sda reads={number}i {at_ns}".encode(), token=token,
                precision=Precision.NS, now=END, retention=timedelta(days=30),
            )  # fmt: skip
            took_s.append(time.monotonic() - begin)
        connection.close()

    thread = Thread(target=write)
    thread.start()
    try:
        yield took_s
    finally:
        done.set()
        thread.join()


@contextmanager
def _peak_mb() -> Iterator[Callable[[], float]]:
    """By how much this process grew, at most, from the beginning on."""
    begin_mb, peak_mb, done = _resident_mb(), 0.0, Event()

    def look() -> None:
        nonlocal peak_mb
        while not done.wait(EVERY_S):
            peak_mb = max(peak_mb, _resident_mb() - begin_mb)

    thread = Thread(target=look)
    thread.start()
    try:
        yield lambda: peak_mb
    finally:
        done.set()
        thread.join()


def _resident_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(kilobytes) / 1000
