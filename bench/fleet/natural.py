"""What it costs to score the forecast on workloads that start or stop by themselves."""

from __future__ import annotations

from datetime import timedelta

from advisor.models import NaturalLook, NaturalScore
from bench.fleet import product
from bench.fleet.cost import cost_of
from bench.fleet.rows import Row, at_most
from bench.fleet.shape import END
from bench.fleet.stage import Stage

RATIO_ASKED, QUERIES_ASKED = 1, 20
"""Beside a bare scan of the rows of as many hours."""


def natural_rows(stage: Stage) -> list[Row]:
    """CPU and queries of one look at a datastore; each of its hours is looked at once."""
    store = stage.stores[0]
    NaturalScore.objects.filter(resource=store).delete()
    since = END - 1.5 * product.NATURAL_LOOK
    NaturalLook.objects.update_or_create(resource=store, defaults={"looked_until": since})
    cost = cost_of(lambda: product.score_natural(store, END))
    day = timedelta(days=1)
    scan = cost_of(lambda: product.scan_rows(store, since=END - day, until=END))
    scan_s = scan.cpu_s * (product.NATURAL_LOOK / day)
    found = NaturalScore.objects.filter(resource=store).count()
    note = f"{cost.cpu_s:.3f} s with {found} scores; the scan {scan_s:.3f} s"
    what = f"search of 6 h of {stage.shape.group} workloads for starts and stops"
    return [
        at_most(
            f"{what}, CPU beside a scan of its rows",
            "ratio",
            RATIO_ASKED,
            cost.cpu_s / scan_s,
            note,
        ),
        at_most(f"{what}, queries", "queries", QUERIES_ASKED, cost.queries, note),
    ]
