"""What is gone takes no part in what is divided or listed; the past is drawn with it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from advisor.advice.queue_depth.gather import queue_depth_inputs
from tests.web.fleet import Fleet
from tests.web.html import page_of


@pytest.fixture
def gone(fleet: Fleet) -> str:
    """The workload of the low tier on nfs-07, which was seen for the last time an hour ago."""
    fleet.resources["nfs-07"].allocations.filter(workload__name="batch-3").update(
        found=True, vanished_at=fleet.now - timedelta(hours=1)
    )
    return "batch-3"


def test_nothing_is_divided_among_what_is_gone(viewer: Client, fleet: Fleet, gone: str) -> None:
    page = page_of(viewer.get(f"/resources/{fleet.resources['nfs-07'].pk}/what-if/"))

    assert "db-orders" in page.text("#what-if-rows")
    assert gone not in page.text("#what-if-rows")


def test_page_of_a_resource_lists_what_is_there(viewer: Client, fleet: Fleet, gone: str) -> None:
    address = f"/resources/{fleet.resources['nfs-07'].pk}/"

    rows = page_of(viewer.get(address)).elements("#resource-allocations tbody th")

    names = {row.all_text().strip() for row in rows}
    assert any("db-orders" in name for name in names)
    assert not any(gone in name for name in names)


def test_lists_count_what_is_there(viewer: Client, fleet: Fleet, gone: str) -> None:
    listed = page_of(viewer.get("/workloads/?q=batch")).all_text()
    assert gone not in listed


def test_shares_of_what_is_gone_take_no_queue(fleet: Fleet) -> None:
    lun = fleet.resources["nfs-07"]
    lun.lun_queue_depth = 64
    lun.attachments.update(device_queue_depth=32)

    def shares(host: str) -> float:
        (inputs,) = queue_depth_inputs(lun, fleet.now)
        return {one.host: one.shares for one in inputs.hosts}[host]

    # db-orders is of the high tier, report-2 of the low one.
    assert shares("kvm-01") == 2000 + 500
    lun.allocations.filter(workload__name="report-2").update(vanished_at=fleet.now)
    assert shares("kvm-01") == 2000
