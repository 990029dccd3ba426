"""Charts carry what was measured, on one grid, and go on where they stopped."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from advisor.models import Incident, Resource, ResourceKind
from ingest.models import Series
from tests.web.fleet import Fleet
from tests.web.load import Recorder


@pytest.fixture
def steady_disk(fleet: Fleet) -> Resource:
    """A disk that does 100 reads and writes per second, each in 8 ms, for the last 30 minutes."""
    resource = fleet.add_resource(
        "kvm-01/sdz",
        ResourceKind.DATASTORE,
        capacity=500.0,
        threshold=20.0,
        attachments=(("kvm-01", "sdz"),),
    )
    recorder = Recorder(since=fleet.now - timedelta(minutes=30), until=fleet.now)
    recorder.disk(fleet.hosts["kvm-01"], "sdz", iops=lambda _: 100.0, latency_ms=lambda _: 8.0)
    recorder.write()
    return resource


def charts(client: Client, resource: Resource, **query: object) -> dict[str, Any]:
    answer = client.get(f"/api/v1/resources/{resource.pk}/charts", query)
    assert answer.status_code == 200, answer.content
    plain: dict[str, Any] = answer.json()
    plain["by_key"] = {chart["key"]: chart for chart in plain["charts"]}
    return plain


def known(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def test_rates_are_those_of_the_counters(viewer: Client, steady_disk: Resource) -> None:
    found = charts(viewer, steady_disk, range="15m")["by_key"]

    read, written = found["iops"]["tracks"]
    # The recorder makes 70 % of the I/Os reads of 8 KiB, and the rest writes of 16 KiB.
    assert known(read["values"]) == pytest.approx([70.0] * len(known(read["values"])), rel=0.01)
    assert known(written["values"]) == pytest.approx(
        [30.0] * len(known(written["values"])), rel=0.01
    )
    assert known(found["throughput"]["tracks"][0]["values"])[0] == pytest.approx(
        70 * 8192, rel=0.01
    )


def test_outstanding_is_told_per_host_by_littles_law(
    viewer: Client, steady_disk: Resource
) -> None:
    chart = charts(viewer, steady_disk, range="15m")["by_key"]["outstanding"]

    (track,) = chart["tracks"]
    # 100 IOPS of 8 ms each: 0.8 in flight
    assert known(track["values"]) == pytest.approx([0.8] * len(known(track["values"])), rel=0.02)
    assert chart["unit"] == "commands"


def test_latency_is_normalised_to_the_reference_size(
    viewer: Client, steady_disk: Resource
) -> None:
    level = charts(viewer, steady_disk, range="15m")["by_key"]["level"]

    # Mean size 0.7*8192 + 0.3*16384 = 10650 bytes; 8 ms * (51000+8000)/(51000+10650) = 7.66 ms.
    values = known(level["tracks"][0]["values"])
    assert values == pytest.approx([7.66] * len(values), rel=0.01)
    assert level["marks"] == [{"label": "threshold", "value": 20.0, "colour": None}]


def test_time_without_samples_is_null_not_zero(viewer: Client, steady_disk: Resource) -> None:
    found = charts(viewer, steady_disk, range="1h")

    values = found["by_key"]["iops"]["tracks"][0]["values"]
    half = len(values) // 2
    # Samples begin half an hour ago; a cell at the edge may be known either way.
    assert set(values[: half - 2]) == {None}
    assert None not in values[half + 2 :]


def test_cells_are_few_enough_for_the_points_asked_for(
    viewer: Client, steady_disk: Resource
) -> None:
    found = charts(viewer, steady_disk, range="1h", points=100)

    assert found["step_s"] == 60  # 36 s a point, and 60 s is the next step that charts have
    assert len(found["t"]) == 60
    assert all(
        len(track["values"]) == 60 for chart in found["charts"] for track in chart["tracks"]
    )


def test_continued_chart_has_the_cells_of_the_whole_one(
    viewer: Client, steady_disk: Resource
) -> None:
    whole = charts(viewer, steady_disk, range="15m")
    since = whole["t"][-4]

    rest = charts(viewer, steady_disk, range="15m", since=since, step=whole["step_s"])

    assert rest["t"] == whole["t"][-3:]
    assert rest["by_key"]["iops"]["tracks"][0]["values"] == pytest.approx(
        whole["by_key"]["iops"]["tracks"][0]["values"][-3:]
    )


def test_workloads_are_stacked_up_to_what_the_device_did(viewer: Client, fleet: Fleet) -> None:
    found = charts(viewer, fleet.resources["nfs-07"], range="15m")["by_key"]

    tracks = found["workloads"]["tracks"]
    assert [track["label"] for track in tracks] == [
        "db-orders",
        "web-shop",
        "batch-3",
        "mail-1",
        "report-2",
        "everything else",
    ]
    stacked = sum(track["values"][-5] for track in tracks)
    read, written = found["iops"]["tracks"]
    assert stacked == pytest.approx(read["values"][-5] + written["values"][-5], rel=0.01)
    assert {mark["label"]: mark["value"] for mark in found["workloads"]["marks"]} == {
        "reserved for db-orders": 1500.0,
        "reserved for web-shop": 600.0,
        "capacity": 5200.0,
    }


def test_incidents_of_the_range_are_shaded(viewer: Client, fleet: Fleet) -> None:
    incident = Incident.objects.get(ended_at=None)

    now, before = (
        charts(viewer, fleet.resources["nfs-07"], **query)
        for query in (
            {"range": "15m"},
            {"from": "2026-11-20T10:40:00Z", "to": "2026-11-20T11:00:00Z"},
        )
    )

    assert now["incidents"] == [[incident.started_at.timestamp(), None]]
    assert before["incidents"] == []


@pytest.mark.parametrize(
    ("name", "key", "reason"),
    [
        ("kvm-04/eno1", "level", "capacity of kvm-04/eno1 is not known"),
        ("kvm-04/eno1", "workloads", "No workload has an allocation on kvm-04/eno1"),
        ("san-02", "workloads", "No workload has an allocation on san-02"),
    ],
)
def test_empty_chart_says_why(
    viewer: Client, fleet: Fleet, name: str, key: str, reason: str
) -> None:
    chart = charts(viewer, fleet.resources[name])["by_key"][key]

    assert reason in chart["gap"]


def test_host_without_samples_says_which_device_is_silent(viewer: Client, fleet: Fleet) -> None:
    Series.objects.filter(host__name="kvm-04").delete()

    chart = charts(viewer, fleet.resources["kvm-04/eno1"])["by_key"]["rate"]

    assert chart["gap"] == "No samples of kvm-04:eno1 arrived in this range."


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"range": "2y"}, "There is no range"),
        ({"from": "then"}, "is not a time"),
        ({"points": "many"}, "points is a number"),
        ({"step": "7"}, "step is one of 1, 2, 5"),
        ({"since": "nan"}, "since is out of range"),
        ({"since": "1e99"}, "since is out of range"),
    ],
)
def test_unusable_question_is_400_with_the_reason(
    viewer: Client, fleet: Fleet, query: dict[str, str], reason: str
) -> None:
    answer = viewer.get(f"/api/v1/resources/{fleet.resources['nfs-07'].pk}/charts", query)

    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid"
    assert reason in answer.json()["message"]


def test_logged_out_chart_is_401_not_the_login_page(client: Client, fleet: Fleet) -> None:
    answer = client.get(f"/api/v1/resources/{fleet.resources['nfs-07'].pk}/charts")

    assert answer.status_code == 401


def test_csv_has_the_cells_and_units(viewer: Client, steady_disk: Resource) -> None:
    answer = viewer.get(f"/api/v1/resources/{steady_disk.pk}/charts/iops.csv", {"range": "15m"})

    rows = list(csv.reader(io.StringIO(answer.content.decode())))
    assert answer.headers["Content-Disposition"] == 'attachment; filename="kvm-01-sdz-iops.csv"'
    assert rows[0] == ["time", "read (iops)", "written (iops)"]
    assert rows[-1][0] == "2026-11-20 12:00:00 UTC"
    assert float(rows[-1][1]) == pytest.approx(70.0, rel=0.01)


def test_csv_head_is_never_a_formula(viewer: Client, fleet: Fleet) -> None:
    allocation = fleet.resources["nfs-07"].allocations.get(workload__name="mail-1")
    allocation.workload.name = '=HYPERLINK("x")'
    allocation.workload.save()

    address = f"/api/v1/resources/{fleet.resources['nfs-07'].pk}/charts/workloads.csv"
    head = viewer.get(address).content.decode().splitlines()[0]

    assert "'=HYPERLINK" in head


def test_unknown_chart_has_no_csv(viewer: Client, fleet: Fleet) -> None:
    address = f"/api/v1/resources/{fleet.resources['nfs-07'].pk}/charts/nothing.csv"

    assert viewer.get(address).status_code == 404
