"""The bodies that Proxmox VE's metric server posts, made by the rules of `PVE/Status/InfluxDB.pm`.

Plain values of a status are one line of the measurement `system`. A hash in it is a measurement
of its own and a hash within that an instance of it; what is deeper is one flat list. Numbers are
bare, text is quoted, and so are names and tags that look like numbers. No Proxmox was at hand: the
statuses are as qemu-server and pvestatd make them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

MOST_BYTES: Final = 25_000_000
Status = Mapping[str, object]
_NUMBER = re.compile(r"[+-]?(?=\.?\d)\d*\.?\d*(?:[Ee][+-]?\d+)?")
_ALWAYS_TEXT = ("name", "tags")


def payload(
    status: Status, tags: str, at_s: int, *, excluded: str = "", place: tuple[str, ...] = ()
) -> Iterator[str]:
    """The lines of one status; `place` is the measurement and the instance that it belongs to."""
    values = []
    for key, value in sorted(status.items()):
        if key == excluded:
            continue
        if not isinstance(value, Mapping):
            values += _pair(key, value, as_text=key in _ALWAYS_TEXT)
        elif len(place) < 2:
            yield from payload(value, tags, at_s, excluded=excluded, place=(*place, key))
        else:
            values += _flat(value)
    if values:
        measurement, *instance = place or ("system",)
        of_instance = "".join(f",instance={name}" for name in instance)
        yield f"{measurement},{tags}{of_instance} {','.join(values)} {at_s * 10**9}"


def _flat(status: Status) -> list[str]:
    return [
        pair
        for key, value in status.items()
        for pair in (_flat(value) if isinstance(value, Mapping) else _pair(key, value))
    ]


def _pair(key: str, value: object, *, as_text: bool = False) -> list[str]:
    if value is None or value == "":
        return []
    text = str(value)
    if _NUMBER.fullmatch(text) and not as_text:
        return [f"{key}={text}"]
    escaped = text.replace('"', '\\"')
    return [f'{key}="{escaped}"']


def guest(
    vmid: int, name: str, *, node: str, at_s: int, reads: int, read_time_ns: int
) -> Iterator[str]:
    """A running virtual machine with one disk and one interface, as `qemu` status has it."""
    disk = {
        "rd_operations": reads, "wr_operations": reads // 2, "flush_operations": 3,
        "rd_bytes": reads * 4096, "wr_bytes": reads * 2048, "rd_total_time_ns": read_time_ns,
        "wr_total_time_ns": read_time_ns // 2, "flush_total_time_ns": 900, "unmap_bytes": 0,
        "unmap_operations": 0, "unmap_merged": 0, "unmap_total_time_ns": 0, "rd_merged": 0,
        "wr_merged": 0, "failed_rd_operations": 0, "failed_wr_operations": 0,
        "failed_flush_operations": 0, "failed_unmap_operations": 0, "invalid_rd_operations": 0,
        "invalid_wr_operations": 0, "invalid_flush_operations": 0, "invalid_unmap_operations": 0,
        "account_failed": 1, "account_invalid": 1, "idle_time_ns": 120_000,
        "wr_highest_offset": 3_221_225_472,
    }  # fmt: skip
    status: Status = {
        "status": "running", "name": name, "vmid": vmid, "cpus": 2, "cpu": 0.0123456789012345,
        "mem": 1_073_741_824, "maxmem": 2_147_483_648, "disk": 0, "maxdisk": 34_359_738_368,
        "diskread": reads * 4096, "diskwrite": reads * 2048, "netin": 1000, "netout": 2000,
        "uptime": 12_345, "pid": 4242, "qmpstatus": "running", "running-qemu": "9.0.2",
        "running-machine": "pc-i440fx-9.0+pve0",
        "proxmox-support": {"pbs-dirty-bitmap": 1, "query-bitmap-info": 1},
        "ballooninfo": {"actual": 2_147_483_648, "max_mem": 2_147_483_648},
        "blockstat": {"scsi0": disk}, "nics": {f"tap{vmid}i0": {"netin": 1000, "netout": 2000}},
        "tags": "prod;db", "template": "", "lock": None,
    }  # fmt: skip
    tags = f"object=qemu,vmid={vmid},nodename={node},host={name}"
    yield from payload(status, tags, at_s, excluded="vmid")


def node(name: str, *, at_s: int, received: int) -> Iterator[str]:
    """A node itself, as `pvestatd` reads it."""
    status: Status = {
        "uptime": 345_678,
        "cpustat": {"cpus": 16, "avg1": 1.5, "avg5": 1.25, "avg15": 1, "user": 3456, "iowait": 78,
                    "cpu": 0.21, "wait": 0.01},
        "memory": {"memtotal": 67_430_000_000, "memfree": 17_000_000_000},
        "blockstat": {"blocks": 98_831_360, "bfree": 90_831_360, "used": 8_000_000, "per": 8},
        "nics": {"eno1": {"receive": received, "transmit": received // 2}},
    }  # fmt: skip
    yield from payload(status, f"object=nodes,host={name}", at_s)


def storage(name: str, *, node: str, at_s: int) -> Iterator[str]:
    """A storage as one of the nodes sees it."""
    status: Status = {
        "active": 1, "avail": 700, "content": "images,rootdir", "enabled": 1, "shared": 1,
        "total": 1000, "type": "nfs", "used": 300,
    }  # fmt: skip
    tags = f"object=storages,nodename={node},host={name},type=nfs"
    yield from payload(status, tags, at_s)


def bodies(lines: Iterable[str], *, most_bytes: int = MOST_BYTES) -> Iterator[bytes]:
    """What is posted: lines gather as long as they fit into `most_bytes`."""
    gathered: list[str] = []
    length = 0
    for line in lines:
        if length + len(line) + 1 > most_bytes:
            yield "".join(gathered).encode()
            gathered, length = [], 0
        gathered.append(f"{line}\n")
        length += len(line) + 1
    if gathered:
        yield "".join(gathered).encode()
