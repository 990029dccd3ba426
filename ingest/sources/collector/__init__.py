"""How collectors fare, as `inputs.internal` of Telegraf tells of its outputs."""

from __future__ import annotations

from ingest.core.catalogue import COLLECTOR
from ingest.core.mapping import Head, Source, Tags, columns, host_of, required, series

NAME = "collector"


def _head(measurement: str, tags: Tags) -> Head:
    host, output = host_of(tags), required(tags, "output", of=measurement)
    return Head(host=host, place=columns(series(COLLECTOR, host, output, tags, source=NAME)))


SOURCE = Source(name=NAME, measurements=frozenset({"internal_write"}), head=_head)
