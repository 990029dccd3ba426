"""Telegraf's `inputs.vsphere` on a vCenter of govmomi's simulator, against the real web server."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.core.mapping import Form
from ingest.models import (
    DiskioSample,
    GaugeSample,
    RejectedLine,
    Series,
    UnknownMeasurement,
    VdiskSample,
)  # fmt: skip
from ingest.sources import vsphere
from tests.testbed.conftest import Laboratory, wait_for
from tests.testbed.programs import bed_file
from tests.testbed.telegraf import collecting, configuration

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.telegraf,
    pytest.mark.vcenter,
    pytest.mark.slow,
    pytest.mark.timeout(240),
]

README = Path(vsphere.__file__).with_name("README.md")
HOSTS = {"DC0_C0_H0", "DC0_C0_H1"}
GUESTS = {"DC0_C0_RP0_VM0", "DC0_C0_RP0_VM1"}


def documented(address: str) -> str:
    """The configuration of the source's README, with the simulator's address and credentials."""
    found = re.search(r"```toml\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    return found[1].replace("https://vcenter.example.com", f"http://{address}")


@pytest.fixture(scope="module")
def vcenter() -> Iterator[str]:
    """The address of a running vCenter."""
    process = subprocess.Popen([bed_file("vcenter")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the simulator did not start; its reason is above"
        yield address
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def collected(laboratory: Laboratory, vcenter: str, telegraf: Path) -> Laboratory:
    """What a round of Telegraf gave; a mean needs no second one, which comes a minute later."""
    text = configuration(
        documented(vcenter), url=laboratory.server.url, secret=laboratory.tenant.secret
    )
    with collecting(telegraf, laboratory.folder, text) as log:
        for model in (VdiskSample, DiskioSample, GaugeSample):
            wait_for(
                model.objects.exists,
                what=f"samples of {model._meta.db_table}",
                or_show=log,
            )
    laboratory.find()
    return laboratory


def test_guests_are_workloads_with_names_on_their_hosts(collected: Laboratory) -> None:
    named = collected.said("workload", "name")

    assert {name for _, _, name in named} == GUESTS
    assert {host for host, _, _ in named} <= HOSTS
    assert {host for host, _ in collected.subjects("vdisk")} <= HOSTS
    assert not RejectedLine.objects.exists()
    assert not UnknownMeasurement.objects.exists()


def test_datastore_is_one_of_both_hosts_with_the_guests_on_it(collected: Laboratory) -> None:
    (found,) = collected.datastores()

    assert {host for host, _ in found} == HOSTS
    assert collected.workloads() == GUESTS
    for guest in GUESTS:
        ((host, datastore),) = collected.allocations(guest)
        assert host in HOSTS
        assert {device for _, device in found} == {f"datastore/{datastore}"}


def test_virtual_disks_have_rates_of_ios_and_latency(collected: Laboratory) -> None:
    disk = Series.objects.filter(measurement="vdisk", tags__device="scsi0:0")
    row = VdiskSample.objects.filter(series__in=disk).latest("time")

    assert {one.form for one in disk} == {Form.RATE}
    # The simulator shows 200 reads a second and a fifth of noise, each of 4 ms.
    assert 200_000 * 0.1 < row.reads < 200_000 * 3
    assert row.read_time == pytest.approx(row.reads * 4_000_000, rel=1e-6)


def test_datastores_of_hosts_have_rates_and_their_congestion(collected: Laboratory) -> None:
    datastores = Series.objects.filter(measurement="diskio", subject__startswith="datastore/")

    assert datastores.values("host__name").distinct().count() == len(HOSTS)
    assert {one.form for one in datastores} == {Form.RATE}
    gauges = Series.objects.filter(measurement="gauge", subject__startswith="datastore/")
    assert "siocActiveTimePercentage_average" in {one.tags["field"] for one in gauges}
