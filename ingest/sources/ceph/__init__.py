"""Ceph as `inputs.ceph` of Telegraf sends it: kept as gauges."""

from __future__ import annotations

from ingest.core.mapping import Head, Source, Tags, gauges, host_of

NAME = "ceph"


def _head(measurement: str, tags: Tags) -> Head:
    host = host_of(tags)
    own = {name: value for name, value in tags.items() if name != "host"}
    return Head(host=host, place=gauges(host, measurement, own, source=NAME))


SOURCE = Source(name=NAME, measurements=frozenset({"ceph*"}), head=_head)
