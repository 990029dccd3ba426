"""Which charts a resource has, so that their places stand before their data comes."""

from __future__ import annotations

from advisor.models import Resource

_DATASTORE = (
    ("level", "Normalised latency", "line"),
    ("workloads", "Rate per workload", "stack"),
    ("outstanding", "Outstanding I/O per host", "stack"),
    ("iops", "I/O rate", "line"),
    ("throughput", "Throughput", "line"),
)
_UPLINK = (
    ("level", "Part of the capacity in use", "line"),
    ("workloads", "Rate per workload", "stack"),
    ("rate", "Sent and received", "line"),
    ("losses", "Dropped and broken packets", "line"),
)


def chart_list(resource: Resource) -> list[tuple[str, str, str]]:
    """Key, title and kind of every chart, in the order of the page.

    A chart that could never have a value is left out: the page says elsewhere what is missing.
    """
    left_out = set()
    if resource.is_uplink and resource.capacity is None:
        left_out.add("level")
    if not resource.allocations.exists():
        left_out.add("workloads")
    every = _UPLINK if resource.is_uplink else _DATASTORE
    return [chart for chart in every if chart[0] not in left_out]
