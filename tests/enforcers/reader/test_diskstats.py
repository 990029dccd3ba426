"""`/proc/diskstats` of every generation of the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from enforcers.reader.diskstats import disk_line, number_line, read_disks
from enforcers.reader.host_tree import HostTree
from tests.enforcers.reader.trees import plant

FOURTEEN = "   8       0 sda 10 1 16 5 20 2 24 7 3 40 12\n"
EIGHTEEN = "   8       0 sda 10 1 16 5 20 2 24 7 3 40 12 9 9 9 9\n"
TWENTY = "   8       0 sda 10 1 16 5 20 2 24 7 3 40 12 9 9 9 9 8 8\n"


def tree(root: Path, text: str) -> HostTree:
    return HostTree(str(plant(root, {"/proc/diskstats": text})))


@pytest.mark.parametrize("text", [FOURTEEN, EIGHTEEN, TWENTY], ids=["14", "18", "20"])
def test_every_generation_gives_the_fields_of_diskio(tmp_path: Path, text: str) -> None:
    disks = read_disks(tree(tmp_path, text))

    # 16 and 24 sectors of 512 bytes are 8,192 and 12,288 bytes.
    assert disk_line("h1", disks["sda"], "naa.5000") == (
        "diskio,host=h1,name=sda,wwid=naa.5000 reads=10i,writes=20i,read_bytes=8192i,"
        "write_bytes=12288i,read_time=5i,write_time=7i,io_time=40i,weighted_io_time=12i,"
        "iops_in_progress=3i,merged_reads=1i,merged_writes=2i"
    )
    assert number_line("h1", disks["sda"]) == "block_device,host=h1,name=sda major=8i,minor=0i"


def test_loop_and_memory_devices_are_left_out(tmp_path: Path) -> None:
    names = ("loop0", "ram1", "zram0", "sda", "nvme0n1p1", "dm-0", "md0", "cciss/c0d0")
    text = "".join(FOURTEEN.replace("sda", name) for name in names)

    assert list(read_disks(tree(tmp_path, text))) == [
        "sda", "nvme0n1p1", "dm-0", "md0", "cciss/c0d0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "bad",
    [
        "   8      16 sdb 1 2 3\n",
        "   8      16 sdb 10 1 16 5 20 2 24 7 3 40 x\n",
        "   8      16 sdb 10 1 16 5 20 2 24 7 3 40 99999999999999999999999\n",
        "   8      16 sdb 10 1 16 5 20 2 24 7 -3 40 12\n",
    ],
    ids=["torn", "no number", "too large", "negative"],
)
def test_line_that_is_not_understood_is_named_and_the_others_are_kept(
    tmp_path: Path, bad: str
) -> None:
    host = tree(tmp_path, bad + FOURTEEN)

    assert list(read_disks(host)) == ["sda"]
    assert list(host.problems) == ["/proc/diskstats: sdb"]


def test_device_that_is_there_twice_counts_once_with_its_later_line(tmp_path: Path) -> None:
    later = FOURTEEN.replace(" 10 1 ", " 11 1 ")

    disks = read_disks(tree(tmp_path, FOURTEEN + later))

    assert [disk.counters[0] for disk in disks.values()] == [11]


def test_capture_with_all_generations_is_read_whole(tmp_path: Path, shared_dir: Path) -> None:
    text = (shared_dir / "data/linux-proc/node_exporter/diskstats").read_text()
    host = tree(tmp_path, text)

    disks = read_disks(host)

    # Its lines sdb (18 fields) and sdc (20 fields).
    assert disks["sdb"].counters == (326552, 841, 9657779, 84, 41822, 2895, 1972905, 5007, 0, 60730, 67070)  # fmt: skip  # noqa: E501
    assert disks["sdc"].counters[:2] == (126552, 141)
    kept = [line.split()[2] for line in text.splitlines()]
    assert set(disks) == {name for name in kept if not name.startswith(("loop", "ram", "zram"))}
    assert host.problems == {}
