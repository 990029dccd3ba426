"""The canonical tables of samples: every column with type, unit and meaning.

Sources map what collectors send into these (`ingest.sources`). `docs/metrics.md` shows them to
people; a test keeps both and the tables in the database equal.
"""

from dataclasses import dataclass
from enum import StrEnum

from ingest.core.lengths import LONGEST_DEVICE, LONGEST_PATH


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
    """One sample table; there is one object of each, so it is compared by identity."""

    name: str
    table: str
    about: str
    fields: tuple[Field, ...]
    longest_subject: int = LONGEST_DEVICE


def _counter(name: str, unit: str, meaning: str) -> Field:
    return Field(name=name, kind=FieldKind.COUNTER, unit=unit, meaning=meaning)


def _whole(name: str, unit: str, meaning: str) -> Field:
    return Field(name=name, kind=FieldKind.WHOLE, unit=unit, meaning=meaning)


def _number(name: str, unit: str, meaning: str) -> Field:
    return Field(name=name, kind=FieldKind.NUMBER, unit=unit, meaning=meaning)


DISKIO = Measurement(
    name="diskio",
    table="ingest_diskio_sample",
    about=(
        "Block devices, from `/proc/diskstats`, and mounts of NFS, as `server:export`.\n"
        "Read as `DiskRates`: IOPS, bytes per second, `latency_ms` (growth of "
        "`read_time + write_time` over growth of `reads + writes`), `outstanding_io` "
        "(growth of `weighted_io_time` over time), `utilisation_ratio` (growth of "
        "`io_time` over time).\n"
        "Kernels count the time of an I/O when it completes, so a hanging device "
        "shows no growth.\n"
        "If nothing completed between two samples and both have `iops_in_progress`, "
        "the device counts as busy for the whole time, and `outstanding_io` is the "
        "mean of both."
    ),
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
    about=(
        "Network interfaces, from `/proc/net/dev` or as a hypervisor counts those of its "
        "workloads.\n"
        "Read as `NetRates`: bits and packets per second in both directions, drops "
        "and errors per second."
    ),
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
    about=(
        "Reads and writes of a workload on one device: of a cgroup, from `io.stat`, where the "
        "subject is its path and the tag `device` is `major:minor`;\n"
        "or of a virtual machine, as its hypervisor counts them, where the subject is such as "
        "`qemu/101` and the tag `device` its disk, such as `scsi0`.\n"
        "Read as `CgroupRates`: IOPS and bytes per second."
    ),
    longest_subject=LONGEST_PATH,
    fields=(
        _counter("rios", "I/Os", "Reads that the workload issued to the device"),
        _counter("wios", "I/Os", "Writes that it issued to the device"),
        _counter("rbytes", "bytes", "Bytes read"),
        _counter("wbytes", "bytes", "Bytes written"),
    ),
)
CGROUP_COST = Measurement(
    name="cgroup_cost",
    table="ingest_cgroup_cost_sample",
    about=(
        "Discards of a cgroup on one device, and what iocost counts of it, from "
        "`io.stat`. The subject is its path; the tag `device` is `major:minor`.\n"
        "`cost_wait` is the time in which the cgroup waited for its share, by the "
        "kernel's own account: who waited wants more."
    ),
    longest_subject=LONGEST_PATH,
    fields=(
        _counter("discards", "I/Os", "Discards that this cgroup issued to the device"),
        _counter("discard_bytes", "bytes", "Bytes discarded"),
        _counter("cost_usage", "µs", "Device time that iocost charged to this cgroup"),
        _counter("cost_wait", "µs", "Time in which its I/Os waited for their share, by iocost"),
        _counter("cost_indebt", "µs", "Time in which it was in debt to iocost"),
        _counter("cost_indelay", "µs", "Time in which its tasks were delayed for that debt"),
    ),
)
CGROUP_PRESSURE = Measurement(
    name="cgroup_pressure",
    table="ingest_cgroup_pressure_sample",
    about=(
        "How long a cgroup waited for I/O, from `io.pressure`. The subject is the tag "
        "`path`. Derived from lines of `cgroup`.\n"
        "Read as the pressure ratios of `CgroupRates`."
    ),
    longest_subject=LONGEST_PATH,
    fields=(
        _counter("some_total", "µs", "Time in which some task of the cgroup waited for I/O"),
        _counter("full_total", "µs", "Time in which all its tasks waited for I/O"),
    ),
)
SYSTEM = Measurement(
    name="system",
    table="ingest_system_sample",
    about="The host as a whole. It has no subject.",
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
    about=(
        "What Telegraf sent and still buffers, from its input `internal`. The subject "
        "is the tag `output`."
    ),
    longest_subject=LONGEST_PATH,
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
    about=(
        "A SCSI reservation locks a LUN for one host; a conflict is a command of "
        "another host during the lock.\n"
        "The subject is the tag `device`. Telegraf on Linux has no such input: a "
        "program that reads these counters, for example from esxtop, sends them as "
        "line protocol.\n"
        "Read as `ConflictRates`."
    ),
    fields=(
        _counter("commands", "commands", "SCSI commands that the device completed for this host"),
        _counter("conflicts", "commands", "Commands that met another host's reservation"),
    ),
)
NSTAT = Measurement(
    name="nstat",
    table="ingest_nstat_sample",
    about=(
        "TCP of the host as a whole, from `/proc/net/snmp`. The subject is the tag "
        "`name`.\n"
        "TCP connections of guests are counted in the guest, not here.\n"
        "Read as `TcpRates`."
    ),
    fields=(
        _counter("TcpOutSegs", "segments", "TCP segments sent, without those sent again"),
        _counter("TcpRetransSegs", "segments", "TCP segments sent again"),
    ),
)
BLOCK_DEVICE = Measurement(
    name="block_device",
    table="ingest_block_device_sample",
    about=(
        "The number under which cgroups count the I/O of a device; the subject is the "
        "tag `name`. Our configuration sends it once a minute, from "
        "`/proc/diskstats`.\n"
        "Read as `major:minor`; the newest applies."
    ),
    fields=(
        _whole("major", "number", "First part of the number under which cgroups know the device"),
        _whole("minor", "number", "Second part of it"),
    ),
)
MOUNT = Measurement(
    name="mount",
    table="ingest_mount_sample",
    about=(
        "Where the time of a file system of another machine goes, as its client counts it; what "
        "it carries is in `diskio`.\nThe subject is `server:export`. By these times it is told "
        "whether the client waits."
    ),
    longest_subject=LONGEST_PATH,
    fields=(
        _counter("read_rtt", "ms", "Time from sending a read to its answer"),
        _counter("write_rtt", "ms", "Time from sending a write to its answer"),
        _counter("read_queue", "ms", "Time that reads waited to be sent"),
        _counter("write_queue", "ms", "Time that writes waited to be sent"),
        _counter("read_retransmits", "requests", "Reads that were sent again"),
        _counter("write_retransmits", "requests", "Writes that were sent again"),
    ),
)
VDISK = Measurement(
    name="vdisk",
    table="ingest_vdisk_sample",
    about=(
        "How long the I/Os of a workload's virtual disk took, as the hypervisor counts it; what "
        "it carries is in `cgroup`.\nThe subject is the workload, such as `qemu/101`; the tag "
        "`device` is its disk, such as `scsi0`.\nBy these times it is told whether the workload "
        "waits."
    ),
    longest_subject=LONGEST_PATH,
    fields=(
        _counter("reads", "I/Os", "Reads that completed"),
        _counter("writes", "I/Os", "Writes that completed"),
        _counter("read_time", "ns", "Time that all completed reads took"),
        _counter("write_time", "ns", "Time that all completed writes took"),
        _counter("flushes", "I/Os", "Flushes that completed"),
        _counter("flush_time", "ns", "Time that all flushes took"),
        _whole("in_flight", "I/Os", "I/Os in flight when the sample was taken"),
    ),
)
GAUGE = Measurement(
    name="gauge",
    table="ingest_gauge_sample",
    about=(
        "Fields without a canonical figure, as they were sent; the tag `field` is "
        "their name. The page of an incident "
        "splits a latency by the kernel, queue and guest latency of ESXi, and so does that of a "
        "workload; nothing else is derived from them."
    ),
    longest_subject=LONGEST_PATH,
    fields=(_number("value", "as sent", "A field that has no canonical figure"),),
)
MEASUREMENTS = (
    DISKIO,
    NET,
    CGROUP,
    CGROUP_COST,
    CGROUP_PRESSURE,
    SYSTEM,
    COLLECTOR,
    SCSI_RESERVATION,
    NSTAT,
    BLOCK_DEVICE,
    MOUNT,
    VDISK,
    GAUGE,
)
