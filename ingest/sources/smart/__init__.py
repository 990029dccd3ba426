"""Disks as `inputs.smart` of Telegraf sends them: what they are."""

from __future__ import annotations

from ingest.core.mapping import Head, Source, Tags, facts, host_of, nowhere, required

NAME = "smart"


def _head(measurement: str, tags: Tags) -> Head:
    host, device = host_of(tags), required(tags, "device", of=measurement)
    said = [
        ("wwn", tags.get("wwn")),
        ("serial", tags.get("serial_no")),
        ("model", tags.get("model")),
        ("size_bytes", tags.get("capacity")),
    ]
    return Head(host=host, place=nowhere, facts=facts(host, "device", device, said))


SOURCE = Source(name=NAME, measurements=frozenset({"smart_device", "smart_attribute"}), head=_head)
