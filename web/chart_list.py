"""Which charts a resource has, so that their places stand before their data comes."""

from __future__ import annotations

from advisor.models import Resource


def chart_list(resource: Resource) -> list[tuple[str, str, str]]:
    """Key, title and kind of every chart, in the order of the page.

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
