"""Records of sar as JSON: `sadf -j /var/log/sa/sa23 -- -d -n DEV -n EDEV -b > file`.

Times are UTC unless the file was written with -t; its other figures (CPU, memory) are left out.
One point per record and object; every value is a float.

* sar_disk, tags host and device: transfers_per_s, (read|write|discard)_bytes_per_s,
  request_bytes, queue, await_ms, service_ms (sysstat 10 and 11), util_percent;
* sar_network, tags host and interface: packets_(received|sent)_per_s,
  bytes_(received|sent)_per_s, multicast_received_per_s, util_percent,
  errors_(in|out)_per_s, drops_(in|out)_per_s, collisions_per_s;
* sar_io (all disks), tag host: transfers_per_s, (reads|writes|discards)_per_s,
  (read|write|discard)_bytes_per_s;
* sar_nfs (client), tag host: calls_per_s, retransmits_per_s, reads_per_s, writes_per_s.

A device is named as sadf was asked to: `sda` with -p or since sysstat 12.4, else `dev8-0`.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, tzinfo
from typing import Any

from ingest.core.decoders.errors import NeedsHostError, NeedsZoneError
from ingest.core.decoders.json_numbers import finite
from ingest.core.decoders.local_time import LocalClock
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.sysstat_json import reports
from ingest.core.decoders.texts import is_storable
from ingest.core.point import FieldValue, Point

_SECTOR = 512
_KIB = 1024

Columns = Mapping[str, tuple[str, float]]
"""Fields by the names of the file, and how many of their unit one of the file is."""

# Of two names for one field the later wins: sectors are kept for old readers, and are rounded.
_DISK: Columns = {
    "tps": ("transfers_per_s", 1),
    "rd_sec": ("read_bytes_per_s", _SECTOR),
    "wr_sec": ("write_bytes_per_s", _SECTOR),
    "dc_sec": ("discard_bytes_per_s", _SECTOR),
    "rkB": ("read_bytes_per_s", _KIB),
    "wkB": ("write_bytes_per_s", _KIB),
    "dkB": ("discard_bytes_per_s", _KIB),
    "avgrq-sz": ("request_bytes", _SECTOR),
    "areq-sz": ("request_bytes", _KIB),
    "avgqu-sz": ("queue", 1),
    "aqu-sz": ("queue", 1),
    "await": ("await_ms", 1),
    "svctm": ("service_ms", 1),
    "util-percent": ("util_percent", 1),
}
_INTERFACE: Columns = {
    "rxpck": ("packets_received_per_s", 1),
    "txpck": ("packets_sent_per_s", 1),
    "rxkB": ("bytes_received_per_s", _KIB),
    "txkB": ("bytes_sent_per_s", _KIB),
    "rxmcst": ("multicast_received_per_s", 1),
    "ifutil-percent": ("util_percent", 1),
}
_INTERFACE_ERRORS: Columns = {
    "rxerr": ("errors_in_per_s", 1),
    "txerr": ("errors_out_per_s", 1),
    "rxdrop": ("drops_in_per_s", 1),
    "txdrop": ("drops_out_per_s", 1),
    "coll": ("collisions_per_s", 1),
}
_IO: Columns = {"tps": ("transfers_per_s", 1)}
_IO_PARTS: Mapping[str, Columns] = {
    "io-reads": {"rtps": ("reads_per_s", 1), "bread": ("read_bytes_per_s", _SECTOR)},
    "io-writes": {"wtps": ("writes_per_s", 1), "bwrtn": ("write_bytes_per_s", _SECTOR)},
    "io-discard": {"dtps": ("discards_per_s", 1), "bdscd": ("discard_bytes_per_s", _SECTOR)},
}
_NFS: Columns = {
    "call": ("calls_per_s", 1),
    "retrans": ("retransmits_per_s", 1),
    "read": ("reads_per_s", 1),
    "write": ("writes_per_s", 1),
}

Object = tuple[str, tuple[tuple[str, str], ...], dict[str, FieldValue]]
"""A measurement, its tags without the host, and its fields."""


def decode_sadf(
    chunks: Iterable[bytes],
    rejections: Rejections,
    *,
    host: str | None = None,
    zone: tzinfo | None = None,
) -> Iterator[Point]:
    """The points of a file of sadf; times are nanoseconds since 1970.

    `host` is used where the file names none, `zone` where its times are local. Raises
    `NeedsHostError`, `NeedsZoneError` or `FormatError` before the first point.
    """
    in_utc = LocalClock(zone=UTC, date_order=None)
    local = LocalClock(zone=zone, date_order=None)
    for number, (about, record) in enumerate(reports(chunks, rejections), start=1):
        name = f"record {number}"
        timestamp = record.get("timestamp")
        time_ns = _time_ns(timestamp, in_utc, local) if isinstance(timestamp, dict) else None
        if time_ns is None:
            rejections.add(name, "the record has no time")
            continue
        known_host = about.get("nodename") or host
        if known_host is None:
            raise NeedsHostError("the file does not name the host that it is of")
        for measurement, tags, fields in _objects(record, name, rejections):
            if fields:
                yield Point(
                    measurement=measurement,
                    tags=tuple(sorted([("host", known_host), *tags])),
                    fields=fields,
                    time=time_ns,
                )


def _time_ns(timestamp: Mapping[str, Any], in_utc: LocalClock, local: LocalClock) -> int | None:
    """The time of a record. UTC is told by `tz`, before sysstat 12.5 by `utc`."""
    text = f"{timestamp.get('date')} {timestamp.get('time')}"
    if timestamp.get("tz") in {"UTC", "GMT"} or timestamp.get("utc") in {1, "1"}:
        return in_utc.read_ns(text)
    try:
        return local.read_ns(text)
    except NeedsZoneError as error:
        known = timestamp.get("tz")
        called = f" (it calls it {known})" if known else ""
        raise NeedsZoneError(f"the times of the file are local: in which zone?{called}") from error


def _objects(record: Mapping[str, Any], name: str, rejections: Rejections) -> Iterator[Object]:
    for disk in _dicts(record, "disk", name, rejections):
        device = disk.get("disk-device")
        if isinstance(device, str) and device and is_storable(device):
            fields = _fields(disk, _DISK, name, rejections)
            yield "sar_disk", (("device", device),), fields
        else:
            rejections.add(name, "a disk has no name")
    network = record.get("network")
    if isinstance(network, dict):
        yield from _network(network, name, rejections)
    io = record.get("io")
    if isinstance(io, dict):
        fields = _fields(io, _IO, name, rejections)
        for part, columns in _IO_PARTS.items():
            found = io.get(part)
            fields |= _fields(found if isinstance(found, dict) else {}, columns, name, rejections)
        yield "sar_io", (), fields


def _network(network: Mapping[str, Any], name: str, rejections: Rejections) -> Iterator[Object]:
    interfaces: dict[str, dict[str, FieldValue]] = {}
    for part, columns in (("net-dev", _INTERFACE), ("net-edev", _INTERFACE_ERRORS)):
        for found in _dicts(network, part, name, rejections):
            interface = found.get("iface")
            if isinstance(interface, str) and interface and is_storable(interface):
                fields = interfaces.setdefault(interface, {})
                fields |= _fields(found, columns, name, rejections)
            else:
                rejections.add(name, "an interface has no name")
    for interface, fields in interfaces.items():
        yield "sar_network", (("interface", interface),), fields
    nfs = network.get("net-nfs")
    if isinstance(nfs, dict):
        yield "sar_nfs", (), _fields(nfs, _NFS, name, rejections)


def _dicts(
    owner: Mapping[str, Any], key: str, name: str, rejections: Rejections
) -> list[dict[str, Any]]:
    value = owner.get(key, [])
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    rejections.add(f"{name}: {key}", "it is no list of objects")
    return []


def _fields(
    found: Mapping[str, Any], columns: Columns, name: str, rejections: Rejections
) -> dict[str, FieldValue]:
    fields: dict[str, FieldValue] = {}
    for key, (field, scale) in columns.items():
        value = found.get(key)
        number = finite(value)
        if number is not None:
            fields[field] = number * scale
        elif value is not None:
            rejections.add(f"{name}: {key}", "the value is not a number")
    return fields
