"""Devices and interfaces as sar recorded them, in JSON of sadf that was imported: means."""

from __future__ import annotations

from ingest.core.catalogue import DISKIO, NET
from ingest.core.mapping import (
    Cell,
    Form,
    Head,
    Place,
    Source,
    Tags,
    gauges,
    host_of,
    nowhere,
    required,
    series,
)

NAME = "sar"
_PERCENT_IN_MS = 10.0
_SECOND_IN_MS = 1000.0
_NETWORK = {
    "packets_received_per_s": "packets_recv",
    "packets_sent_per_s": "packets_sent",
    "bytes_received_per_s": "bytes_recv",
    "bytes_sent_per_s": "bytes_sent",
    "errors_in_per_s": "err_in",
    "errors_out_per_s": "err_out",
    "drops_in_per_s": "drop_in",
    "drops_out_per_s": "drop_out",
}


def _head(measurement: str, tags: Tags) -> Head:
    host = host_of(tags)
    match measurement:
        case "sar_disk":
            return _disk(host, required(tags, "device", of=measurement))
        case "sar_network":
            return _network(host, required(tags, "interface", of=measurement))
        case "sar_nfs":
            return Head(host=host, place=gauges(host, "nfs", {}, source=NAME))
        case _:
            # The sums over all disks, which are there one by one.
            return Head(host=host, place=nowhere)


def _disk(host: str, name: str) -> Head:
    own = {"host": host, "name": name}
    key = series(DISKIO, host, name, own, source=NAME, form=Form.RATE)
    places: dict[str, Place] = {
        # sar counts transfers alone; they are divided before they come here.
        "reads_per_s": Cell(series=key, column="reads"),
        "writes_per_s": Cell(series=key, column="writes"),
        "read_bytes_per_s": Cell(series=key, column="read_bytes"),
        "write_bytes_per_s": Cell(series=key, column="write_bytes"),
        "await_ms": (
            Cell(series=key, column="read_time", times="reads_per_s"),
            Cell(series=key, column="write_time", times="writes_per_s"),
        ),
        "util_percent": Cell(series=key, column="io_time", scale=_PERCENT_IN_MS),
        "queue": Cell(series=key, column="weighted_io_time", scale=_SECOND_IN_MS),
    }
    return Head(host=host, place=places.get)


def _network(host: str, name: str) -> Head:
    own = {"host": host, "interface": name}
    key = series(NET, host, name, own, source=NAME, form=Form.RATE)
    places = {field: Cell(series=key, column=column) for field, column in sorted(_NETWORK.items())}
    return Head(host=host, place=places.get)


SOURCE = Source(
    name=NAME,
    measurements=frozenset({"sar_disk", "sar_network", "sar_io", "sar_nfs"}),
    head=_head,
)
