"""Guests from the command lines that Proxmox, libvirt and people start QEMU with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.reader.host_tree import HostTree
from enforcers.reader.mounts import Mount
from enforcers.reader.processes import ProcessWatch, guest_facts, workload_of
from enforcers.reader.qemu import read_guest
from tests.enforcers.reader.trees import Link, plant

UUID = "6f6c0b4e-3a52-4c36-8a3c-6d6f6a2b5a11"
PROXMOX = (
    "/usr/bin/kvm -id 101 -name db1,debug-threads=on -smbios type=1,uuid=" + UUID + " "
    "-uuid " + UUID + " "
    "-drive file=/dev/pve/vm-101-disk-0,if=none,id=drive-scsi0,format=raw,cache=none "
    "-device scsi-hd,bus=scsihw0.0,scsi-id=0,drive=drive-scsi0,id=scsi0,bootindex=100 "
    "-drive file=rbd:pool/vm-101-disk-1:conf=/etc/pve/ceph.conf:id=admin:key=SECRET,if=none,id=drive-scsi1 "  # noqa: E501
    "-device scsi-hd,drive=drive-scsi1,id=scsi1 "
    "-netdev type=tap,id=net0,ifname=tap101i0,script=/usr/libexec/qemu-server/pve-bridge "
    "-device virtio-net-pci,mac=BC:24:11:00:00:01,netdev=net0,id=net0"
).split(" ")
LIBVIRT = [
    "/usr/bin/qemu-system-x86_64", "-name", "guest=web 2,debug-threads=on", "-uuid", UUID,
    "-object", '{"qom-type":"secret","id":"masterKey0","data":"SECRET"}',
    "-blockdev", '{"driver":"file","filename":"/mnt/vm/web.qcow2","node-name":"libvirt-2-storage"}',  # noqa: E501
    "-blockdev", '{"node-name":"libvirt-2-format","driver":"qcow2","file":"libvirt-2-storage"}',
    "-device", '{"driver":"virtio-blk-pci","drive":"libvirt-2-format","id":"virtio-disk0"}',
    "-blockdev", '{"driver":"host_device","filename":"/dev/disk/by-id/wwn-0x5000","node-name":"libvirt-1-storage"}',  # noqa: E501
    "-device", "scsi-hd,bus=scsi0.0,drive=libvirt-1-storage,id=scsi0-0-0-0",
    "-netdev", '{"type":"tap","fd":"33","vhost":true,"id":"hostnet0"}',
]  # fmt: skip


def test_guest_of_proxmox() -> None:
    guest = read_guest(PROXMOX)

    assert (guest.name, guest.uuid, guest.vmid) == ("db1", UUID, "101")
    assert guest.disks == {"scsi0": "/dev/pve/vm-101-disk-0", "scsi1": "rbd:pool/vm-101-disk-1"}
    assert guest.nics == {"net0": "tap101i0"}
    assert "SECRET" not in str(guest)


def test_guest_of_libvirt() -> None:
    guest = read_guest(LIBVIRT)

    assert (guest.name, guest.uuid, guest.vmid) == ("web 2", UUID, None)
    assert guest.disks == {
        "virtio-disk0": "/mnt/vm/web.qcow2",
        "scsi0-0-0-0": "/dev/disk/by-id/wwn-0x5000",
    }
    assert guest.nic_fds == {"hostnet0": "33"}
    assert "SECRET" not in str(guest)


@pytest.mark.parametrize(
    ("argv", "disks"),
    [
        (["-drive", "file=/a,,b.img,format=raw"], {"drive0": "/a,b.img"}),
        (["-drive", "if=none,id=d,file.driver=file,file.filename=/x"], {"d": "/x"}),
        (["-blockdev", "driver=raw,node-name=n,file.driver=host_device,file.filename=/dev/sdb", "-device", "virtio-blk,drive=n"], {"n": "/dev/sdb"}),  # noqa: E501
        (["-blockdev", '{"node-name":"drive-scsi0","driver":"throttle","file":{"driver":"raw","file":{"driver":"host_device","filename":"/dev/dm-3"}}}', "-device", "scsi-hd,drive=drive-scsi0"], {"scsi0": "/dev/dm-3"}),  # noqa: E501
        (["-blockdev", '{"node-name":"n","driver":"rbd","pool":"p","image":"i","auth":"SECRET"}', "-device", "virtio-blk,drive=n,id=vd0"], {"vd0": "rbd:p/i"}),  # noqa: E501
        (["-drive", "id=i,file=iscsi://user%SECRET@san/iqn.2001-04.x/1"], {"i": "iscsi://san/iqn.2001-04.x/1"}),
        (["-drive", "id=i,file=iscsi://user%SEC@SECRET@san/iqn.2001-04.x/1"], {"i": "iscsi://san/iqn.2001-04.x/1"}),
        (["-drive", "id=i,file=https://san/a.iso?X-Signature=SECRET"], {"i": "https://san/a.iso"}),
        (["-drive", 'id=i,file=json:{"driver":"raw",,"file":{"driver":"https",,"url":"https://san/a",,"cookie":"SECRET"}}'], {}),  # noqa: E501
        (["-drive", 'id=i,file=json:{"driver":"qcow2",,"file":{"driver":"file",,"filename":"/a"}}'], {"i": "/a"}),  # noqa: E501
        (["-blockdev", '{"node-name":"a","driver":"raw","file":"a"}', "-device", "virtio-blk,drive=a"], {}),  # noqa: E501
        (["-blockdev", '{"node-name":"n","driver":"iscsi","target":"iqn.x"}', "-device", "sd,drive=n"], {"n": "iscsi:iqn.x/0"}),  # noqa: E501
        (["-blockdev", '{"node-name":"a', "-device", "virtio-blk,drive=a"], {}),
    ],
    ids=[
        "comma", "dotted", "dotted node", "nested", "rbd", "iscsi", "password with an at sign",
        "signed address", "JSON with a cookie", "JSON", "circle", "iscsi node", "broken JSON",
    ],
)  # fmt: skip
def test_disks_in_every_spelling(argv: list[str], disks: dict[str, str]) -> None:
    guest = read_guest(["qemu-system-x86_64", *argv])

    assert guest.disks == disks
    assert "SECRET" not in str(guest)


words = st.text(st.sampled_from('-{}[]":,=.abdrive/file0'), max_size=30)


@given(st.lists(st.sampled_from(["-drive", "-blockdev", "-device", "-netdev", "-name"]) | words))
def test_no_command_line_is_too_odd_to_read(argv: list[str]) -> None:
    guest = read_guest(argv)

    # No name or file of it is made up: all stand in the command line.
    line = " ".join(argv)
    assert all(value in line for value in guest.disks.values() if value)


def process(pid: int, command: str, argv: list[str], cgroup: str) -> dict[str, str | bytes | Link]:
    return {
        f"/proc/{pid}/comm": f"{command}\n",
        f"/proc/{pid}/cmdline": "\0".join(argv) + "\0",
        f"/proc/{pid}/cgroup": f"9:name=systemd:/x\n0::{cgroup}\n",
    }


def test_guest_is_known_by_the_names_that_its_host_gives_it(tmp_path: Path) -> None:
    files = process(41, "kvm", PROXMOX, "/qemu.slice/101.scope")
    files |= process(
        42, "qemu-system-x86", LIBVIRT, r"/machine.slice/machine-qemu\x2d1\x2dweb.scope/libvirt/emulator"  # noqa: E501
    )  # fmt: skip
    files |= process(43, "qemu-system-x86", ["qemu", "-name", "lab"], "/user.slice/user-0.slice")
    files |= process(44, "bash", ["bash"], "/user.slice")
    files |= {
        "/dev/pve/vm-101-disk-0": Link("../dm-7"),
        "/dev/dm-7": "",
        "/dev/disk/by-id/wwn-0x5000": Link("../../sdb"),
        "/dev/sdb": "",
        "/proc/42/fdinfo/33": "pos:\t0\nflags:\t0104002\niff:\tvnet3\n",
    }
    host = HostTree(str(plant(tmp_path, files)))
    mounts = [Mount("/mnt/vm", "nfs4", "nas:/vm", "0:45", "")]

    running = ProcessWatch().look(host, turn=0)

    assert [workload_of(one).key for one in running] == ["qemu/101", "libvirt/web", "vm/lab"]
    assert guest_facts(running[0], host, mounts) == {
        "host_pid": "41", "name": "db1", "uuid": UUID, "vmid": "101",
        "disk.scsi0": "/dev/dm-7", "disk.scsi1": "rbd:pool/vm-101-disk-1", "nic.net0": "tap101i0",
    }  # fmt: skip
    assert guest_facts(running[1], host, mounts) == {
        "host_pid": "42", "name": "web 2", "uuid": UUID,
        "disk.virtio-disk0": "nas:/vm/web.qcow2", "disk.scsi0-0-0-0": "/dev/sdb",
        "nic.hostnet0": "vnet3",
    }  # fmt: skip
    assert running[1].cgroup == r"/machine.slice/machine-qemu\x2d1\x2dweb.scope"


def test_guest_that_ends_is_forgotten_and_a_new_one_is_found_at_once(tmp_path: Path) -> None:
    host, watch = HostTree(str(tmp_path)), ProcessWatch()
    plant(tmp_path, process(41, "kvm", PROXMOX, "/qemu.slice/101.scope"))
    watch.look(host, turn=0)
    (tmp_path / "proc/41/comm").unlink()
    (tmp_path / "proc/41").rename(tmp_path / "proc/gone")
    plant(tmp_path, process(50, "kvm", ["kvm", "-id", "102"], "/qemu.slice/102.scope"))

    assert [one.guest.vmid for one in watch.look(host, turn=1)] == ["102"]


def test_process_that_became_a_guest_is_found_in_its_turn(tmp_path: Path) -> None:
    host, watch = HostTree(str(tmp_path)), ProcessWatch()
    plant(tmp_path, process(44, "sh", ["sh"], "/"))
    watch.look(host, turn=0)
    plant(tmp_path, process(44, "kvm", ["kvm", "-id", "103"], "/"))

    found = [[one.guest.vmid for one in watch.look(host, turn=turn)] for turn in range(1, 7)]

    assert workload_of(watch.look(host, turn=7)[0]).key == "qemu/103"
    # 44 is 2 more than a multiple of 6: its turn is the second of six.
    assert found == [[], ["103"], ["103"], ["103"], ["103"], ["103"]]


@pytest.mark.parametrize(("filters", "disks"), [(8, {"d": "/x"}), (9, {})])
def test_disk_is_found_below_eight_filters_and_no_deeper(
    filters: int, disks: dict[str, str]
) -> None:
    node: dict[str, object] = {"driver": "file", "filename": "/x"}
    for _ in range(filters):
        node = {"driver": "raw", "file": node}
    argv = ["-blockdev", json.dumps({**node, "node-name": "d"}), "-device", "scsi-hd,drive=d"]

    assert read_guest(["qemu", *argv]).disks == disks
