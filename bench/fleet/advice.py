"""Advice on one congested datastore, beside a bare scan of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial

from django.core.cache import cache

from advisor.models import Recommendation, Resource
from bench.fleet import product
from bench.fleet.cost import Cost, cost_of, least, least_of
from bench.fleet.rows import Row, at_most
from bench.fleet.shape import END
from bench.fleet.stage import LOOKS, WINDOW, Stage

DAY = timedelta(days=1)
RATIO_ASKED, QUERIES_ASKED = 1, 12
ENOUGH_ROWS = 0.99


def advice_rows(stage: Stage) -> list[Row]:
    """CPU beside that of the scan in the same run, and the number of queries.

    A round comes every 15 s, and most of them choose what is recommended already: measured with
    the cache as most rounds find it and with an empty one. What is new is told with what it would
    have changed in the past week, once for each change of advice.
    """
    store = stage.stores[0]
    what = f"advice on a datastore of {stage.shape.group} workloads"
    if gap := product.advise_policy(store, END):
        why = f"no advice: {gap}"
        return [row for how in WAYS for row in _rows(f"{what}{how}", None, None, why)]
    scan, note = _scan(stage, store)
    rows = []
    for how, ask in WAYS.items():
        cost = least(partial(ask, store) for _ in range(LOOKS))
        rows += _rows(f"{what}{how}", cost, scan, f"{cost.cpu_s:.2f} s, {note}")
    return rows


def _scan(stage: Stage, store: Resource) -> tuple[Cost | None, str]:
    """What the bare scan costs, None without the rows of a day; a note on it."""
    rows = product.scan_rows(store, since=END - DAY, until=END)
    if rows < ENOUGH_ROWS * stage.shape.group * DAY / WINDOW:
        return None, f"{rows} rows of the day are stored as rows"
    cost = least_of([lambda: product.scan_rows(store, since=END - DAY, until=END)] * LOOKS)
    return cost, f"scan of {rows:,} rows {cost.cpu_s:.3f} s"


def _rows(what: str, cost: Cost | None, scan: Cost | None, note: str) -> list[Row]:
    ratio = None if cost is None or scan is None else cost.cpu_s / scan.cpu_s
    queries = None if cost is None else cost.queries
    return [
        at_most(
            f"{what}, CPU beside a scan of a day of its rows", "ratio", RATIO_ASKED, ratio, note
        ),
        at_most(f"{what}, queries", "queries", QUERIES_ASKED, queries, note),
    ]


def _advise(store: Resource) -> Cost:
    return cost_of(lambda: product.advise_policy(store, END))


def _advise_anew(store: Resource) -> Cost:
    cache.clear()
    return _advise(store)


def _advise_first(store: Resource) -> Cost:
    """Nothing was recommended before, so all that is told of it is computed and kept."""
    Recommendation.objects.filter(resource=store).delete()
    return _advise(store)


WAYS: Mapping[str, Callable[[Resource], Cost]] = {
    "": _advise,
    " with an empty cache": _advise_anew,
    ", new": _advise_first,
}
