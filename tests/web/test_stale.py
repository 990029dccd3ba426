"""What is stale says so, with its age, in the same words wherever it is read."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from advisor.models import ResourceStatus, Workload
from tests.web.fleet import Fleet
from tests.web.html import page_of

STALE = "not evaluated for 11 min (background worker is behind)"


@pytest.fixture
def worker_is_behind(fleet: Fleet) -> None:
    """Nobody has evaluated anything for eleven minutes and a half."""
    ResourceStatus.objects.all().update(looked_at=fleet.now - timedelta(minutes=11, seconds=30))


def command(name: str, fleet: Fleet, *, as_json: bool = True) -> str:
    """What the command prints; its exit status is tested elsewhere."""
    out = StringIO()
    words = [name, f"--organisation={fleet.organisation.slug}", *(["--json"] if as_json else [])]
    try:
        call_command(*words, stdout=out)
    except SystemExit as end:
        assert end.code == 3  # noqa: PT017 - it may also end without
    return out.getvalue()


def row_of(text: str, key: str, name: str) -> dict[str, Any]:
    found = json.loads(text)
    rows = found["resources"] if key == "resource" else found
    (row,) = [one for one in rows if one[key] == name]
    assert isinstance(row, dict)
    return row


@pytest.mark.usefixtures("worker_is_behind")
def test_stale_state_is_told_in_the_same_words_everywhere(viewer: Client, fleet: Fleet) -> None:
    nfs = fleet.resources["nfs-07"]
    workload = Workload.objects.get(name="db-orders")
    host = fleet.hosts["kvm-01"]

    row = row_of(command("status", fleet), "resource", "nfs-07")
    api = viewer.get(f"/api/v1/resources/{nfs.pk}/charts?range=1h").json()["resource"]

    assert (row["state"], row["stale"], row["reason"]) == ("unknown", True, STALE)
    assert (api["state"], api["stale"], api["reason"]) == ("unknown", True, STALE)
    assert STALE in command("status", fleet, as_json=False)
    assert f": {STALE}; +" in page_of(viewer.get("/")).all_text()
    for path, before in [
        (f"/resources/{nfs.pk}/", ""),
        (f"/workloads/{workload.pk}/", "nfs-07: "),
        (f"/hosts/{host.pk}/", ""),
    ]:
        text = page_of(viewer.get(path)).all_text().lower()
        assert f"{before}{STALE}".lower() in text, path


@pytest.mark.usefixtures("worker_is_behind")
def test_nothing_stale_is_called_congested(viewer: Client, fleet: Fleet) -> None:
    overview = page_of(viewer.get("/"))
    resource = page_of(viewer.get(f"/resources/{fleet.resources['nfs-07'].pk}/"))

    assert overview.text("h1") == "1 resource was congested when last seen"
    assert resource.text("h1") == "nfs-07 has an unknown state"


def test_silent_host_is_told_in_the_same_words_everywhere(viewer: Client, fleet: Fleet) -> None:
    # The story ends with kvm-05 silent; here kvm-01, which runs workloads, is it too.
    host = fleet.hosts["kvm-01"]
    host.last_sample_at = fleet.now - timedelta(minutes=25)
    host.save()
    workload = Workload.objects.get(name="db-orders")

    said = row_of(command("hosts", fleet), "name", "kvm-01")["samples"]

    assert said.startswith("No samples for 25 min; check that Telegraf runs there")
    assert said in command("hosts", fleet, as_json=False)
    for path in ("/hosts/", f"/hosts/{host.pk}/", f"/workloads/{workload.pk}/"):
        assert said in page_of(viewer.get(path)).all_text(), path
    assert "kvm-05 No samples for 25 min" in page_of(viewer.get("/")).all_text()


def test_fresh_state_is_not_called_stale(viewer: Client, fleet: Fleet) -> None:
    nfs = fleet.resources["nfs-07"]

    api = viewer.get(f"/api/v1/resources/{nfs.pk}/charts?range=1h").json()["resource"]

    assert (api["state"], api["stale"]) == ("congested", False)
    assert "not evaluated" not in page_of(viewer.get("/")).all_text()
