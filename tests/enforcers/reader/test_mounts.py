"""NFS clients: their figures once per superblock, their facts per mount."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enforcers.reader.host_tree import HostTree
from enforcers.reader.mounts import Mount, export_path, mount_facts, nfs_lines, read_mounts
from ingest.core.line_protocol import parse_line
from tests.enforcers.reader.trees import plant

READ = "\t        READ: 10 12 1 1000 40000 3 50 60 2\n"
WRITE = "\t       WRITE: 20 20 0 80000 2000 4 70 90 0\n"


def stats(source: str, point: str, rows: str = READ + WRITE) -> str:
    return (
        f"device {source} mounted on {point} with fstype nfs4 statvers=1.1\n"
        "\tage:\t13968\n\tbytes:\t1 2 3 4 5 6 7 8\n"
        "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\tper-op statistics\n"
        f"\t        NULL: 1 1 0 44 24 0 0 0 0\n{rows}\t     GETATTR: 5 5 0 1 1 0 1 1 0\n\n"
    )


def info(number: int, majmin: str, point: str, source: str, options: str = "rw") -> str:
    return f"{number} 27 {majmin} / {point} rw,relatime shared:1 - nfs4 {source} {options}\n"


def host(root: Path, *, mountinfo: str = "", mountstats: str = "") -> HostTree:
    files = {"/proc/self/mountinfo": mountinfo, "/proc/self/mountstats": mountstats}
    return HostTree(str(plant(root, files)))


def lines(tree: HostTree) -> list[str]:
    return list(nfs_lines("h1", tree, read_mounts(tree)))


def test_reads_and_writes_have_the_names_of_nfsclient(tmp_path: Path) -> None:
    tree = host(
        tmp_path,
        mountstats="device rootfs mounted on / with fstype rootfs\n" + stats("nas:/db", "/mnt/db"),
    )
    tags = "host=h1,mountpoint=/mnt/db,serverexport=nas:/db,operation"

    sent = ("bytes_sent=1000i,bytes_recv=40000i", "bytes_sent=80000i,bytes_recv=2000i")

    # 12 transmissions for 10 operations: 2 again. 1,000 and 40,000 bytes: 41,000.
    assert lines(tree) == [
        f"nfsstat,{tags}=READ ops=10i,retrans=2i,bytes=41000i,rtt=50i,exe=60i",
        (
            f"nfs_ops,{tags}=READ ops=10i,trans=12i,timeouts=1i,{sent[0]},"
            "queue_time=3i,response_time=50i,total_time=60i,errors=2i"
        ),
        f"nfsstat,{tags}=WRITE ops=20i,retrans=0i,bytes=82000i,rtt=70i,exe=90i",
        (
            f"nfs_ops,{tags}=WRITE ops=20i,trans=20i,timeouts=0i,{sent[1]},"
            "queue_time=4i,response_time=70i,total_time=90i,errors=0i"
        ),
    ]


def test_export_that_is_mounted_twice_is_counted_once(tmp_path: Path) -> None:
    # Both mounts show one superblock (0:45), and the kernel counts per superblock.
    tree = host(
        tmp_path,
        mountinfo=info(50, "0:45", "/mnt/a", "nas:/db") + info(51, "0:45", "/mnt/b", "nas:/db"),
        mountstats=stats("nas:/db", "/mnt/a") + stats("nas:/db", "/mnt/b"),
    )

    assert {line.split(",")[2] for line in lines(tree)} == {"mountpoint=/mnt/a"}


def test_export_with_two_superblocks_is_counted_for_each(tmp_path: Path) -> None:
    # `nosharecache`: two clients of one export.
    tree = host(
        tmp_path,
        mountinfo=info(50, "0:45", "/mnt/a", "nas:/db") + info(51, "0:46", "/mnt/b", "nas:/db"),
        mountstats=stats("nas:/db", "/mnt/a") + stats("nas:/db", "/mnt/b"),
    )

    assert len(lines(tree)) == 8


def test_names_with_spaces_are_read_as_people_write_them(tmp_path: Path) -> None:
    tree = host(
        tmp_path,
        mountinfo=info(50, "0:45", r"/mnt/my\040files", r"nas:/my\040files"),
        mountstats=stats(r"nas:/my\040files", r"/mnt/my\040files"),
    )

    (mount,) = read_mounts(tree)

    assert (mount.point, mount.source) == ("/mnt/my files", "nas:/my files")
    assert r"mountpoint=/mnt/my\ files,serverexport=nas:/my\ files" in lines(tree)[0]


def test_counter_that_ran_below_zero_is_left_out(tmp_path: Path) -> None:
    rows = "\tREAD: 2927395007 2927394995 0 526931094212 362996810236 18446743919241604546 1 2\n"
    tree = host(tmp_path, mountstats=stats("nas:/db", "/mnt/db", rows))

    summed, each = lines(tree)

    assert "retrans" not in summed
    assert "queue_time" not in each
    assert "ops=2927395007i" in each


def test_counter_that_the_wire_cannot_carry_is_left_out(tmp_path: Path) -> None:
    rows = "\tREAD: 10 18446744073709551615 1 1000 18446744073709551615 3 50 60 2\n"
    tree = host(tmp_path, mountstats=stats("nas:/db", "/mnt/db", rows))

    summed, each = (line.rpartition(" ")[2] for line in lines(tree))

    assert summed == "ops=10i,rtt=50i,exe=60i"
    assert "trans" not in each
    assert "bytes_sent=1000i" in each


@pytest.mark.parametrize("cut", range(1, 330, 13))
def test_file_that_breaks_off_keeps_what_is_whole(tmp_path: Path, cut: int) -> None:
    first, second = stats("nas:/db", "/mnt/db"), stats("nas:/web", "/mnt/web")
    expected = lines(host(tmp_path / "whole", mountstats=first + second))
    tree = host(tmp_path / "cut", mountstats=(first + second)[:-cut])

    found = lines(tree)

    # No number is that of a line that was cut in the middle of it.
    assert expected[:4] == found[:4]
    assert set(found) <= set(expected)


def test_capture_is_read(tmp_path: Path, shared_dir: Path) -> None:
    text = (shared_dir / "data/linux-proc/node_exporter/10_mountstats").read_text()

    found = lines(host(tmp_path, mountstats=text))

    # Two mount points of NFS, the second of them listed twice; each reads and writes.
    assert len(found) == 8
    assert found[0].endswith(" ops=1298i,retrans=0i,bytes=1210499832i,rtt=79386i,exe=79407i")


@pytest.mark.parametrize(
    ("source", "kind", "facts"),
    [
        ("nas:/db", "nfs4", {"server": "nas", "export": "nas:/db", "fstype": "nfs4"}),
        (
            "[fd00::7]:/db",
            "nfs",
            {"server": "[fd00::7]", "export": "[fd00::7]:/db", "fstype": "nfs"},
        ),
        ("//files/share", "cifs", {"server": "files", "export": "/share", "fstype": "cifs"}),
        ("odd", "9p", {"export": "odd", "fstype": "9p"}),
        ("//files", "cifs", {"export": "//files", "fstype": "cifs"}),
        ("///share", "cifs", {"export": "///share", "fstype": "cifs"}),
    ],
)
def test_facts_of_a_mount(source: str, kind: str, facts: dict[str, str]) -> None:
    options = "rw,vers=4.2,clientaddr=10.0.0.9,addr=10.0.0.7"
    mounts = [Mount(point, kind, source, "0:45", options) for point in ("/a", "/b")]

    assert mount_facts(mounts) == {name: (value,) for name, value in facts.items()} | {
        "address": ("10.0.0.7",),
        "mountpoint": ("/a", "/b"),
    }


def test_file_on_a_network_mount_is_named_by_its_server() -> None:
    mounts = [
        Mount("/mnt", "nfs4", "nas:/all", "0:45", ""),
        Mount("/mnt/vm", "nfs4", "nas:/vm/", "0:46", ""),
    ]

    assert export_path("/mnt/vm/db1.qcow2", mounts) == "nas:/vm/db1.qcow2"
    assert export_path("/mnt/other", mounts) == "nas:/all/other"
    assert export_path("/mntx", mounts) is None


def test_telegraf_makes_the_same_lines_of_its_own_capture(
    tmp_path: Path, shared_dir: Path
) -> None:
    telegraf = shared_dir / "data/telegraf"
    text = (telegraf / "inputs/nfsclient/testdata/mountstats").read_text()
    examples = (telegraf / "readme-example-output/nfsclient.txt").read_text().splitlines()
    # Its example is of this capture, whose mount point was called /NFS.
    theirs = {
        point.tags: point.fields
        for line in examples
        if line.startswith("nfsstat,")
        for point in [parse_line(line)]
    }

    ours = {
        point.tags: point.fields
        for line in lines(host(tmp_path, mountstats=text))
        if line.startswith("nfsstat,") and "mountpoint=/A," in line
        for point in [parse_line(line.replace(",host=h1", "").replace("=/A,", "=/NFS,"))]
    }

    assert len(ours) == 2
    assert ours == theirs


def test_export_that_is_a_persistent_volume_says_which() -> None:
    point = "/var/lib/kubelet/pods/7/volumes/kubernetes.io~csi/pvc-1/mount"
    one = Mount(point=point, kind="nfs4", source="nas:/pvc-1", majmin="0:45", options="rw")

    assert mount_facts([one, replace(one, point="/mnt/else")])["volume"] == ("pvc-1",)
    assert "volume" not in mount_facts([replace(one, point="/mnt/else")])
