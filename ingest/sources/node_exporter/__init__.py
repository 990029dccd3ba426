"""Prometheus metrics of node_exporter and cAdvisor, scraped by Telegraf or sent by remote write.

A point has one metric. Its name is the measurement, with the number in `counter`, `gauge` or
`value`; or, with `metric_version = 2` of Telegraf, the measurement is `prometheus` and the name is
that of the field. The host is that of the label `instance`, unless this names the scraper's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ingest.core.catalogue import BLOCK_DEVICE, CGROUP, DISKIO, NET, NSTAT, SYSTEM, Measurement
from ingest.core.mapping import (
    Cell,
    Fact,
    Head,
    Place,
    Source,
    Tags,
    facts,
    host_of,
    required,
    series,
)

NAME = "node_exporter"
TCP_SUBJECT = "snmp"
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", ""})
# As in "h1:9100", "[fe80::1]:9100" and "http://h1:9100/metrics".
_ADDRESS = re.compile(r"(?:[a-z]+://)?(?:[^/@]*@)?(?:\[(?P<six>[^\]]*)\]|(?P<name>[^:/?#]*))")
_VALUES = frozenset({"counter", "gauge", "value"})
_DISK: Mapping[str, tuple[str, float]] = {
    "node_disk_reads_completed_total": ("reads", 1),
    "node_disk_writes_completed_total": ("writes", 1),
    "node_disk_read_bytes_total": ("read_bytes", 1),
    "node_disk_written_bytes_total": ("write_bytes", 1),
    "node_disk_read_time_seconds_total": ("read_time", 1000),
    "node_disk_write_time_seconds_total": ("write_time", 1000),
    "node_disk_io_time_seconds_total": ("io_time", 1000),
    "node_disk_io_time_weighted_seconds_total": ("weighted_io_time", 1000),
    "node_disk_io_now": ("iops_in_progress", 1),
}
_NETWORK = {
    "node_network_receive_bytes_total": "bytes_recv",
    "node_network_transmit_bytes_total": "bytes_sent",
    "node_network_receive_packets_total": "packets_recv",
    "node_network_transmit_packets_total": "packets_sent",
    "node_network_receive_drop_total": "drop_in",
    "node_network_transmit_drop_total": "drop_out",
    "node_network_receive_errs_total": "err_in",
    "node_network_transmit_errs_total": "err_out",
}
_SPEED = "node_network_speed_bytes"
_TCP = {
    "node_netstat_Tcp_OutSegs": "TcpOutSegs",
    "node_netstat_Tcp_RetransSegs": "TcpRetransSegs",
}
_HOST = {"node_load1": "load1", "node_load5": "load5", "node_load15": "load15"}
_CONTAINER = {
    "container_fs_reads_total": "rios",
    "container_fs_writes_total": "wios",
    "container_fs_reads_bytes_total": "rbytes",
    "container_fs_writes_bytes_total": "wbytes",
}
_DISK_INFO = "node_disk_info"
_CONTAINER_LABELS = {
    "name": "name",
    "pod": "label.pod",
    "namespace": "namespace",
    "image": "label.image",
}


def _head(measurement: str, tags: Tags) -> Head:
    host = _host(tags)
    if measurement == "prometheus":
        return Head(
            host=host, place=lambda field: _place(field, host, tags), facts=_facts("", host, tags)
        )
    return Head(
        host=host,
        place=lambda field: _place(measurement, host, tags) if field in _VALUES else None,
        facts=_facts(measurement, host, tags),
    )


def _host(tags: Tags) -> str:
    """The host that was scraped; what is scraped where the collector runs is called like it."""
    found = _ADDRESS.match(tags.get("instance") or tags.get("url", ""))
    name = found["name"] or found["six"] or "" if found else ""
    return host_of(tags) if name.lower() in _LOCAL else name


def _place(metric: str, host: str, tags: Tags) -> Place:
    if found := _DISK.get(metric):
        column, scale = found
        return _cell(DISKIO, host, ("name", _device(metric, tags)), column, scale)
    if column := _NETWORK.get(metric, ""):
        return _cell(NET, host, ("interface", _device(metric, tags)), column)
    if metric == _SPEED:
        # Bytes a second, where the table has Mbit/s.
        return _cell(NET, host, ("interface", _device(metric, tags)), "speed", 8e-6)
    if column := _TCP.get(metric, ""):
        return _cell(NSTAT, host, ("name", TCP_SUBJECT), column)
    if column := _HOST.get(metric, ""):
        return Cell(series=series(SYSTEM, host, "", {"host": host}, source=NAME), column=column)
    if column := _CONTAINER.get(metric, ""):
        path, device = required(tags, "id", of=metric), tags.get("device", "")
        own = {"host": host, "path": path, "device": device}
        return Cell(series=series(CGROUP, host, path, own, source=NAME), column=column)
    if metric == _DISK_INFO:
        return _number(host, tags)
    return None


def _cell(
    table: Measurement, host: str, subject: tuple[str, str], column: str, scale: float = 1
) -> Cell:
    """`subject` is the name of its tag and its value."""
    tag, name = subject
    key = series(table, host, name, {"host": host, tag: name}, source=NAME)
    return Cell(series=key, column=column, scale=scale)


def _device(metric: str, tags: Tags) -> str:
    return required(tags, "device", of=metric)


def _number(host: str, tags: Tags) -> Place:
    """The number of a device, which is a label: the value of the metric is always 1."""
    if not tags.get("major", "").isdecimal() or not tags.get("minor", "").isdecimal():
        return None
    name = _device(_DISK_INFO, tags)
    key = series(BLOCK_DEVICE, host, name, {"host": host, "name": name}, source=NAME)
    return (
        Cell(series=key, column="major", scale=float(tags["major"])),
        Cell(series=key, column="minor", scale=float(tags["minor"])),
    )


def _facts(metric: str, host: str, tags: Tags) -> tuple[Fact, ...]:
    if metric == _DISK_INFO:
        said = [
            ("wwn", tags.get("wwn")),
            ("serial", tags.get("serial")),
            ("model", tags.get("model")),
        ]
        return facts(host, "device", _device(metric, tags), said)
    if metric in _CONTAINER:
        known = [(name, tags.get(label)) for label, name in _CONTAINER_LABELS.items()]
        return facts(host, "workload", tags.get("id", ""), [*known, ("cgroup", tags.get("id"))])
    return ()


SOURCE = Source(
    name=NAME,
    measurements=frozenset({"prometheus", "node_*", "container_*"}),
    head=_head,
)
