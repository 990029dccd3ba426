"""The capacity of a datastore by what it delivered under load, and what is admitted by it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from advisor.decisions.inventory import set_allocation
from advisor.errors import InventoryError
from advisor.history.seen_capacity import capacity_seen
from advisor.models import AdapterKind, Resource
from tests.advisor.advised_datastores import datastore
from tests.advisor.disk_samples import DiskPhase, disk_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db

INTERVALS = 60


def loaded(cluster: Cluster, *, latency_ms: float, until: datetime = NOW) -> Resource:
    """A datastore that did 1000 I/Os a second from each of two hosts, at this latency."""
    lun = datastore(cluster, "lun", "h1", "h2")
    Resource.objects.filter(pk=lun.pk).update(capacity=None, threshold=30)
    lun.refresh_from_db()
    start = until - timedelta(seconds=10 * INTERVALS)
    for host in ("h1", "h2"):
        phase = DiskPhase(intervals=INTERVALS, iops=1000, latency_ms=latency_ms)
        send(cluster.organisation, disk_lines(host, "lun", [phase], start=start), now=until)
    return lun


def reserve(lun: Resource, iops: float) -> None:
    set_allocation(
        resource=lun, workload_name="db", host_name="h1", adapter_kind=AdapterKind.CGROUP,
        adapter="/db", reservation=iops,
    )  # fmt: skip


def test_capacity_is_what_all_hosts_got_above_the_threshold() -> None:
    found = capacity_seen(loaded(make_cluster(), latency_ms=80), now=NOW)

    assert found is not None
    assert found.value == pytest.approx(2000, rel=0.01)
    assert not found.is_bound


def test_below_the_threshold_it_is_a_lower_bound() -> None:
    found = capacity_seen(loaded(make_cluster(), latency_ms=5), now=NOW)

    assert found is not None
    assert found.value == pytest.approx(2000, rel=0.01)
    assert found.is_bound


def test_uplink_has_the_capacity_that_its_host_says() -> None:
    assert capacity_seen(make_cluster().uplink, now=NOW) is None


def test_reservation_is_admitted_by_what_was_seen_where_no_capacity_is_stated() -> None:
    lun = loaded(make_cluster(), latency_ms=80, until=timezone.now().replace(microsecond=0))

    # Three quarters of 2000 can be reserved.
    reserve(lun, 1400)
    with pytest.raises(InventoryError, match="75% of what it delivered under load"):
        reserve(lun, 1600)


def test_reservation_needs_a_load_that_was_seen() -> None:
    lun = loaded(make_cluster(), latency_ms=5, until=timezone.now().replace(microsecond=0))

    with pytest.raises(InventoryError, match="it was not seen under load yet"):
        reserve(lun, 100)
