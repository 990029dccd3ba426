"""Numbers of block devices, as a script for Telegraf sends them."""

from __future__ import annotations

from ingest.core.catalogue import BLOCK_DEVICE
from ingest.core.mapping import Head, Source, Tags, columns, host_of, required, series

NAME = "block_device"


def _head(measurement: str, tags: Tags) -> Head:
    host, name = host_of(tags), required(tags, "name", of=measurement)
    return Head(host=host, place=columns(series(BLOCK_DEVICE, host, name, tags, source=NAME)))


SOURCE = Source(name=NAME, measurements=frozenset({"block_device"}), head=_head)
