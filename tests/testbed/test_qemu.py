"""The agent's reader asks a real QEMU for its disk, with histograms, and it is stored."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from enforcers.reader.host_tree import HostTree
from enforcers.reader.reading import Reader
from ingest.models import CgroupSample, GaugeSample, RejectedLine, VdiskSample
from tests.enforcers.reader.trees import plant
from tests.ingest.scenario import make_tenant, write_lines
from tests.testbed.libvirt_daemon import READ_BYTES, boot_sector

pytestmark = [pytest.mark.django_db, pytest.mark.libvirt, pytest.mark.slow]

SOCKET = "/run/db.qmp"
BOUNDARIES_NS = [100_000, 1_000_000, 10_000_000, 100_000_000]


@pytest.fixture
def tree() -> Iterator[Path]:
    """A host's tree whose one process is a QEMU that reads and writes without end."""
    # The path of a socket must be short.
    root = Path(tempfile.mkdtemp(prefix="sluice-qemu-"))
    plant(root, {"/disk": boot_sector().ljust(1 << 20, b"\0"), "/run/x": ""})
    program = shutil.which("qemu-system-x86_64")
    assert program is not None
    argv = [
        program, "-name", "guest=db-orders", "-machine", "accel=tcg", "-m", "32",
        "-nodefaults", "-display", "none",
        "-drive",
        f"file={root}/disk,if=none,id=drive-virtio0,format=raw,throttling.iops-total=200",
        "-device", "virtio-blk-pci,drive=drive-virtio0,id=virtio0",
        "-qmp", f"unix:{root}{SOCKET},server=on,wait=off",
    ]  # fmt: skip
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        own = f"/proc/{process.pid}"
        said = "\0".join(argv).replace(str(root), "")
        plant(root, {f"{own}/comm": "qemu-system-x86\n", f"{own}/cmdline": f"{said}\0"})
        yield root
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(root, ignore_errors=True)


def keep_histograms(place: Path) -> None:
    """What an operator says once; the reader itself changes nothing."""
    deadline = time.monotonic() + 30
    while not place.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    asked = {"id": "/machine/peripheral/virtio0/virtio-backend", "boundaries": BOUNDARIES_NS}
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.settimeout(30)
        monitor.connect(str(place))
        with monitor.makefile("rwb") as wire:
            wire.readline()
            for command in (
                {"execute": "qmp_capabilities"},
                {"execute": "block-latency-histogram-set", "arguments": asked},
            ):
                wire.write(json.dumps(command).encode() + b"\n")
                wire.flush()
                answer = json.loads(wire.readline())
                assert "return" in answer, answer


def test_disk_of_a_guest_has_counters_and_latencies(tree: Path, db: None) -> None:
    tenant = make_tenant()
    keep_histograms(tree / SOCKET.lstrip("/"))
    reader = Reader(HostTree(str(tree)), host="kvm-1", ask_qemu=True)

    deadline = time.monotonic() + 60
    while not GaugeSample.objects.filter(series__subject="vm/db-orders/virtio0").exists():
        assert time.monotonic() < deadline
        reading = reader.read(at_ns=time.time_ns(), now_s=time.monotonic())
        assert not reading.problems
        write_lines(tenant, *reading.lines)
        time.sleep(1)

    assert not RejectedLine.objects.exists()
    subject = {"series__host__name": "kvm-1", "series__subject": "vm/db-orders"}
    carried = CgroupSample.objects.filter(**subject).latest("time")
    assert carried.rios > 0
    # The BIOS reads single sectors at its start, the system always as many.
    assert carried.rbytes <= carried.rios * READ_BYTES
    took = VdiskSample.objects.filter(**subject).latest("time")
    assert (took.reads, took.writes) == (carried.rios, carried.wios)
    assert took.read_time > 0
    quantiles = {
        row.series.tags["field"]: row.value
        for row in GaugeSample.objects.filter(series__host__name="kvm-1")
    }
    assert 0 < quantiles["rd_latency_p50_ms"] <= quantiles["rd_latency_p99_ms"] <= 100
