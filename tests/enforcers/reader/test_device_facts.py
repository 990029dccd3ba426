"""What a device is, on trees like those of real machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from enforcers.reader.device_facts import Facts, device_facts
from enforcers.reader.host_facts import host_facts, nic_facts
from enforcers.reader.host_tree import HostTree
from tests.enforcers.reader.trees import Link, plant, untar

Files = dict[str, str | bytes | Link]
SCSI = "/sys/devices/pci0000:00/0000:03:00.0/host6/session1/target6:0:0/6:0:0:5"


def block(name: str, folder: str, files: Files) -> Files:
    """A device's folder, and the link to it in `/sys/class/block`."""
    place = f"{folder}/block/{name}" if folder else f"/sys/devices/virtual/block/{name}"
    planted: Files = {f"{place}/{path}": content for path, content in files.items()}
    planted[f"/sys/class/block/{name}"] = Link(f"../../{place.removeprefix('/sys/')}")
    return planted


def facts(root: Path, name: str, files: Files) -> Facts:
    return device_facts(HostTree(str(plant(root, files))), name, "8:16")


def single(found: Facts) -> dict[str, str]:
    return {key: value for key, (value,) in found.items()}


def test_lun_behind_iscsi(tmp_path: Path) -> None:
    files = block(
        "sdb",
        SCSI,
        {
            "size": "2097152\n",
            "device": Link("../../../6:0:0:5"),
            "queue/scheduler": "none [mq-deadline] kyber\n",
            "queue/nr_requests": "256\n",
            "queue/rotational": "0\n",
        },
    )
    files |= {
        f"{SCSI}/wwid": "naa.600140512345678\n",
        f"{SCSI}/model": "VIRTUAL-DISK    \n",
        f"{SCSI}/vendor": "LIO-ORG \n",
        f"{SCSI}/queue_depth": "128\n",
        f"{SCSI}/vpd_pg80": b"\0\x80\0\x08ABCD1234",
        "/sys/class/iscsi_session/session1/targetname": "iqn.2003-01.org.x:store\n",
    }

    # 2,097,152 sectors of 512 bytes are 1 GiB.
    assert single(facts(tmp_path, "sdb", files)) == {
        "majmin": "8:16", "size_bytes": "1073741824", "wwn": "naa.600140512345678",
        "serial": "ABCD1234", "model": "VIRTUAL-DISK", "vendor": "LIO-ORG", "queue_depth": "128",
        "nr_requests": "256", "scheduler": "mq-deadline", "rotational": "0",
        "transport": "iscsi", "iscsi": "iqn.2003-01.org.x:store/5",
    }  # fmt: skip


def test_namespace_of_nvme(tmp_path: Path) -> None:
    folder = "/sys/devices/pci0000:00/0000:04:00.0/nvme/nvme0"
    files: Files = {
        f"{folder}/nvme0n1/{path}": content
        for path, content in {
            "size": "8\n", "wwid": "eui.0025385b71b1a2c3\n", "nguid": "0025385b-71b1-a2c3\n",
            "uuid": "11111111-2222\n", "device": Link("../../nvme0"),
            "queue/scheduler": "[none]\n",
        }.items()
    }  # fmt: skip
    files |= {
        "/sys/class/block/nvme0n1": Link(
            "../../devices/pci0000:00/0000:04:00.0/nvme/nvme0/nvme0n1"
        ),
        f"{folder}/serial": "S4EWNX0R  \n",
        f"{folder}/model": "Samsung SSD\n",
        f"{folder}/transport": "pcie\n",
    }

    assert single(facts(tmp_path, "nvme0n1", files)) == {
        "majmin": "8:16", "size_bytes": "4096", "wwn": "eui.0025385b71b1a2c3",
        "nguid": "0025385b-71b1-a2c3", "uuid": "11111111-2222", "serial": "S4EWNX0R",
        "model": "Samsung SSD", "transport": "nvme", "scheduler": "none",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("uuid", "layer"),
    [
        ("LVM-aBcD", "lvm"),
        ("CRYPT-LUKS2-0123-root", "luks"),
        ("mpath-3600140512345678", "multipath"),
        ("part1-mpath-36001405", "partition"),
        ("", "dm"),
    ],
)
def test_layer_of_the_device_mapper_lies_on_its_parents(
    tmp_path: Path, uuid: str, layer: str
) -> None:
    files = block(
        "dm-0", "", {"dm/uuid": f"{uuid}\n", "slaves/sda": "", "slaves/sdb": "", "size": "16\n"}
    )

    found = facts(tmp_path, "dm-0", files)

    assert (found["layer"], found["parent"]) == ((layer,), ("sda", "sdb"))
    assert found.get("uuid") == ((uuid,) if uuid else None)


def test_partition_lies_on_its_disk(tmp_path: Path) -> None:
    place = f"{SCSI}/block/sdb/sdb1"
    files: Files = {
        "/sys/class/block/sdb1": Link(f"../..{place.removeprefix('/sys')}"),
        f"{place}/partition": "1\n",
        f"{place}/size": "8\n",
    }

    assert single(facts(tmp_path, "sdb1", files)) == {
        "majmin": "8:16", "size_bytes": "4096", "layer": "partition", "parent": "sdb",
    }  # fmt: skip


def test_image_of_rbd(tmp_path: Path) -> None:
    files = block("rbd0", "", {"size": "8\n", "device": Link("../../../rbd/0")})
    files |= {
        f"/sys/devices/rbd/0/{key}": f"{key}-x\n" for key in ("pool", "name", "cluster_fsid")
    }

    found = facts(tmp_path, "rbd0", files)

    assert (found["layer"], found["rbd"]) == (("rbd",), ("pool-x/name-x",))
    assert found["ceph_fsid"] == ("cluster_fsid-x",)


def test_name_with_a_slash_is_found_in_sysfs(tmp_path: Path) -> None:
    files = block("cciss!c0d0", "", {"size": "8\n"})

    assert facts(tmp_path, "cciss/c0d0", files)["size_bytes"] == ("4096",)


def test_device_that_is_gone_has_its_number_only(tmp_path: Path) -> None:
    assert facts(tmp_path, "sdz", {}) == {"majmin": ("8:16",)}


def test_long_serial_is_read_whole(tmp_path: Path) -> None:
    files = block("sdb", SCSI, {"device": Link("../../../6:0:0:5")})
    # 264 is 0x0108.
    files[f"{SCSI}/vpd_pg80"] = b"\0\x80\x01\x08" + b"S" * 264 + b"rest"

    assert facts(tmp_path, "sdb", files)["serial"] == ("S" * 264,)


def test_serial_of_a_broken_page_is_none(tmp_path: Path) -> None:
    files = block("sdb", SCSI, {"device": Link("../../../6:0:0:5")})
    files[f"{SCSI}/vpd_pg80"] = b"\0\x80\xff\xff\x01\x02"

    assert "serial" not in facts(tmp_path, "sdb", files)


def test_capture_of_many_devices_is_read(tmp_path: Path, shared_dir: Path) -> None:
    archive = shared_dir / "data/linux-proc/procfs_fixtures.ttar.gz"
    root = untar(archive, tmp_path) / "fixtures"
    host = HostTree(str(root))
    for link in (root / "sys/class/block").glob("dm-*"):
        link.unlink()
    (root / "sys/class/block").rmdir()
    (root / "sys/class/block").symlink_to("../block")

    disk, volume = device_facts(host, "sda", "8:0"), device_facts(host, "dm-0", "253:0")

    assert (disk["scheduler"], disk["rotational"], disk["nr_requests"]) == (("bfq",), ("1",), ("64",))  # fmt: skip  # noqa: E501
    assert disk["size_bytes"] == (str(3750748848 * 512),)
    assert volume["parent"] == ("sda",)
    assert volume["uuid"][0].startswith("LVM-")
    assert volume["layer"] == ("lvm",)


def test_facts_of_an_interface(tmp_path: Path) -> None:
    files: Files = {
        "/sys/class/net/eno1/speed": "25000\n",
        "/sys/class/net/eno1/address": "02:00:00:00:00:01\n",
        "/sys/class/net/eno1/device/driver": Link("../../../../bus/pci/drivers/mlx5_core"),
        "/sys/class/net/eno1/master": Link("../bond0"),
    }

    assert single(nic_facts(HostTree(str(plant(tmp_path, files))), "eno1")) == {
        "speed": "25000", "driver": "mlx5_core", "mac": "02:00:00:00:00:01", "master": "bond0",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"uevent": "DEVTYPE=bond\nINTERFACE=bond0\n", "lower_eno2": Link("../eno2"), "lower_eno1": Link("../eno1"), "speed": "20000\n"},  # noqa: E501
            {"kind": ("bond",), "parent": ("eno1", "eno2"), "speed": ("20000",)},
        ),
        (
            {"uevent": "INTERFACE=team0\n", "lower_eno1": Link("../eno1")},
            {"kind": ("team",), "parent": ("eno1",)},
        ),
        (
            {"uevent": "DEVTYPE=vlan\n", "lower_bond0": Link("../bond0")},
            {"kind": ("vlan",), "parent": ("bond0",)},
        ),
        (
            {"bonding_slave/state": "backup\n", "bonding_slave/mii_status": "up\n", "master": Link("../bond0")},  # noqa: E501
            {"state": ("backup",), "master": ("bond0",)},
        ),
        (
            {"bonding_slave/state": "active\n", "bonding_slave/mii_status": "going down\n"},
            {"state": ("down",)},
        ),
        ({"tun_flags": "0x1002\n", "uevent": "INTERFACE=tap0\n"}, {"kind": ("tap",)}),
    ],
    ids=["bond", "team", "vlan", "backup", "down", "tap"],
)  # fmt: skip
def test_facts_of_interfaces_that_belong_to_others(
    tmp_path: Path, files: Files, expected: dict[str, tuple[str, ...]]
) -> None:
    planted = {f"/sys/class/net/x0/{name}": content for name, content in files.items()}

    assert nic_facts(HostTree(str(plant(tmp_path, planted))), "x0") == expected


def test_host_of_many_addresses_tells_sixteen(tmp_path: Path) -> None:
    found = "".join(f"  |-- 10.0.0.{n}\n     /32 host LOCAL\n" for n in range(100, 120))

    facts = host_facts(HostTree(str(plant(tmp_path, {"/proc/net/fib_trie": found}))))

    assert facts["address"] == tuple(f"10.0.0.{n}" for n in range(100, 116))


def test_facts_of_the_host(tmp_path: Path) -> None:
    files: Files = {
        "/etc/machine-id": "abc\n",
        "/proc/sys/kernel/random/boot_id": "fa50\n",
        "/proc/net/fib_trie": (
            "Local:\n  +-- 10.0.0.0/8 2 0 2\n     |-- 10.1.2.3\n        /32 host LOCAL\n"
            "     |-- 10.1.2.255\n        /32 link BROADCAST\n"
            "     |-- 127.0.0.1\n        /32 host LOCAL\n"
        ),
        "/proc/net/if_inet6": (
            "fe800000000000000000000000000001 02 40 20 80     eth0\n"
            "fd000000000000000000000000000002 02 40 00 80     eth0\n"
            "00000000000000000000000000000001 01 80 10 80       lo\n"
        ),
    }

    assert host_facts(HostTree(str(plant(tmp_path, files)))) == {
        "machine_id": ("abc",),
        "boot_id": ("fa50",),
        "address": ("10.1.2.3", "fd00::2"),
    }
