"""The parts of a latency that ESXi says are read of the same I/Os."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.core.device.latency_layers import LatencyLayers, NoLayers
from advisor.decisions import inventory
from advisor.history.latency_layers import DeviceLayers, read_latency_layers
from advisor.models import Resource, ResourceKind
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db

PARTS = {"guest": 42.0, "kernel": 32.0, "queue": 30.0}


def rows(parts: dict[str, float], *, reads: float, device_ms: float, minutes_ago: int) -> str:
    """What esxtop says of a device each ten seconds of one minute."""
    fields = {
        "reads_per_sec": reads,
        "writes_per_sec": 0.0,
        "average_driver_millisec_per_read": device_ms,
        "average_driver_millisec_per_write": 0.0,
        **{f"average_{name}_millisec_per_command": value for name, value in parts.items()},
    }
    said = ",".join(f"{name}={value}" for name, value in fields.items())
    ends = [NOW - timedelta(minutes=minutes_ago, seconds=-10 * place) for place in range(1, 7)]
    head = "esxtop_physical_disk_scsi_device,device=naa.1,host=esx1,instance=naa.1"
    return "".join(f"{head} {said} {int(at.timestamp())}000000000\n" for at in ends)


def found(cluster: Cluster, lines: str) -> list[DeviceLayers]:
    send(cluster.organisation, lines, now=NOW)
    store: Resource = inventory.add_resource(
        organisation=cluster.organisation,
        name="vmfs1",
        kind=ResourceKind.DATASTORE,
        attachments=[("esx1", "naa.1")],
    )
    return read_latency_layers(store, since=NOW - timedelta(minutes=2), until=NOW)


def test_layers_are_means_over_the_ios() -> None:
    idle = rows(dict.fromkeys(PARTS, 2.0), reads=100.0, device_ms=0.0, minutes_ago=2)
    busy = rows(PARTS, reads=900.0, device_ms=10.0, minutes_ago=1)
    old = rows(dict.fromkeys(PARTS, 900.0), reads=900.0, device_ms=0.0, minutes_ago=4)

    (one,) = found(make_cluster(), old + idle + busy)

    assert (one.host, one.device) == ("esx1", "naa.1")
    assert isinstance(one.found, LatencyLayers)
    # nine of ten I/Os are of the second minute
    assert one.found.guest_ms == pytest.approx(0.1 * 2 + 0.9 * 42)
    assert one.found.queue_ms == pytest.approx(0.1 * 2 + 0.9 * 30)
    assert one.found.kernel_ms == pytest.approx(0.9 * 2)
    assert one.found.device_ms == pytest.approx(0.9 * 10)


def test_host_that_says_only_the_whole_is_told_what_lacks() -> None:
    (one,) = found(make_cluster(), rows({"guest": 42.0}, reads=9.0, device_ms=1.0, minutes_ago=1))

    assert isinstance(one.found, NoLayers)
    assert one.found.reason == "the host does not say the latency of kernel and queue"


def test_host_that_says_no_part_has_no_layers() -> None:
    assert found(make_cluster(), rows({}, reads=9.0, device_ms=1.0, minutes_ago=1)) == []
