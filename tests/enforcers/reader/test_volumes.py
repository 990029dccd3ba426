"""Which device is which persistent volume: file systems and plain devices."""

from __future__ import annotations

from pathlib import Path

from enforcers.reader.host_tree import HostTree
from enforcers.reader.volumes import MOST, MOUNTS, read_volumes
from tests.enforcers.reader.trees import plant

KUBELET = "/var/lib/kubelet"
UID = "8a5f2c1e-1b2c-4d3e-9f00-0123456789ab"


def mounted(majmin: str, point: str, *, root: str = "/", kind: str = "ext4") -> str:
    return f"50 27 {majmin} {root} {point} rw,relatime shared:1 - {kind} /dev/x rw\n"


def of_pod(volume: str, kubelet: str = KUBELET) -> str:
    return f"{kubelet}/pods/{UID}/volumes/kubernetes.io~csi/{volume}/mount"


def volumes(root: Path, *lines: str) -> dict[str, tuple[str, ...]]:
    return read_volumes(HostTree(str(plant(root, {MOUNTS: "".join(lines)}))))


def test_file_system_of_a_volume_is_known_by_the_numbers_of_its_device(tmp_path: Path) -> None:
    found = volumes(
        tmp_path,
        mounted("8:16", of_pod("pvc-1")),
        # Two pods of one node use the same volume.
        mounted("8:16", of_pod("pvc-1").replace(UID, UID[::-1])),
        mounted("253:3", of_pod("pvc-2", "/var/snap/k8s/common/kubelet")),
        mounted("8:1", "/"),
    )

    assert found == {"8:16": ("pvc-1",), "253:3": ("pvc-2",)}


def test_volume_without_a_file_system_is_known_by_the_name_of_its_device(tmp_path: Path) -> None:
    folder = f"{KUBELET}/plugins/kubernetes.io/csi/volumeDevices"

    found = volumes(
        tmp_path,
        mounted("0:5", f"{folder}/publish/pvc-1/{UID}", root="/sdb", kind="devtmpfs"),
        mounted("0:5", f"{folder}/pvc-1/dev/{UID}", root="/sdb", kind="devtmpfs"),
    )

    assert found == {"sdb": ("pvc-1",)}


def test_volume_on_a_network_has_no_device_here(tmp_path: Path) -> None:
    assert volumes(tmp_path, mounted("0:45", of_pod("pvc-1"), kind="nfs4")) == {}


def test_lines_of_another_shape_are_left_out(tmp_path: Path) -> None:
    other = "/kubernetes.io~csi/pvc-1/mount/below"

    assert volumes(tmp_path, "\n", "50 27 8:16 /\n", mounted("8:16", other)) == {}


def test_disk_whose_folders_are_volumes_names_some(tmp_path: Path) -> None:
    many = [mounted("8:1", of_pod(f"pvc-{number:03}")) for number in range(MOST + 9)]

    (found,) = volumes(tmp_path, *many).values()

    assert found == tuple(f"pvc-{number:03}" for number in range(MOST))
