"""The reader on the machine that runs the tests, beside independent readings of it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from enforcers.reader.cgroups import find_mount
from enforcers.reader.host_tree import HostTree
from enforcers.reader.reading import Reader, Reading
from ingest.core.line_protocol import parse_line
from tests.enforcers.reader.trees import only

LEFT_OUT = ("loop", "ram", "zram")


@pytest.fixture
def psutil() -> ModuleType:
    """Another program's reading of the same files; it has no wheel for every platform."""
    return cast("ModuleType", pytest.importorskip("psutil"))


def read() -> Reading:
    return Reader(HostTree(), host="h1").read(at_ns=1, now_s=0.0)


def fields(reading: Reading, measurement: str) -> dict[str, dict[str, object]]:
    """The fields of each line, by the value of its last tag."""
    points = [parse_line(line) for line in only(reading.lines, measurement)]
    return {dict(point.tags)[_subject(measurement)]: point.fields for point in points}


def _subject(measurement: str) -> str:
    return {"diskio": "name", "block_device": "name", "net": "interface"}.get(measurement, "host")


def test_disks_lie_between_two_readings_of_sysfs() -> None:
    def counters() -> dict[str, list[int]]:
        return {
            path.parent.name.replace("!", "/"): [int(word) for word in path.read_text().split()]
            for path in Path("/sys/class/block").glob("*/stat")
            if not path.parent.name.startswith(LEFT_OUT)
        }

    before, found, after = counters(), fields(read(), "diskio"), counters()

    assert set(found) == set(before) == set(after)
    # Documentation/block/stat.rst: reads, merged, sectors of 512 bytes, ms; writes the same.
    places = {"reads": 0, "merged_reads": 1, "read_time": 3, "writes": 4, "write_time": 7}
    for name, told in found.items():
        for field, place in places.items():
            assert before[name][place] <= told[field] <= after[name][place], (name, field)  # type: ignore[operator]
        assert before[name][2] * 512 <= told["read_bytes"] <= after[name][2] * 512  # type: ignore[operator]
        assert before[name][6] * 512 <= told["write_bytes"] <= after[name][6] * 512  # type: ignore[operator]


def test_disks_and_interfaces_agree_with_psutil(psutil: ModuleType) -> None:
    disks, nics = psutil.disk_io_counters, psutil.net_io_counters
    before = disks(perdisk=True, nowrap=False), nics(pernic=True, nowrap=False)
    reading = read()
    after = disks(perdisk=True, nowrap=False), nics(pernic=True, nowrap=False)

    for name, told in fields(reading, "diskio").items():
        for ours, theirs in (("reads", "read_count"), ("write_bytes", "write_bytes")):
            low, high = (getattr(one[0][name], theirs) for one in (before, after))
            assert low <= told[ours] <= high, (name, ours)  # type: ignore[operator]
    # What psutil calls up has a carrier too, which an idle bridge lacks.
    flags = {name: one.flags.split(",") for name, one in psutil.net_if_stats().items()}
    up = {name for name, said in flags.items() if "up" in said and "loopback" not in said}
    assert set(fields(reading, "net")) == up
    for name, told in fields(reading, "net").items():
        for field in ("bytes_sent", "bytes_recv", "packets_sent", "packets_recv"):
            low, high = (getattr(one[1][name], field) for one in (before, after))
            assert low <= told[field] <= high, (name, field)  # type: ignore[operator]


def test_host_agrees_with_what_python_knows(psutil: ModuleType) -> None:
    def uptime_and_load() -> tuple[float, float]:
        return float(Path("/proc/uptime").read_text().split()[0]), os.getloadavg()[0]

    # The load is computed every five seconds: of two looks one is on the same side of it as ours.
    before, told, after = uptime_and_load(), fields(read(), "system")["h1"], uptime_and_load()

    assert told["n_cpus"] == psutil.cpu_count()
    load = float(str(told["load1"]))
    assert min(abs(load - before[1]), abs(load - after[1])) < 0.01
    assert int(before[0]) <= told["uptime"] <= after[0]  # type: ignore[operator]


def test_numbers_of_devices_are_those_of_the_kernel() -> None:
    told = fields(read(), "block_device")

    assert {name: f"{one['major']}:{one['minor']}" for name, one in told.items()} == {
        path.parent.name.replace("!", "/"): path.read_text().strip()
        for path in Path("/sys/class/block").glob("*/dev")
        if not path.parent.name.startswith(LEFT_OUT)
    }


def test_addresses_are_those_of_the_interfaces(psutil: ModuleType) -> None:
    expected = {
        str(one.address).partition("%")[0]
        for every in psutil.net_if_addrs().values()
        for one in every
        if one.family in {socket.AF_INET, socket.AF_INET6}
    }

    told = set(read().facts["host", ""].get("address", ()))

    assert told == {
        one for one in expected if not one.startswith(("127.", "fe80:")) and one != "::1"
    }


def test_cgroups_are_below_the_mount_of_version_2() -> None:
    mount = find_mount(HostTree())
    if mount is None:
        pytest.skip("cgroup v2 is not mounted here")
    listed = subprocess.run(
        ["findmnt", "--noheadings", "--types", "cgroup2", "--output", "TARGET"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert mount in listed.stdout.split() or listed.returncode != 0
    assert all(
        dict(parse_line(line).tags)["path"].startswith(f"{mount}/")
        for line in only(read().lines, "cgroup")
    )


def test_guest_that_runs_here_is_found_with_its_disk(tmp_path: Path) -> None:
    program = shutil.which("qemu-system-x86_64")
    if program is None:
        pytest.skip("no qemu-system-x86_64")
    disk = tmp_path / "disk, one.img"
    disk.write_bytes(bytes(1 << 20))
    uuid = "6f6c0b4e-3a52-4c36-8a3c-6d6f6a2b5a11"
    # Another checkout may run its tests on this machine.
    name = f"reader-lab-{os.getpid()}"
    spelled = str(disk).replace(",", ",,")
    argv = [
        program, "-name", f"guest={name},debug-threads=on", "-uuid", uuid, "-S", "-m", "16",
        "-nodefaults", "-display", "none", "-accel", "tcg",
        "-blockdev", f"driver=file,node-name=f0,filename={spelled}",
        "-blockdev", "driver=raw,node-name=n0,file=f0",
        "-device", "virtio-blk-pci,drive=n0,id=vd0",
    ]  # fmt: skip
    with subprocess.Popen(argv) as guest:
        try:
            deadline = time.monotonic() + 30
            while not (found := read().facts.get(("workload", f"vm/{name}"))):
                assert guest.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
        finally:
            guest.kill()

    assert found["uuid"] == (uuid,)
    assert found["host_pid"] == (str(guest.pid),)
    assert found["disk.vd0"] == (str(disk),)


@pytest.mark.telegraf
def test_lines_are_those_of_telegraf(telegraf: Path, tmp_path: Path) -> None:
    """Every measurement, tag and field of ours is one that stock Telegraf sends for this host."""
    stock = tmp_path / "stock.conf"
    stock.write_text(
        '[agent]\nhostname = "h1"\n[[inputs.diskio]]\n[[inputs.net]]\n'
        "ignore_protocol_stats = true\n[[inputs.nstat]]\ndump_zeros = true\n[[inputs.system]]\n"
    )
    tried = subprocess.run(
        [telegraf, "--config", stock, "--test"],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    theirs = _names(
        line.removeprefix("> ") for line in tried.stdout.splitlines() if line[:2] == "> "
    )
    ours = _names(
        line for line in read().lines if line.startswith(("diskio,", "net,", "nstat,", "system,"))
    )

    for head, names in ours.items():
        assert head in theirs
        assert names <= theirs[head], head


def _names(lines: Iterable[str]) -> dict[tuple[object, ...], set[str]]:
    """The names of fields by measurement and tags."""
    found: dict[tuple[object, ...], set[str]] = {}
    for line in lines:
        point = parse_line(line)
        found.setdefault((point.measurement, *point.tags), set()).update(point.fields)
    return found
