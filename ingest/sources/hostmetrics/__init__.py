"""Host metrics of OpenTelemetry's collector (`hostmetricsreceiver`), sent over OTLP.

A point has one metric in `value`; the host is the resource attribute `host.name`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingest.core.catalogue import DISKIO, NET, SYSTEM
from ingest.core.mapping import Cell, Head, Place, Source, Tags, host_of, required, series

NAME = "hostmetrics"
_DISK: Mapping[tuple[str, str], tuple[str, float]] = {
    ("system.disk.operations", "read"): ("reads", 1),
    ("system.disk.operations", "write"): ("writes", 1),
    ("system.disk.io", "read"): ("read_bytes", 1),
    ("system.disk.io", "write"): ("write_bytes", 1),
    ("system.disk.operation_time", "read"): ("read_time", 1000),
    ("system.disk.operation_time", "write"): ("write_time", 1000),
    ("system.disk.io_time", ""): ("io_time", 1000),
    ("system.disk.weighted_io_time", ""): ("weighted_io_time", 1000),
    ("system.disk.pending_operations", ""): ("iops_in_progress", 1),
}
_NETWORK = {
    ("system.network.io", "receive"): "bytes_recv",
    ("system.network.io", "transmit"): "bytes_sent",
    ("system.network.packets", "receive"): "packets_recv",
    ("system.network.packets", "transmit"): "packets_sent",
    ("system.network.dropped", "receive"): "drop_in",
    ("system.network.dropped", "transmit"): "drop_out",
    ("system.network.errors", "receive"): "err_in",
    ("system.network.errors", "transmit"): "err_out",
}
_LOAD = {
    "system.cpu.load_average.1m": "load1",
    "system.cpu.load_average.5m": "load5",
    "system.cpu.load_average.15m": "load15",
}


def _head(measurement: str, tags: Tags) -> Head:
    host = host_of(tags, "host.name")
    return Head(
        host=host,
        place=lambda field: _place(measurement, host, tags) if field == "value" else None,
    )


def _place(metric: str, host: str, tags: Tags) -> Place:
    which = metric, tags.get("direction", "")
    if found := _DISK.get(which):
        column, scale = found
        name = required(tags, "device", of=metric)
        key = series(DISKIO, host, name, {"host": host, "name": name}, source=NAME)
        return Cell(series=key, column=column, scale=scale)
    if column := _NETWORK.get(which, ""):
        name = required(tags, "device", of=metric)
        key = series(NET, host, name, {"host": host, "interface": name}, source=NAME)
        return Cell(series=key, column=column)
    if column := _LOAD.get(metric, ""):
        return Cell(series=series(SYSTEM, host, "", {"host": host}, source=NAME), column=column)
    return None


SOURCE = Source(name=NAME, measurements=frozenset({"system.*"}), head=_head)
