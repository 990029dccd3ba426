"""vSphere as `inputs.vsphere` of Telegraf sends it: means over twenty seconds, not counters.

Names and units are those of vSphere's performance counters: kilobytes of 1024 bytes, milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable

from ingest.core.catalogue import CGROUP, DISKIO, NET, VDISK, Measurement
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

NAME = "vsphere"
TOTAL = "instance-total"
"""The instance of lines that are the sum of all others, or instead of them."""
_INSTANCE = {"virtualDisk": "disk", "disk": "disk", "net": "interface", "datastore": "lun"}
_KIB = 1024.0
_READS, _WRITES = "numberReadAveraged_average", "numberWriteAveraged_average"
_MS_IN_NS = 1e6
# Of latencies of a datastore vSphere has the whole, of those of a disk of the host its parts.
_DATASTORE = ("totalReadLatency_average", "totalWriteLatency_average")
_DEVICE = ("deviceReadLatency_average", "deviceWriteLatency_average")
_PARTS = frozenset(
    {
        "kernelReadLatency_average",
        "kernelWriteLatency_average",
        "queueReadLatency_average",
        "queueWriteLatency_average",
        "maxTotalLatency_latest",
    }
)
_SIOC = frozenset(
    {
        "datastoreIops_average",
        "sizeNormalizedDatastoreLatency_average",
        "siocActiveTimePercentage_average",
    }
)


def _head(measurement: str, tags: Tags) -> Head:
    host = tags.get("esxhostname") or host_of(tags, "source")
    instance = tags.get(_INSTANCE.get(measurement.rpartition("_")[2], ""), TOTAL)
    match measurement:
        case "vsphere_vm_virtualDisk" | "vsphere_vm_net":
            return _of_guest(measurement, host, instance, tags)
        # What is on a device or an interface stands in lines of its own.
        case _ if instance == TOTAL:
            return Head(host=host, place=nowhere)
        case "vsphere_host_datastore":
            name = required(tags, "dsname", of=measurement)
            datastore = f"datastore/{name}"
            place = _device(host, datastore, _DATASTORE)
            return Head(
                host=host,
                place=gauges(host, datastore, {}, source=NAME, only=_SIOC, others=place),
                facts=_in_data_center(host, name, tags),
            )
        case "vsphere_host_disk":
            device = _device(host, instance, _DEVICE)
            kept = gauges(host, instance, {}, source=NAME, only=_PARTS, others=device)

            def found(field: str) -> Place:
                if field == "maxQueueDepth_average":
                    return FactField(
                        host=host, kind="device", subject=instance, name="queue_depth"
                    )
                return kept(field)

            said = facts(host, "device", instance, [("wwn", instance)])
            return Head(host=host, place=found, facts=said)
        case "vsphere_host_net":
            return Head(host=host, place=_network(host, instance))
        case _:
            return Head(host=host, place=nowhere)


def _in_data_center(host: str, name: str, tags: Tags) -> tuple[Fact, ...]:
    """The name of a datastore is of one in its data center, whichever host sees it."""
    vcenter, center = tags.get("vcenter"), tags.get("dcname")
    known = f"{vcenter}/{center}/{name}" if vcenter and center else None
    return facts(host, "device", f"datastore/{name}", [("datastore", known)])


def _of_guest(measurement: str, host: str, instance: str, tags: Tags) -> Head:
    guest = f"vm/{required(tags, 'moid', of=measurement)}"
    said = facts(
        host,
        "workload",
        guest,
        [
            ("name", tags.get("vmname")),
            ("kind", "vm"),
            ("uuid", tags.get("uuid")),
            ("vcenter", tags.get("vcenter")),
        ],
    )
    if instance == TOTAL:
        return Head(host=host, place=nowhere, facts=said)
    if measurement == "vsphere_vm_net":
        name = f"{guest}/{instance}"
        # What the guest gets is what the host sends to it.
        return Head(host=host, place=_network(host, name, as_guest=True), facts=said)
    own = {"host": host, "workload": guest, "device": instance}
    carried, took = (_rates(table, host, guest, own) for table in (CGROUP, VDISK))
    places: dict[str, tuple[Cell, ...]] = {
        _READS: (Cell(series=carried, column="rios"), Cell(series=took, column="reads")),
        _WRITES: (Cell(series=carried, column="wios"), Cell(series=took, column="writes")),
        "read_average": (Cell(series=carried, column="rbytes", scale=_KIB),),
        "write_average": (Cell(series=carried, column="wbytes", scale=_KIB),),
        _DATASTORE[0]: (Cell(series=took, column="read_time", scale=_MS_IN_NS, times=_READS),),
        _DATASTORE[1]: (Cell(series=took, column="write_time", scale=_MS_IN_NS, times=_WRITES),),
    }
    return Head(host=host, place=places.get, facts=said)


def _device(host: str, name: str, latencies: tuple[str, str]) -> Callable[[str], Cell | None]:
    key = _rates(DISKIO, host, name, {"host": host, "name": name})
    reads, writes = latencies
    places = {
        _READS: Cell(series=key, column="reads"),
        _WRITES: Cell(series=key, column="writes"),
        "read_average": Cell(series=key, column="read_bytes", scale=_KIB),
        "write_average": Cell(series=key, column="write_bytes", scale=_KIB),
        reads: Cell(series=key, column="read_time", times=_READS),
        writes: Cell(series=key, column="write_time", times=_WRITES),
    }
    return places.get


def _network(host: str, name: str, *, as_guest: bool = False) -> Callable[[str], Cell | None]:
    key = _rates(NET, host, name, {"host": host, "interface": name})
    received, sent = ("bytes_sent", "bytes_recv") if as_guest else ("bytes_recv", "bytes_sent")
    places = {
        "bytesRx_average": Cell(series=key, column=received, scale=_KIB),
        "bytesTx_average": Cell(series=key, column=sent, scale=_KIB),
    }
    return places.get


def _rates(table: Measurement, host: str, subject: str, tags: Tags) -> SeriesKey:
    return series(table, host, subject, tags, source=NAME, form=Form.RATE)


SOURCE = Source(name=NAME, measurements=frozenset({"vsphere_*"}), head=_head)
