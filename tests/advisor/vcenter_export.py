"""An export of a vCenter as `govc collect -json` writes it, with the names of the public API.

Written by us, in the form in which govc 0.52 exports the simulator: without the types of values.
The simulator has no method for all of what is stated here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GIB = 1024**3
CONTROLLER = 1000


def uuid_of(number: int) -> str:
    return f"42113c5e-8f1d-7a3b-2c4d-9e8f7a6b{number:04x}"


def disk(
    key: int = 2000, *, unit: int = 0, store: str = "datastore-1", level: str = "normal",
    shares: int = 1000, limit: int = -1, reservation: int = 0, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """A virtual disk of the controller `scsi0`."""
    return {
        "key": key,
        "controllerKey": CONTROLLER,
        "unitNumber": unit,
        "capacityInKB": 10 * GIB // 1024,
        "capacityInBytes": 10 * GIB,
        "deviceInfo": {"label": f"Hard disk {unit + 1}"},
        "backing": {
            "datastore": {"type": "Datastore", "value": store},
        },
        "storageIOAllocation": {
            "limit": limit,
            "shares": {"shares": shares, "level": level},
            "reservation": reservation,
        },
        **more,
    }


def guest(
    number: int, *disks: dict[str, Any], name: str | None = None, host: int = 1, **more: Any
) -> dict[str, Any]:
    """A virtual machine with the number `vm-<number>`."""
    controller = {
        "key": CONTROLLER,
        "deviceInfo": {"label": "SCSI controller 0"},
        "busNumber": 0,
        "scsiCtlrUnitNumber": 7,
    }
    values = {
        "name": name or f"vm{number}",
        "config.uuid": uuid_of(number),
        "config.template": False,
        "config.hardware.device": {
            "_value": [controller, *disks],
        },
        "runtime.host": {"type": "HostSystem", "value": f"host-{host}"},
        **more,
    }
    return content("VirtualMachine", f"vm-{number}", values)


def esx(number: int) -> dict[str, Any]:
    return content("HostSystem", f"host-{number}", {"name": f"esx{number}"})


def datastore(
    number: int = 1, *, name: str = "nfs-08", hosts: tuple[int, ...] = (1, 2), **iorm: Any
) -> dict[str, Any]:
    """A datastore; `iorm` are the fields of its `StorageIORMInfo`."""
    mounts = [{"key": {"type": "HostSystem", "value": f"host-{host}"}} for host in hosts]
    values = {
        "name": name,
        "summary.capacity": 1000 * GIB,
        "host": {"_value": mounts},
        "iormConfiguration": {"enabled": False, **iorm},
    }
    return content("Datastore", f"datastore-{number}", values)


def pod(config: dict[str, Any], *guests: dict[str, Any]) -> dict[str, Any]:
    """A datastore cluster with its `podConfig` and `vmConfig`."""
    values = {
        "name": "gold",
        "podStorageDrsEntry.storageDrsConfig": {"podConfig": config, "vmConfig": list(guests)},
    }
    return content("StoragePod", "group-p1", values)


def content(kind: str, moid: str, values: dict[str, Any]) -> dict[str, Any]:
    """One object of `govc collect -json -type`."""
    changes = [{"name": name, "op": "assign", "val": value} for name, value in values.items()]
    return {"kind": "enter", "obj": {"type": kind, "value": moid}, "changeSet": changes}


def export(*objects: dict[str, Any]) -> str:
    """Objects one after the other, as the command prints them."""
    return "\n".join(json.dumps(one) for one in (esx(1), esx(2), *objects)) + "\n"


def written(folder: Path, *objects: dict[str, Any], name: str = "vcenter.json") -> Path:
    path = folder / name
    path.write_text(export(*objects))
    return path
