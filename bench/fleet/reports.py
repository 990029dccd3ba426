"""How long the report of a week takes for a fleet, and how large it is as CSV and as PDF."""

from __future__ import annotations

import time
import tracemalloc
from datetime import timedelta
from io import StringIO

from django.core.management import call_command

from bench.fleet import product
from bench.fleet.clock import frozen_at
from bench.fleet.rows import Row, below
from bench.fleet.shape import END
from bench.fleet.stage import Stage

DAY = timedelta(days=1)
ASKED_S, ASKED_MB, ASKED_MEMORY_MB = 10.0, 5.0, 300.0
MEGA = 1e6


def report_rows(stage: Stage) -> list[Row]:
    """Half of the workloads of each datastore have a reservation and a limit.

    The newest day of the week is dense, the others are in steps of 15 minutes.
    """
    promised = sum(product.promise_half(one) for one in stage.stores)
    with frozen_at(END):
        dense_s, _ = _timed(1)
        week_s, text = _timed(7)
        tracemalloc.start()
        _timed(7)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        pdf_s, pdf = _timed_pdf()
    fleet = f"of a week of {stage.shape.workloads} workloads"
    note = f"{promised} have a reservation; the dense day alone took {dense_s:.2f} s"
    return [
        below(f"report {fleet}", "s", ASKED_S, week_s, note),
        below(f"report {fleet}, as CSV", "MB", ASKED_MB, len(text) / MEGA),
        below(f"report {fleet} as PDF, with its figures", "s", ASKED_S, pdf_s),
        below(f"report {fleet}, as PDF", "MB", ASKED_MB, len(pdf) / MEGA),
        below(f"report {fleet}, most memory of Python", "MB", ASKED_MEMORY_MB, peak / MEGA),
    ]


def _timed(days: int) -> tuple[float, str]:
    """Seconds of the report of so many days up to the last whole one, and its text."""
    out, begin = StringIO(), time.perf_counter()
    yesterday = END.date() - DAY
    period = f"{yesterday - (days - 1) * DAY}..{yesterday}"
    call_command("report", "--period", period, "--csv", stdout=out)
    return time.perf_counter() - begin, out.getvalue()


def _timed_pdf() -> tuple[float, bytes]:
    """Seconds until the report of a week is there as PDF, as the page makes it."""
    begin = time.perf_counter()
    made = product.pdf_of_a_week(now=END)
    return time.perf_counter() - begin, made
