"""Mounts of NFS as `inputs.nfsclient` of Telegraf sends them, from `/proc/self/mountstats`.

A mount is known by `server:export`: one that is mounted twice is counted by the kernel once and
sent twice, with the same numbers.
"""

from __future__ import annotations

from ingest.core.catalogue import CGROUP, DISKIO, MOUNT
from ingest.core.mapping import (
    Head,
    Source,
    Tags,
    all_of,
    columns,
    facts,
    host_of,
    nowhere,
    required,
    series,
)

NAME = "nfs"
CLIENT = "mount"
"""The workload that a host itself is, on the exports that it mounts."""
_OPERATIONS = {"READ": "read", "WRITE": "write"}
# Telegraf before 1.21 had the operation in the names.
_OLD = {"nfsstat_read": ("read", "read_"), "nfsstat_write": ("write", "write_")}


def _client(operation: str, prefix: str) -> dict[str, str]:
    """The same transfers as those of the host, the workload that uses the export."""
    letter = operation[0]
    return {f"{prefix}ops": f"{letter}ios", f"{prefix}bytes": f"{letter}bytes"}


def _head(measurement: str, tags: Tags) -> Head:
    host, export = host_of(tags), required(tags, "serverexport", of=measurement)
    operation, prefix = _OLD.get(measurement, (_OPERATIONS.get(tags.get("operation", "")), ""))
    said = facts(
        host, "mount", export, [("export", export), ("mountpoint", tags.get("mountpoint"))]
    )
    if operation is None:
        return Head(host=host, place=nowhere, facts=said)
    own = {"host": host, "name": export}
    client = {"host": host, "workload": CLIENT, "device": export}
    transfers = {
        f"{prefix}ops": f"{operation}s",
        f"{prefix}bytes": f"{operation}_bytes",
        f"{prefix}exe": f"{operation}_time",
    }
    waits = {
        f"{prefix}rtt": f"{operation}_rtt",
        f"{prefix}queue_time": f"{operation}_queue",
        f"{prefix}retrans": f"{operation}_retransmits",
    }
    return Head(
        host=host,
        place=all_of(
            columns(series(DISKIO, host, export, own, source=NAME), transfers),
            columns(series(CGROUP, host, CLIENT, client, source=NAME), _client(operation, prefix)),
            columns(series(MOUNT, host, export, own, source=NAME), waits),
        ),
        facts=said,
    )


SOURCE = Source(
    name=NAME,
    measurements=frozenset(
        {
            "nfsstat",
            "nfsstat_read",
            "nfsstat_write",
            "nfs_ops",
            "nfs_bytes",
            "nfs_events",
            "nfs_xprt_tcp",
            "nfs_xprt_udp",
        }
    ),
    head=_head,
)
