"""Proxmox VE's metric server, as the type `influxdb` of `/etc/pve/status.cfg` sends it.

Every key of a status becomes a measurement and what is under it an instance, so that measurements
are not a fixed list (pve-manager, `PVE/Status/InfluxDB.pm`). The tag `host` is the name of a node,
of a virtual machine or of a storage, whatever `object` says; the node is `nodename`.
"""

from __future__ import annotations

from collections.abc import Callable

from ingest.core.catalogue import NET, SYSTEM
from ingest.core.mapping import (
    FactField,
    Head,
    Place,
    Source,
    Tags,
    columns,
    facts,
    gauges,
    host_of,
    nowhere,
    required,
    series,
)
from ingest.core.qemu_counters import disk_counters

NAME = "proxmox"
KINDS = {"qemu": "vm", "lxc": "container"}
_NODE_NIC = {"receive": "bytes_recv", "transmit": "bytes_sent"}
# What the guest gets is what the host sends into its interface.
_GUEST_NIC = {"netin": "bytes_sent", "netout": "bytes_recv"}
_KEPT_OF_NODES = frozenset({"cpustat", "memory", "blockstat"})
_OF_STORAGE = frozenset({"total", "used", "avail"})


def _head(measurement: str, tags: Tags) -> Head | None:
    kind = tags.get("object")
    if kind == "nodes":
        return _of_node(measurement, tags)
    if kind == "storages":
        return _of_storage(tags)
    return _of_guest(measurement, tags, kind) if kind in KINDS else None


def _of_node(measurement: str, tags: Tags) -> Head:
    host, instance = host_of(tags), tags.get("instance", "")
    if measurement == "nics":
        key = series(NET, host, instance, {"host": host, "interface": instance}, source=NAME)
        return Head(host=host, place=columns(key, _NODE_NIC))
    if measurement == "system":
        return Head(
            host=host, place=columns(series(SYSTEM, host, "", {"host": host}, source=NAME))
        )
    if measurement in _KEPT_OF_NODES:
        return Head(host=host, place=gauges(host, measurement, {}, source=NAME))
    return Head(host=host, place=nowhere)


def _of_storage(tags: Tags) -> Head:
    host, storage = host_of(tags, "nodename"), required(tags, "host", of="a storage")
    subject, own = f"storage/{storage}", {"storage": storage}
    return Head(
        host=host,
        place=gauges(host, subject, own, source=NAME, only=_OF_STORAGE),
        facts=facts(host, "storage", storage, [("type", tags.get("type"))]),
    )


def _of_guest(measurement: str, tags: Tags, kind: str) -> Head:
    host, vmid = host_of(tags, "nodename"), required(tags, "vmid", of=measurement)
    guest, instance = f"{kind}/{vmid}", tags.get("instance", "")
    said = [("name", tags.get("host")), ("vmid", vmid), ("kind", KINDS[kind])]
    place: Callable[[str], Place] = nowhere
    if measurement == "blockstat":
        place = disk_counters(host, guest, instance, source=NAME)
        said.append((f"disk.{instance}", instance))
    elif measurement == "nics":
        key = series(NET, host, instance, {"host": host, "interface": instance}, source=NAME)
        place = columns(key, _GUEST_NIC)
        said.append((f"nic.{instance}", instance))
    elif measurement == "system":
        states = ("status", "tags")
        place = lambda field: (  # noqa: E731
            FactField(host=host, kind="workload", subject=guest, name=field)
            if field in states
            else None
        )
    return Head(host=host, place=place, facts=facts(host, "workload", guest, said))


SOURCE = Source(
    name=NAME,
    measurements=frozenset({"system", "blockstat", "nics", "cpustat", "memory", "*"}),
    head=_head,
)
