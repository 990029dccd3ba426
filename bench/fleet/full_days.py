"""What it costs to foretell on which day the uplinks of a fleet and their pools are full."""

from __future__ import annotations

from datetime import datetime, timedelta

from advisor.models import DemandOutlook
from bench.fleet import product
from bench.fleet.cost import Cost, cost_of
from bench.fleet.rows import Row, at_most
from bench.fleet.shape import END
from bench.fleet.stage import Stage

DAY_ASKED_S, MONTH_ASKED_S, QUERIES_ASKED = 60, 600, 25


def full_day_rows(stage: Stage) -> list[Row]:
    """All uplinks with a pool of half of their workloads: the first month, then a new day."""
    for uplink in stage.uplinks:
        product.pool_half(uplink)
    due = len(product.due_for_foresight(END - timedelta(days=1)))
    month = _foreseen(stage, END - timedelta(days=1))
    day = _foreseen(stage, END)
    known = DemandOutlook.objects.filter(gap="").count()
    note = f"{due} resources, {known} forecasts, {month.queries} and {day.queries} queries"
    fleet = f"of {stage.shape.workloads} workloads"
    each = day.queries / len(stage.uplinks)
    return [
        at_most(f"a new day {fleet} foretold, CPU", "s", DAY_ASKED_S, day.cpu_s, note),
        at_most(f"a month {fleet} foretold, CPU", "s", MONTH_ASKED_S, month.cpu_s, note),
        at_most("a new day of an uplink foretold, queries", "queries", QUERIES_ASKED, each, note),
    ]


def _foreseen(stage: Stage, now: datetime) -> Cost:
    return cost_of(lambda: [product.foresee_full_day(one, now) for one in stage.uplinks])
