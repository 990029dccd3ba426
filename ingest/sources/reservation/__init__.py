"""SCSI commands that met another host's reservation, as a script for Telegraf sends them."""

from __future__ import annotations

from ingest.core.catalogue import SCSI_RESERVATION
from ingest.core.mapping import Head, Source, Tags, columns, host_of, required, series

NAME = "reservation"


def _head(measurement: str, tags: Tags) -> Head:
    host, device = host_of(tags), required(tags, "device", of=measurement)
    key = series(SCSI_RESERVATION, host, device, tags, source=NAME)
    return Head(host=host, place=columns(key))


SOURCE = Source(name=NAME, measurements=frozenset({"scsi_reservation"}), head=_head)
