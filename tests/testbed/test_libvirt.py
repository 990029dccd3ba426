"""Telegraf's `inputs.libvirt` on a real libvirtd and QEMU, against the real web server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ingest.models import CgroupSample, RejectedLine, UnknownMeasurement, VdiskSample
from ingest.sources import libvirt
from tests.testbed.conftest import Laboratory, wait_for
from tests.testbed.libvirt_daemon import (
    DISK,
    DOMAIN,
    READ_BYTES,
    WRITTEN_BYTES,
    libvirt_with_domain,
)
from tests.testbed.telegraf import collecting, configuration

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.telegraf,
    pytest.mark.libvirt,
    pytest.mark.slow,
    pytest.mark.timeout(240),
]

README = Path(libvirt.__file__).with_name("README.md")
SUBJECT = f"libvirt/{DOMAIN}"


@pytest.fixture(scope="module")
def collected(laboratory: Laboratory, telegraf: Path) -> Laboratory:
    """What some rounds of Telegraf gave, with the configuration of the source's README."""
    found = re.search(r"```toml\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    folder = laboratory.folder
    with libvirt_with_domain(folder / "libvirtd.log") as address:
        text = configuration(
            found[1].replace("qemu:///system", address),
            url=laboratory.server.url,
            secret=laboratory.tenant.secret,
            interval="1s",
        )
        with collecting(telegraf, folder, text) as log:
            wait_for(
                lambda: VdiskSample.objects.filter(reads__gt=50).count() >= 3,
                what="samples of a disk at work",
                or_show=log,
            )
    laboratory.find()
    return laboratory


def test_domain_is_a_workload_with_its_name_and_disk(collected: Laboratory) -> None:
    assert {one[1:] for one in collected.said("workload", "name")} == {(SUBJECT, DOMAIN)}
    assert {one[2] for one in collected.said("workload", "target.0")} == {DISK}
    (path,) = (one[2] for one in collected.said("workload", "disk.0"))
    assert path.endswith("/disk")
    assert collected.workloads() == {DOMAIN}
    assert not RejectedLine.objects.exists()
    assert not UnknownMeasurement.objects.exists()


def test_virtual_disk_has_ios_bytes_and_latency(collected: Laboratory) -> None:
    # Before, the BIOS itself reads.
    rows = VdiskSample.objects.filter(series__subject=SUBJECT, reads__gt=20)
    first, last = rows.earliest("time"), rows.latest("time")

    reads, writes = last.reads - first.reads, last.writes - first.writes
    # It reads once, then writes once.
    assert reads == pytest.approx(writes, abs=2)
    # QEMU lets through 200 I/Os a second, so each takes about 5 ms.
    assert 1e6 < (last.read_time - first.read_time) / reads < 1e9
    carried = CgroupSample.objects.filter(series__subject=SUBJECT, rios__gt=20)
    start, end = carried.earliest("time"), carried.latest("time")
    assert end.rbytes - start.rbytes == (end.rios - start.rios) * READ_BYTES
    assert end.wbytes - start.wbytes == (end.wios - start.wios) * WRITTEN_BYTES
