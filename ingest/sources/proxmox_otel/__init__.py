"""Proxmox VE's metric server of the type `opentelemetry`, sent over OTLP.

The drive of a guest is a part of the metric's name, as in
`proxmox_vm_blockstat_scsi0_rd_total_time_ns_total` (pve-manager, `PVE/Status/OpenTelemetry.pm`).
The node is the attribute `node`, or `proxmox.node` of the resource.
"""

from __future__ import annotations

import re

from ingest.core.catalogue import NET
from ingest.core.mapping import (
    Cell,
    Head,
    Place,
    Source,
    Tags,
    facts,
    host_of,
    nowhere,
    required,
    series,
)
from ingest.core.qemu_counters import disk_counters

NAME = "proxmox_otel"
KINDS = {"qemu": "vm", "lxc": "container"}
_DRIVE = re.compile(r"proxmox_vm_blockstat_([a-z]+[0-9]+)_(\w+?)(?:_total)?")
_NODE_NIC = {
    "proxmox_node_network_receive_total": "bytes_recv",
    "proxmox_node_network_transmit_total": "bytes_sent",
}


def _head(measurement: str, tags: Tags) -> Head:
    host = tags.get("node") or host_of(tags, "proxmox.node")
    if column := _NODE_NIC.get(measurement):
        name = required(tags, "device", of=measurement)
        key = series(NET, host, name, {"host": host, "interface": name}, source=NAME)
        return _of_value(host, Cell(series=key, column=column))
    drive = _DRIVE.fullmatch(measurement)
    if drive is None or "vmid" not in tags:
        return Head(host=host, place=nowhere)
    return _of_drive(host, tags, drive[1], drive[2])


def _of_drive(host: str, tags: Tags, device: str, key: str) -> Head:
    kind = tags.get("type", "qemu")
    guest = f"{kind}/{tags['vmid']}"
    said = [
        ("name", tags.get("name")),
        ("vmid", tags["vmid"]),
        ("kind", KINDS.get(kind, "vm")),
        (f"disk.{device}", device),
    ]
    place = _of_value(host, disk_counters(host, guest, device, source=NAME)(key)).place
    return Head(host=host, place=place, facts=facts(host, "workload", guest, said))


def _of_value(host: str, found: Place) -> Head:
    return Head(host=host, place=lambda field: found if field == "value" else None)


SOURCE = Source(name=NAME, measurements=frozenset({"proxmox_vm_*", "proxmox_node_*"}), head=_head)
