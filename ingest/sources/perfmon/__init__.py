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
# Names of instances have dashes for backslashes, and machines have dashes in their names.
_FOLDERS = re.compile(
    r".*(?:[\\/]|Virtual Hard Disks-|ClusterStorage-[^-]+-)|[A-Z]:-", re.IGNORECASE
)
_SNAPSHOT = re.compile(r"_[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}(?=\.a?vhdx?)", re.IGNORECASE)
_DISK_FILE = re.compile(r"(?P<name>.+?)\.a?vhdx?(?:[-_.].*)?", re.IGNORECASE)
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
            own = {"volume": instance}
            place = gauges(host, instance, own, source=NAME, only=_KEPT_OF_VOLUMES)
            return Head(host=host, place=place)
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
    name = _machine_of(instance)
    guest = f"vm/{name}"
    own = {"host": host, "workload": guest, "device": instance}
    key = series(CGROUP, host, guest, own, source=NAME, form=Form.RATE)
    found = {field: Cell(series=key, column=to) for field, to in _GUEST_DISK.items()}
    said = facts(host, "workload", guest, [("name", name), ("kind", "vm")])
    return Head(host=host, place=found.get, facts=said)


def _machine_of(instance: str) -> str:
    """The name of a machine: that of the file of its disk, more often than not."""
    path = _SNAPSHOT.sub("", instance)
    folders = _FOLDERS.match(path)
    named = _DISK_FILE.fullmatch(path, folders.end() if folders else 0)
    if named is None:
        return instance
    name = named["name"]
    folder = name[: len(name) // 2]
    # A machine may have a folder of its own name.
    return folder if name == f"{folder}-{folder}" else name


SOURCE = Source(name=NAME, measurements=frozenset({"perfmon_*"}), head=_head)
