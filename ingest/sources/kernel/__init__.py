"""The kernel as `inputs.kernel` of Telegraf sends it: how long tasks waited for I/O."""

from __future__ import annotations

from ingest.core.catalogue import CGROUP_PRESSURE
from ingest.core.mapping import Head, Source, Tags, columns, host_of, nowhere, series

NAME = "kernel"
ROOT = "/"
"""The pressure of the whole host is that of its root cgroup."""


def _head(measurement: str, tags: Tags) -> Head:
    host, kind = host_of(tags), tags.get("type", "")
    if measurement == "kernel" or tags.get("resource") != "io" or kind not in ("some", "full"):
        return Head(host=host, place=nowhere)
    key = series(CGROUP_PRESSURE, host, ROOT, {"host": host, "path": ROOT}, source=NAME)
    return Head(host=host, place=columns(key, {"total": f"{kind}_total"}))


SOURCE = Source(name=NAME, measurements=frozenset({"kernel", "pressure"}), head=_head)
