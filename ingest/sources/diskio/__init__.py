"""Block devices as `inputs.diskio` of Telegraf sends them, from `/proc/diskstats`."""

from __future__ import annotations

from ingest.core.catalogue import DISKIO
from ingest.core.mapping import Head, Source, Tags, columns, facts, host_of, required, series

NAME = "diskio"
_UDEV = {
    "ID_SERIAL_SHORT": "serial",
    "ID_MODEL": "model",
    "ID_VENDOR": "vendor",
    "DM_UUID": "uuid",
    "MD_UUID": "uuid",
}
"""Properties of udev that may be asked for as `device_tags`, and the facts that they state."""
_NUMBER_OF_PARTITION = "ID_PART_ENTRY_NUMBER"
_WHOLE_WWN, _WWN = "ID_WWN_WITH_EXTENSION", "ID_WWN"
_OF_UDEV = frozenset({*_UDEV, _NUMBER_OF_PARTITION, _WHOLE_WWN, _WWN})


def _head(measurement: str, tags: Tags) -> Head:
    host, name = host_of(tags), required(tags, "name", of=measurement)
    # What udev knows of a disk does not make another series of it.
    own = {tag: value for tag, value in tags.items() if tag not in _OF_UDEV}
    said = [
        ("wwn", tags.get("wwid") or _wwn(tags)),
        ("serial", tags.get("serial")),
        ("layer", "partition" if _NUMBER_OF_PARTITION in tags else None),
        *((fact, tags.get(tag)) for tag, fact in _UDEV.items()),
    ]
    return Head(
        host=host,
        place=columns(series(DISKIO, host, name, own, source=NAME)),
        facts=facts(host, "device", name, dict.fromkeys(said)),
    )


def _wwn(tags: Tags) -> str | None:
    """The WWN as udev has it; cut to 64 of 128 bits all LUNs of an array have the same."""
    cut = tags.get(_WWN, "")
    return tags.get(_WHOLE_WWN) or (None if cut.startswith("0x6") else cut)


SOURCE = Source(name=NAME, measurements=frozenset({"diskio"}), head=_head)
