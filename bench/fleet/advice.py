"""Advice on one congested datastore, beside a bare scan of the same rows."""

from __future__ import annotations

from datetime import timedelta

from bench.fleet import product
from bench.fleet.cost import least_of
from bench.fleet.rows import Row, at_most, not_measured
from bench.fleet.shape import END
from bench.fleet.stage import LOOKS, WINDOW, Stage

DAY = timedelta(days=1)
QUERIES_ASKED = 12
ENOUGH_ROWS = 0.99


def advice_rows(stage: Stage) -> list[Row]:
    """CPU beside that of the scan in the same run, and the number of queries."""
    store = stage.stores[0]
    what = f"advice on a datastore of {stage.shape.group} workloads"
    ratio_what, unit = f"{what}, CPU beside a scan of a day of its rows", "ratio"
    if gap := product.advise_policy(store, END):
        asked = f"<= {QUERIES_ASKED}"
        return [
            not_measured(ratio_what, unit, "<= 1", f"no advice: {gap}"),
            not_measured(f"{what}, queries", "queries", asked, f"no advice: {gap}"),
        ]
    rows = product.scan_rows(store, since=END - DAY, until=END)
    advice = least_of([lambda: product.advise_policy(store, END)] * LOOKS)
    queries = at_most(f"{what}, queries", "queries", QUERIES_ASKED, advice.queries)
    if rows < ENOUGH_ROWS * stage.shape.group * DAY / WINDOW:
        why = f"{rows} rows of the day are stored as rows"
        return [not_measured(ratio_what, unit, "<= 1", why), queries]
    scan = least_of([lambda: product.scan_rows(store, since=END - DAY, until=END)] * LOOKS)
    note = f"{advice.cpu_s:.2f} s, scan of {rows:,} rows {scan.cpu_s:.3f} s"
    return [at_most(ratio_what, unit, 1.0, advice.cpu_s / scan.cpu_s, note), queries]
