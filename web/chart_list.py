"""Which charts a resource has, so that their places stand before their data comes."""

from __future__ import annotations

from advisor.models import Resource

_DATASTORE = (
    ("level", "Normalised latency", "line"),
    ("workloads", "Rate per workload", "stack"),
    ("iops", "I/O rate", "line"),
    ("throughput", "Throughput", "line"),
)
_UPLINK = (
    ("level", "Part of the capacity in use", "line"),
    ("workloads", "Rate per workload", "stack"),
    ("rate", "Sent and received", "line"),
    ("losses", "Dropped and broken packets", "line"),
)


def chart_list(resource: Resource) -> tuple[tuple[str, str, str], ...]:
    """Key, title and kind of every chart, in the order of the page."""
    return _UPLINK if resource.is_uplink else _DATASTORE
