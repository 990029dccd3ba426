"""Hosts as `inputs.system` of Telegraf sends them."""

from __future__ import annotations

from ingest.core.catalogue import SYSTEM
from ingest.core.mapping import Head, Source, Tags, columns, host_of, series

NAME = "system"


def _head(_measurement: str, tags: Tags) -> Head:
    host = host_of(tags)
    return Head(host=host, place=columns(series(SYSTEM, host, "", tags, source=NAME)))


SOURCE = Source(name=NAME, measurements=frozenset({"system"}), head=_head)
