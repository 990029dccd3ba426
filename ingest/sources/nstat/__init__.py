"""TCP counters as `inputs.nstat` of Telegraf sends them, from `/proc/net/snmp`."""

from __future__ import annotations

from ingest.core.catalogue import NSTAT
from ingest.core.mapping import Head, Source, Tags, columns, host_of, required, series

NAME = "nstat"


def _head(measurement: str, tags: Tags) -> Head:
    host, name = host_of(tags), required(tags, "name", of=measurement)
    return Head(host=host, place=columns(series(NSTAT, host, name, tags, source=NAME)))


SOURCE = Source(name=NAME, measurements=frozenset({"nstat"}), head=_head)
