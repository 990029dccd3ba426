"""Which charts a page has, so that their places stand before their data comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from advisor.models import Resource
from advisor.queries.earlier import COMPARISONS, comparison_of
from web.time_range import DEFAULT, LENGTHS, TimeRange, read_time_range


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPlace:
    """The place of one chart: `form` is line or stack, `csv` where its table is."""

    key: str
    title: str
    form: str
    csv: str


def charts_context(
    query: Mapping[str, str],
    subject: str,
    pk: int,
    plans: Sequence[tuple[str, str, str]],
    *,
    now: datetime,
    default: str = DEFAULT,
    fixed: TimeRange | None = None,
) -> dict[str, Any]:
    """What the part with the charts needs; plans are key, title and form of each.

    `subject` is resource, host or workload. With `fixed` the charts begin with that range
    wherever the address names none.
    """
    names = {"from", "to", "range"} & set(query)
    shown = fixed if fixed and not names else read_time_range(query, now=now, default=default)
    compared = comparison_of(query.get("compare", ""))
    return {
        "charts": {
            "address": reverse(f"{subject}-charts", args=[pk]),
            "places": [
                ChartPlace(
                    key=key,
                    title=title,
                    form=form,
                    csv=reverse(f"{subject}-chart-csv", args=[pk, key]),
                )
                for key, title, form in plans
            ],
            "range": shown,
            "default": default,
            "fixed": fixed,
            "is_fixed": shown is fixed,
            "names": list(LENGTHS),
            "comparisons": COMPARISONS,
            "compared": compared.name if compared else "",
        }
    }


def chart_list(resource: Resource) -> list[tuple[str, str, str]]:
    """Key, title and form of every chart of a resource, in the order of the page.

    A chart that could never have a value is left out: the page says elsewhere what is missing.
    """
    left_out = set()
    if resource.traits.needs_capacity and resource.capacity is None:
        left_out.add("level")
    if not resource.allocations.exists():
        left_out.add("workloads")
    return [
        (chart.key, chart.title, chart.form)
        for chart in resource.traits.charts
        if chart.key not in left_out
    ]
