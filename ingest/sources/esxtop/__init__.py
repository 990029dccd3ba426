"""ESXi as `esxtop -b` writes it, in a CSV file that was imported: means since the row before."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ingest.core.catalogue import CGROUP, DISKIO, NET, SCSI_RESERVATION, VDISK, Measurement
from ingest.core.mapping import (
    Cell,
    Fact,
    FactField,
    Form,
    Head,
    Place,
    SeriesKey,
    Source,
    Tags,
    facts,
    gauges,
    host_of,
    nowhere,
    required,
    series,
)

NAME = "esxtop"
_MIB = 1024.0 * 1024.0
_MEGABIT_IN_BYTES = 125_000.0
_MS_IN_NS = 1e6
_READS, _WRITES = "reads_per_sec", "writes_per_sec"
_READ_MIB, _WRITTEN_MIB = "mbytes_read_per_sec", "mbytes_written_per_sec"
_COMMANDS, _CONFLICTS = "commands_per_sec", "conflicts_per_sec"
_DEPTH = "device_q_depth"
# Of a device of the host the device's own part is its latency; the rest is where else time goes.
_DEVICE = ("average_driver_millisec_per_read", "average_driver_millisec_per_write")
# Of NFS esxtop knows nothing but the whole.
_VOLUME = ("average_guest_millisec_per_read", "average_guest_millisec_per_write")
_GUEST = ("average_millisec_per_read", "average_millisec_per_write")
_KEPT = frozenset(
    {
        "active_commands",
        "queued_commands",
        "average_kernel_millisec_per_command",
        "average_queue_millisec_per_command",
        "average_guest_millisec_per_command",
        "aborts_per_sec",
        "resets_per_sec",
    }
)
_SENT = {"packets_transmitted_per_sec": 1.0, "mbits_transmitted_per_sec": _MEGABIT_IN_BYTES}
_RECEIVED = {"packets_received_per_sec": 1.0, "mbits_received_per_sec": _MEGABIT_IN_BYTES}
_DROPPED = {
    "percent_outbound_packets_dropped": "packets_transmitted_per_sec",
    "percent_received_packets_dropped": "packets_received_per_sec",
}
_PERCENT = 0.01

_CARRIED = frozenset({_READS, _WRITES, _READ_MIB, _WRITTEN_MIB})
_FIELDS: Mapping[str, frozenset[str]] = {
    "esxtop_physical_disk_scsi_device": (
        _CARRIED | _KEPT | frozenset(_DEVICE) | {_DEPTH, _COMMANDS, _CONFLICTS}
    ),
    "esxtop_physical_disk": _CARRIED | _KEPT | frozenset(_DEVICE),
    "esxtop_physical_disk_nfs_volume": _CARRIED | frozenset(_VOLUME) | {"active_commands"},
    "esxtop_virtual_disk": _CARRIED | frozenset(_GUEST),
    "esxtop_network_port": frozenset({*_SENT, *_RECEIVED, *_DROPPED}),
}
"""What is kept of each measurement; adapters, paths and worlds carry what devices carry."""


def is_kept(measurement: str, field: str) -> bool:
    """Whether a column is of any use, so that no other has to be read."""
    return field in _FIELDS.get(measurement, frozenset())


def _head(measurement: str, tags: Tags) -> Head:
    host = host_of(tags)
    match measurement:
        case "esxtop_physical_disk_scsi_device" | "esxtop_physical_disk":
            return _device(host, required(tags, "instance", of=measurement))
        case "esxtop_physical_disk_nfs_volume":
            name = f"datastore/{required(tags, 'volume', of=measurement)}"
            key = _rates(DISKIO, host, name, {"host": host, "name": name})
            places = _disk(key, _VOLUME).get
            own = {"name": name}
            kept = gauges(host, name, own, source=NAME, only=_KEPT, others=places)
            return Head(host=host, place=kept)
        # Without the tag it is the sum of the disks of a machine.
        case "esxtop_virtual_disk" if "disk" in tags:
            return _guest_disk(host, required(tags, "vm", of=measurement), tags["disk"])
        case "esxtop_network_port" if "client" in tags:
            return _port(host, tags)
        case _:
            return Head(host=host, place=nowhere)


def _device(host: str, name: str) -> Head:
    own = {"host": host, "name": name}
    key = _rates(DISKIO, host, name, own)
    locked = _rates(SCSI_RESERVATION, host, name, {"host": host, "device": name})
    places: dict[str, Place] = {
        **_disk(key, _DEVICE),
        _COMMANDS: Cell(series=locked, column="commands"),
        _CONFLICTS: Cell(series=locked, column="conflicts"),
        _DEPTH: FactField(host=host, kind="device", subject=name, name="queue_depth"),
    }
    wwn = name if name.startswith(("naa.", "eui.", "t10.")) else None
    return Head(
        host=host,
        place=gauges(host, name, {"name": name}, source=NAME, only=_KEPT, others=places.get),
        facts=facts(host, "device", name, [("wwn", wwn)]),
    )


def _disk(key: SeriesKey, latencies: tuple[str, str]) -> dict[str, Cell]:
    reads, writes = latencies
    return {
        _READS: Cell(series=key, column="reads"),
        _WRITES: Cell(series=key, column="writes"),
        _READ_MIB: Cell(series=key, column="read_bytes", scale=_MIB),
        _WRITTEN_MIB: Cell(series=key, column="write_bytes", scale=_MIB),
        reads: Cell(series=key, column="read_time", times=_READS),
        writes: Cell(series=key, column="write_time", times=_WRITES),
    }


def _guest_disk(host: str, name: str, disk: str) -> Head:
    guest = f"vm/{name}"
    own = {"host": host, "workload": guest, "device": disk}
    carried, took = (_rates(table, host, guest, own) for table in (CGROUP, VDISK))
    places: dict[str, tuple[Cell, ...]] = {
        _READS: (Cell(series=carried, column="rios"), Cell(series=took, column="reads")),
        _WRITES: (Cell(series=carried, column="wios"), Cell(series=took, column="writes")),
        _READ_MIB: (Cell(series=carried, column="rbytes", scale=_MIB),),
        _WRITTEN_MIB: (Cell(series=carried, column="wbytes", scale=_MIB),),
        _GUEST[0]: (Cell(series=took, column="read_time", scale=_MS_IN_NS, times=_READS),),
        _GUEST[1]: (Cell(series=took, column="write_time", scale=_MS_IN_NS, times=_WRITES),),
    }
    return Head(host=host, place=places.get, facts=_said(host, guest, name))


def _port(host: str, tags: Tags) -> Head:
    client = tags["client"]
    if "world" not in tags:
        place = _network(host, client, sent="sent", received="recv")
        return Head(host=host, place=place)
    name = client.rpartition(".eth")[0] or client
    guest = f"vm/{name}"
    # What the guest gets is what the host sends to it.
    port = required(tags, "port", of="a network port of a machine")
    place = _network(host, f"{guest}/{port}", sent="recv", received="sent")
    return Head(host=host, place=place, facts=_said(host, guest, name))


def _network(host: str, name: str, *, sent: str, received: str) -> Callable[[str], Place]:
    key = _rates(NET, host, name, {"host": host, "interface": name})
    places = {
        field: Cell(
            series=key,
            column=f"{'bytes' if scale > 1 else 'packets'}_{direction}",
            scale=scale,
        )
        for fields, direction in ((_SENT, sent), (_RECEIVED, received))
        for field, scale in fields.items()
    }
    ways = ("out" if sent == "sent" else "in", "in" if sent == "sent" else "out")
    for (percent, packets), way in zip(_DROPPED.items(), ways, strict=True):
        places[percent] = Cell(series=key, column=f"drop_{way}", scale=_PERCENT, times=packets)
    return places.get


def _said(host: str, guest: str, name: str) -> tuple[Fact, ...]:
    return facts(host, "workload", guest, [("name", name), ("kind", "vm")])


def _rates(table: Measurement, host: str, subject: str, tags: Tags) -> SeriesKey:
    return series(table, host, subject, tags, source=NAME, form=Form.RATE)


SOURCE = Source(name=NAME, measurements=frozenset({"esxtop_*"}), head=_head)
