"""What a block device is: identity, size, queue, and on which devices it lies."""

import re

from enforcers.reader.host_tree import HostTree
from enforcers.reader.line import whole

SECTOR_BYTES = 512
# Where sysfs spells a name of several parts.
_SLASH = "!"
_DM_LAYERS = (
    ("LVM-", "lvm"),
    ("CRYPT-", "luks"),
    ("mpath-", "multipath"),
    ("part", "partition"),
)
_NAMED_LAYERS = (("md", "md"), ("rbd", "rbd"), ("nbd", "nbd"), ("bcache", "bcache"))
_ADDRESS = re.compile(r"\d+:\d+:\d+:(\d+)$")
_BUSES = (
    (re.compile(r"/session\d+/"), "iscsi"),
    (re.compile(r"/rport-\d"), "fc"),
    (re.compile(r"/end_device-\d"), "sas"),
    (re.compile(r"/usb\d"), "usb"),
    (re.compile(r"/ata\d"), "sata"),
    (re.compile(r"/virtio\d"), "virtio"),
    (re.compile(r"/mmc_host/"), "mmc"),
)

Facts = dict[str, tuple[str, ...]]


def device_facts(tree: HostTree, name: str, majmin: str) -> Facts:
    """Facts by name, each with its values: a layer can have several parents."""
    folder = f"/sys/class/block/{name.replace('/', _SLASH)}"
    place = tree.resolved(folder)
    is_partition = tree.has(f"{place}/partition")
    facts: dict[str, str | None] = {
        "majmin": majmin,
        "size_bytes": _size(tree, place),
        "layer": _layer(tree, place, name, is_partition=is_partition),
        "uuid": _first(tree, f"{place}/dm/uuid", f"{place}/md/uuid", f"{place}/uuid"),
    }
    if not is_partition:
        facts |= _hardware(tree, place) | _queue(tree, place) | _path(tree, place)
    found: Facts = {key: (value,) for key, value in facts.items() if value}
    if parents := _parents(tree, place, is_partition=is_partition):
        found["parent"] = parents
    return found


def wwid(tree: HostTree, name: str) -> str | None:
    """What Telegraf's input `diskio` sends as the tag `wwid`."""
    folder = f"/sys/class/block/{name.replace('/', _SLASH)}"
    return _first(tree, f"{folder}/wwid")


def _hardware(tree: HostTree, place: str) -> dict[str, str | None]:
    serial = _first(tree, f"{place}/device/serial", f"{place}/serial")
    return {
        "wwn": _first(tree, f"{place}/wwid", f"{place}/device/wwid"),
        "serial": serial or _page_80(tree, place),
        "nguid": _first(tree, f"{place}/nguid"),
        "model": _first(tree, f"{place}/device/model"),
        "vendor": _vendor(tree, place),
    }


def _queue(tree: HostTree, place: str) -> dict[str, str | None]:
    scheduler = tree.text(f"{place}/queue/scheduler")
    chosen = re.search(r"\[([^\]]+)\]", scheduler)
    return {
        "queue_depth": _first(tree, f"{place}/device/queue_depth"),
        "nr_requests": _first(tree, f"{place}/queue/nr_requests"),
        "scheduler": chosen[1] if chosen else scheduler.strip() or None,
        "rotational": _first(tree, f"{place}/queue/rotational"),
    }


def _path(tree: HostTree, place: str) -> dict[str, str | None]:
    """How the host reaches the device."""
    facts: dict[str, str | None] = {"transport": _transport(tree, place)}
    session = re.search(r"/(session\d+)/", place)
    # A partition of the path, HOST:CHANNEL:TARGET:LUN, is the device's own folder.
    lun = _ADDRESS.search(tree.resolved(f"{place}/device"))
    if session and lun:
        target = _first(tree, f"/sys/class/iscsi_session/{session[1]}/targetname")
        facts["iscsi"] = f"{target}/{lun[1]}" if target else None
    pool = _first(tree, f"{place}/device/pool")
    image = _first(tree, f"{place}/device/name")
    if pool and image:
        space = _first(tree, f"{place}/device/pool_ns")
        facts["rbd"] = "/".join(part for part in (pool, space, image) if part)
        facts["ceph_fsid"] = _first(tree, f"{place}/device/cluster_fsid")
    return facts


def _transport(tree: HostTree, place: str) -> str | None:
    nvme = _first(tree, f"{place}/device/transport")
    if nvme:
        return "nvme" if nvme == "pcie" else f"nvme-{nvme}"
    return next((bus for pattern, bus in _BUSES if pattern.search(place)), None)


def _layer(tree: HostTree, place: str, name: str, *, is_partition: bool) -> str | None:
    if is_partition:
        return "partition"
    uuid = _first(tree, f"{place}/dm/uuid")
    if uuid or tree.has(f"{place}/dm"):
        starts = ((start, layer) for start, layer in _DM_LAYERS if (uuid or "").startswith(start))
        return next((layer for _, layer in starts), "dm")
    return next((layer for start, layer in _NAMED_LAYERS if name.startswith(start)), None)


def _parents(tree: HostTree, place: str, *, is_partition: bool) -> tuple[str, ...]:
    if is_partition:
        return (place.split("/")[-2].replace(_SLASH, "/"),)
    return tuple(one.replace(_SLASH, "/") for one in tree.names(f"{place}/slaves"))


def _size(tree: HostTree, place: str) -> str | None:
    sectors = whole(_first(tree, f"{place}/size") or "")
    return str(sectors * SECTOR_BYTES) if sectors else None


def _vendor(tree: HostTree, place: str) -> str | None:
    """Who made it; virtio has a number of PCI there, which says nothing of the disk."""
    found = _first(tree, f"{place}/device/vendor")
    return None if found and found.startswith("0x") else found


def _page_80(tree: HostTree, place: str) -> str | None:
    """The serial number of a SCSI device: a head of four bytes, then text."""
    page = tree.read(f"{place}/device/vpd_pg80") or b""
    length = int.from_bytes(page[2:4], "big")
    text = page[4 : 4 + length].decode("ascii", "replace")
    return text.strip(" \0") or None if text.isprintable() else None


def _first(tree: HostTree, *paths: str) -> str | None:
    """The first of these files that says something."""
    return next((found for path in paths if (found := tree.word(path))), None)
