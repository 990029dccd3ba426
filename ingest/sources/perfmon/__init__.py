"""Windows' performance monitor, in a CSV file that was imported: means, not counters."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ingest.core.catalogue import CGROUP, DISKIO, NET
from ingest.core.mapping import (
    Cell,
    Form,
    Head,
    Place,
    Source,
    Tags,
    facts,
    gauges,
    host_of,
    nowhere,
    required,
    series,
)

NAME = "perfmon"
_SECOND_IN_MS = 1000.0
_TOTAL = "_Total"
_READS, _WRITES = "disk_reads_per_sec", "disk_writes_per_sec"
_DISK: Mapping[str, tuple[str, float, str | None]] = {
    _READS: ("reads", 1, None),
    _WRITES: ("writes", 1, None),
    "disk_read_bytes_per_sec": ("read_bytes", 1, None),
    "disk_write_bytes_per_sec": ("write_bytes", 1, None),
    "avg_disk_sec_per_read": ("read_time", _SECOND_IN_MS, _READS),
    "avg_disk_sec_per_write": ("write_time", _SECOND_IN_MS, _WRITES),
    "avg_disk_queue_length": ("weighted_io_time", _SECOND_IN_MS, None),
}
_NETWORK = {
    "bytes_received_per_sec": "bytes_recv",
    "bytes_sent_per_sec": "bytes_sent",
    "packets_received_per_sec": "packets_recv",
    "packets_sent_per_sec": "packets_sent",
}
_GUEST_DISK = {
    "read_operations_per_sec": "rios",
    "write_operations_per_sec": "wios",
    "read_bytes_per_sec": "rbytes",
    "write_bytes_per_sec": "wbytes",
}
# Files of virtual disks have the name of their machine more often than not.
_GUEST_FILE = re.compile(r".*[-\\/](?P<name>[^\\/]+?)\.a?vhdx?(?:[-_.].*)?", re.IGNORECASE)
_KEPT_OF_VOLUMES = frozenset({"percent_free_space", "free_megabytes"})


def _head(measurement: str, tags: Tags) -> Head:
    host, instance = host_of(tags), required(tags, "instance", of=measurement)
    if instance == _TOTAL:
        return Head(host=host, place=nowhere)
    match measurement:
        case "perfmon_physicaldisk":
            own = {"host": host, "name": instance}
            key = series(DISKIO, host, instance, own, source=NAME, form=Form.RATE)
            places: dict[str, Place] = {
                field: Cell(series=key, column=column, scale=scale, times=times)
                for field, (column, scale, times) in _DISK.items()
            }
            return Head(host=host, place=places.get)
        case "perfmon_logicaldisk":
            kept = gauges(host, instance, {"volume": instance}, source=NAME)
            return Head(
                host=host, place=lambda field: kept(field) if field in _KEPT_OF_VOLUMES else None
            )
        case "perfmon_network_interface":
            own = {"host": host, "interface": instance}
            key = series(NET, host, instance, own, source=NAME, form=Form.RATE)
            found = {field: Cell(series=key, column=to) for field, to in _NETWORK.items()}
            return Head(host=host, place=found.get)
        case "perfmon_hyper_v_virtual_storage_device":
            return _of_guest(host, instance)
        case _:
            return Head(host=host, place=nowhere)


def _of_guest(host: str, instance: str) -> Head:
    named = _GUEST_FILE.fullmatch(instance)
    name = named["name"] if named else instance
    guest = f"vm/{name}"
    own = {"host": host, "workload": guest, "device": instance}
    key = series(CGROUP, host, guest, own, source=NAME, form=Form.RATE)
    found = {field: Cell(series=key, column=to) for field, to in _GUEST_DISK.items()}
    said = facts(host, "workload", guest, [("name", name), ("kind", "vm")])
    return Head(host=host, place=found.get, facts=said)


SOURCE = Source(name=NAME, measurements=frozenset({"perfmon_*"}), head=_head)
