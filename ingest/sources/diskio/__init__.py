"""Block devices as `inputs.diskio` of Telegraf sends them, from `/proc/diskstats`."""

from __future__ import annotations

from ingest.core.catalogue import DISKIO
from ingest.core.mapping import Head, Source, Tags, columns, facts, host_of, required, series

NAME = "diskio"


def _head(measurement: str, tags: Tags) -> Head:
    host, name = host_of(tags), required(tags, "name", of=measurement)
    return Head(
        host=host,
        place=columns(series(DISKIO, host, name, tags, source=NAME)),
        facts=facts(
            host,
            "device",
            name,
            [("wwn", tags.get("wwid")), ("serial", tags.get("serial"))],
        ),
    )


SOURCE = Source(name=NAME, measurements=frozenset({"diskio"}), head=_head)
