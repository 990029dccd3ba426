"""What a QEMU process was started with: the guest's name, disks and NICs. Pure.

Only what is named here is taken from the command line; passwords and keys can stand beside it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_DEEPEST = 8
_USER = re.compile(r"(?<=:)//[^/]*@")
_WEB = re.compile(r"(?:https?|ftps?)://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A virtual machine; `disks` are places by instance, `nics` tap devices by instance.

    `nic_fds` are file descriptors of the process behind which a tap device is, `monitors` the
    sockets at which it answers QMP.
    """

    name: str | None
    uuid: str | None
    vmid: str | None
    disks: dict[str, str]
    nics: dict[str, str]
    nic_fds: dict[str, str]
    monitors: tuple[str, ...] = ()


def read_guest(argv: list[str]) -> Guest:
    """The guest of a command line."""
    said = list(_options(argv))
    nodes = _block_nodes(said)
    drives = _drives(said)
    disks = {}
    for device in (value for option, value in said if option == "device"):
        drive = device.get("drive")
        if not isinstance(drive, str):
            continue
        place = drives.get(drive) or _place(nodes.get(drive), nodes, depth=0)
        if place:
            disks[_instance(device.get("id") or drive)] = place
    for drive, place in drives.items():
        if not any(item.get("drive") == drive for option, item in said if option == "device"):
            disks.setdefault(_instance(drive), place)
    netdevs = [value for option, value in said if option == "netdev"]
    name, vmid, uuid = (_first(said, option) for option in ("name", "id", "uuid"))
    return Guest(
        name=_text(name, "guest") or _text(name, ""),
        uuid=_text(uuid, ""),
        vmid=_text(vmid, ""),
        disks=disks,
        nics={
            str(dev["id"]): str(dev["ifname"])
            for dev in netdevs
            if "ifname" in dev and "id" in dev
        },
        nic_fds={str(dev["id"]): str(dev["fd"]) for dev in netdevs if "fd" in dev and "id" in dev},
        monitors=tuple(_monitors(said)),
    )


def _options(argv: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every option with its value, as keys and values; a bare first word has the key ``."""
    for option, value in pairwise(argv):
        if option.startswith("-"):
            yield option.lstrip("-"), _value(value)


def _value(text: str) -> dict[str, Any]:
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}
    found = {}
    # A comma within a value is written twice.
    for number, part in enumerate(text.replace(",,", "\0").split(",")):
        key, equals, value = part.partition("=")
        if equals:
            found[key] = value.replace("\0", ",")
        elif number == 0:
            found[""] = part.replace("\0", ",")
        elif part:
            found[part] = "on"
    return found


def _monitors(said: list[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    """Sockets where QEMU waits for a client, by `-qmp` and by `-mon` with its `-chardev`.

    One that QEMU itself connects to belongs to somebody, and so does an open file.
    """
    servers = {
        str(value.get("id")): _text(value, "path")
        for option, value in said
        if option == "chardev" and _text(value, "") == "socket" and _is_server(value)
    }
    for option, value in said:
        if option == "qmp" and _is_server(value):
            scheme, _, place = (_text(value, "") or "").partition(":")
            yield from _absolute(place if scheme == "unix" else None)
        elif option == "mon" and value.get("mode") == "control":
            yield from _absolute(servers.get(_text(value, "chardev") or _text(value, "") or ""))


def _is_server(value: dict[str, Any]) -> bool:
    return value.get("server") in ("on", "yes", True)


def _absolute(place: str | None) -> Iterator[str]:
    if place and place.startswith("/"):
        yield place


def _first(said: list[tuple[str, dict[str, Any]]], option: str) -> dict[str, Any]:
    return next((value for name, value in said if name == option), {})


def _text(value: dict[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) and found else None


def _drives(said: list[tuple[str, dict[str, Any]]]) -> dict[str, str]:
    """The places of `-drive`, by its id."""
    places = {}
    drives = (value for option, value in said if option == "drive")
    for number, drive in enumerate(drives):
        file = drive.get("file") or drive.get("file.filename")
        if isinstance(file, str) and (place := spelled_place(file)):
            places[str(drive.get("id") or f"drive{number}")] = place
    return places


def _block_nodes(said: list[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The nodes of `-blockdev`, by name."""
    return {
        value["node-name"]: _nested(value)
        for option, value in said
        if option == "blockdev" and isinstance(value.get("node-name"), str)
    }


def _nested(value: dict[str, Any]) -> dict[str, Any]:
    """Keys like `file.filename` as dictionaries within."""
    nested: dict[str, Any] = {}
    for key, item in value.items():
        *folders, last = key.split(".")
        place = nested
        for folder in folders:
            below = place.setdefault(folder, {})
            place = below if isinstance(below, dict) else {}
        place[last] = item
    return nested


def _place(node: Any, nodes: dict[str, dict[str, Any]], *, depth: int) -> str | None:
    """Where a block node's data lies, through formats and filters down to its file."""
    if isinstance(node, str):
        node = nodes.get(node)
    if not isinstance(node, dict) or depth > _DEEPEST:
        return None
    match node.get("driver"):
        case "rbd":
            parts = [node.get("pool"), node.get("namespace"), node.get("image")]
            return "rbd:" + "/".join(str(part) for part in parts if part)
        case "iscsi":
            return f"iscsi:{node.get('target')}/{node.get('lun', 0)}"
        case _:
            pass
    if isinstance(file := node.get("filename"), str):
        return spelled_place(file)
    return _place(node.get("file"), nodes, depth=depth + 1)


def spelled_place(file: str) -> str | None:
    """A place without the secrets beside it: keys of Ceph, passwords and signatures."""
    if file.startswith("json:"):
        return _place(_nested(_value(file.removeprefix("json:"))), {}, depth=0)
    if file.startswith("rbd:"):
        return ":".join(file.split(":", 2)[:2])
    if _WEB.match(file):
        file = file.partition("?")[0]
    return _USER.sub("//", file)


def _instance(name: str) -> str:
    return str(name).removeprefix("drive-")
