"""The metric server of Proxmox VE, as it is configured by default, against the real web server."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterable
from typing import Any

import pytest

from ingest.models import CgroupSample, RejectedLine, UnknownMeasurement, VdiskSample
from tests.testbed.conftest import Laboratory
from tests.testbed.proxmox import MOST_BYTES, bodies, guest, node, storage

pytestmark = pytest.mark.django_db

NODES = ("pve1", "pve2")
# 25 MB is what a very large cluster gathers: about 1360 bytes a guest.
MANY_GUESTS = 19_000


def of_nodes(found: set[Any]) -> set[Any]:
    """Those of the two nodes, whatever another test has sent."""
    return {one for one in found if one[0] in NODES}


def post(laboratory: Laboratory, body: bytes) -> str:
    """Post as `PVE::Status::InfluxDB` does where no organisation is configured; gives the header

    in which refused lines are counted.
    """
    request = urllib.request.Request(
        f"{laboratory.server.url}/api/v2/write?org=proxmox&bucket=proxmox",
        data=body,
        headers={"Authorization": f"Token {laboratory.tenant.secret}"},
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        assert answer.status == 204
        return answer.headers.get("Sluice-Rejected-Lines", "0")


@pytest.fixture(scope="module")
def rounds(laboratory: Laboratory) -> Laboratory:
    """Two rounds of two nodes with a guest each; db1 reads 1000 times with 4 ms each between."""
    start_s = int(time.time()) - 10
    for at_s, reads in ((start_s, 5000), (start_s + 10, 6000)):
        for number, name in enumerate(NODES, start=1):
            lines: Iterable[str] = (
                *node(name, at_s=at_s, received=reads * 100),
                *guest(
                    100 + number, f"db{number}", node=name, at_s=at_s, reads=reads,
                    read_time_ns=reads * 4_000_000,
                ),
                *storage("nfs-08", node=name, at_s=at_s),
            )  # fmt: skip
            for body in bodies(lines):
                assert post(laboratory, body) == "0"
    laboratory.find()
    return laboratory


def test_guests_are_workloads_with_names_and_no_hosts(rounds: Laboratory) -> None:
    assert of_nodes(rounds.said("workload", "name")) == {
        ("pve1", "qemu/101", "db1"),
        ("pve2", "qemu/102", "db2"),
    }
    assert {"db1", "db2"} <= rounds.workloads()
    assert {host for host, _ in rounds.subjects("system")} == set(NODES)  # never db1
    assert not RejectedLine.objects.exists()
    assert not UnknownMeasurement.objects.exists()


def test_disk_of_a_guest_has_ios_and_latency(rounds: Laboratory) -> None:
    of_db1 = {"series__host__name": "pve1", "series__subject": "qemu/101"}

    first, last = VdiskSample.objects.filter(**of_db1).order_by("time")

    # 1000 reads of 4 ms each, and half as many writes in half the time.
    assert last.reads - first.reads == 1000
    assert last.read_time - first.read_time == 1000 * 4_000_000
    assert last.writes - first.writes == 500
    assert last.write_time - first.write_time == 1000 * 2_000_000
    carried = CgroupSample.objects.filter(**of_db1).latest("time")
    assert (carried.rios, carried.rbytes) == (6000, 6000 * 4096)


def test_interfaces_are_those_of_nodes_and_guests(rounds: Laboratory) -> None:
    assert of_nodes(rounds.subjects("net")) == {
        ("pve1", "eno1"), ("pve1", "tap101i0"), ("pve2", "eno1"), ("pve2", "tap102i0"),
    }  # fmt: skip
    assert rounds.said("workload", "nic.tap101i0") == {("pve1", "qemu/101", "tap101i0")}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_body_of_25_mb_is_stored_whole(laboratory: Laboratory) -> None:
    at_s = int(time.time())
    lines = (
        line
        for number in range(MANY_GUESTS)
        for line in guest(
            1000 + number, f"vm{number}", node="pve9", at_s=at_s, reads=number, read_time_ns=number
        )
    )

    first, *_ = bodies(lines)

    assert MOST_BYTES * 0.99 < len(first) <= MOST_BYTES
    assert post(laboratory, first) == "0"
    whole = first.count(b"blockstat,")
    stored = VdiskSample.objects.filter(series__host__name="pve9")
    assert stored.count() == whole
