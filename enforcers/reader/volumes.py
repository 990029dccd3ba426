"""Which block device is which persistent volume of Kubernetes, by what the kubelet mounts."""

import re

from enforcers.reader.host_tree import HostTree

# The mounts of the machine, also for an agent in a container that sees its processes.
MOUNTS = "/proc/1/mountinfo"
MOST = 32
# Where a volume of a CSI driver is mounted for a pod, whatever the kubelet's folder is.
_POINT = re.compile(r"/kubernetes\.io~csi/(?P<volume>[^/]+)/mount")
# Where a volume without a file system is, as the device itself.
_DEVICE = re.compile(
    r"/kubernetes\.io/csi/volumeDevices/(?:publish/(?P<volume>[^/]+)|(?P<older>[^/]+)/dev)/[^/]+"
)
_NO_DEVICE = "0:"


def volume_at(point: str) -> str | None:
    """The persistent volume whose file system is mounted here for a pod; None if none is."""
    found = _POINT.search(point)
    return found["volume"] if found and found.end() == len(point) else None


def read_volumes(tree: HostTree) -> dict[str, tuple[str, ...]]:
    """The persistent volumes on each device, by its numbers or, without a file system, its name.

    Of a device with very many, as where volumes are folders of one disk, only some are named.
    """
    found: dict[str, set[str]] = {}
    for line in tree.lines(MOUNTS):
        words = line.split(" ", 5)
        if len(words) < 6:
            continue
        majmin, root, point = words[2:5]
        if (volume := volume_at(point)) and not majmin.startswith(_NO_DEVICE):
            found.setdefault(majmin, set()).add(volume)
        elif device := _DEVICE.search(point):
            found.setdefault(root.lstrip("/"), set()).add(device["volume"] or device["older"])
    return {of: tuple(sorted(volumes)[:MOST]) for of, volumes in found.items()}
