"""Every measurement and field that is stored, with type, unit and meaning.

`docs/metrics.md` shows this catalogue to people; the sample tables have these columns. A test
keeps the three equal. Fields keep the names that Telegraf gives them.
"""

from dataclasses import dataclass
from enum import StrEnum


class FieldKind(StrEnum):
    """How a field counts: counters and whole numbers are 64-bit integers, never negative."""

    COUNTER = "counter"
    WHOLE = "whole number"
    NUMBER = "number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One column of a sample table."""

    name: str
    kind: FieldKind
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """One sample table; `subject_tag` names what its series are about on their host.

    There is one object per measurement, so it is compared and hashed by identity.
    """

    name: str
    table: str
    subject_tag: str | None
    fields: tuple[Field, ...]


def _counter(name: str, unit: str, meaning: str) -> Field:
    return Field(name=name, kind=FieldKind.COUNTER, unit=unit, meaning=meaning)


def _whole(name: str, unit: str, meaning: str) -> Field:
    return Field(name=name, kind=FieldKind.WHOLE, unit=unit, meaning=meaning)


def _number(name: str, unit: str, meaning: str) -> Field:
    return Field(name=name, kind=FieldKind.NUMBER, unit=unit, meaning=meaning)


DISKIO = Measurement(
    name="diskio",
    table="ingest_diskio_sample",
    subject_tag="name",
    fields=(
        _counter("reads", "I/Os", "Reads that completed"),
        _counter("writes", "I/Os", "Writes that completed"),
        _counter("read_bytes", "bytes", "Bytes read"),
        _counter("write_bytes", "bytes", "Bytes written"),
        _counter("read_time", "ms", "Time that all completed reads took; wraps at 2^32"),
        _counter("write_time", "ms", "Time that all completed writes took; wraps at 2^32"),
        _counter("io_time", "ms", "Time with any I/O in flight; wraps at 2^32"),
        _counter("weighted_io_time", "ms", "I/Os in flight, summed over time; wraps at 2^32"),
        _whole("iops_in_progress", "I/Os", "I/Os in flight when the sample was taken"),
    ),
)
NET = Measurement(
    name="net",
    table="ingest_net_sample",
    subject_tag="interface",
    fields=(
        _counter("bytes_sent", "bytes", "Bytes sent, with link-layer headers"),
        _counter("bytes_recv", "bytes", "Bytes received, with link-layer headers"),
        _counter("packets_sent", "packets", "Packets sent"),
        _counter("packets_recv", "packets", "Packets received"),
        _counter("drop_in", "packets", "Received packets that were dropped"),
        _counter("drop_out", "packets", "Packets dropped instead of sent"),
        _counter("err_in", "packets", "Packets received with an error"),
        _counter("err_out", "packets", "Packets that could not be sent for an error"),
        _whole("speed", "Mbit/s", "Link speed; absent where the interface does not know it"),
    ),
)
CGROUP = Measurement(
    name="cgroup",
    table="ingest_cgroup_sample",
    subject_tag="path",
    fields=(
        _counter("rios", "I/Os", "Reads that this cgroup issued to the device"),
        _counter("wios", "I/Os", "Writes that this cgroup issued to the device"),
        _counter("rbytes", "bytes", "Bytes read"),
        _counter("wbytes", "bytes", "Bytes written"),
    ),
)
CGROUP_PRESSURE = Measurement(
    name="cgroup_pressure",
    table="ingest_cgroup_pressure_sample",
    subject_tag="path",
    fields=(
        _counter("some_total", "µs", "Time in which some task of the cgroup waited for I/O"),
        _counter("full_total", "µs", "Time in which all its tasks waited for I/O"),
    ),
)
SYSTEM = Measurement(
    name="system",
    table="ingest_system_sample",
    subject_tag=None,
    fields=(
        _number("load1", "tasks", "Load average over 1 minute"),
        _number("load5", "tasks", "Load average over 5 minutes"),
        _number("load15", "tasks", "Load average over 15 minutes"),
        _whole("n_cpus", "CPUs", "Logical CPUs"),
        _whole("uptime", "s", "Time since the host started"),
    ),
)
COLLECTOR = Measurement(
    name="internal_write",
    table="ingest_collector_sample",
    subject_tag="output",
    fields=(
        _counter("metrics_written", "lines", "Lines that the server took"),
        _counter("metrics_dropped", "lines", "Lines lost because the buffer was full"),
        _counter("metrics_rejected", "lines", "Lines lost because the server refused them"),
        _whole("buffer_size", "lines", "Lines waiting on the host"),
        _counter("errors", "writes", "Writes that failed and are tried again"),
    ),
)
SCSI_RESERVATION = Measurement(
    name="scsi_reservation",
    table="ingest_scsi_reservation_sample",
    subject_tag="device",
    fields=(
        _counter("commands", "commands", "SCSI commands that the device completed for this host"),
        _counter("conflicts", "commands", "Commands that met another host's reservation"),
    ),
)
NSTAT = Measurement(
    name="nstat",
    table="ingest_nstat_sample",
    subject_tag="name",
    fields=(
        _counter("TcpOutSegs", "segments", "TCP segments sent, without those sent again"),
        _counter("TcpRetransSegs", "segments", "TCP segments sent again"),
    ),
)
BLOCK_DEVICE = Measurement(
    name="block_device",
    table="ingest_block_device_sample",
    subject_tag="name",
    fields=(
        _whole("major", "number", "First part of the number under which cgroups know the device"),
        _whole("minor", "number", "Second part of it"),
    ),
)
MEASUREMENTS = (
    DISKIO,
    NET,
    CGROUP,
    CGROUP_PRESSURE,
    SYSTEM,
    COLLECTOR,
    SCSI_RESERVATION,
    NSTAT,
    BLOCK_DEVICE,
)
