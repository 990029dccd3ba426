"""Charts of hosts and workloads, and charts beside the same hours of an earlier day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from advisor.models import Workload
from advisor.queries.charts import Chart, ChartKind, ChartSet, Track
from advisor.queries.earlier import COMPARISONS, comparison_of, with_earlier
from ingest.partitions import ensure_partitions
from tests.web.fleet import Fleet
from tests.web.html import page_of
from tests.web.load import Recorder

(DAY, WEEK) = COMPARISONS
STEP_S = 60


def chart_of(kind: ChartKind, *tracks: Track) -> Chart:
    return Chart(
        key="k", title="t", unit="iops", kind=kind, tracks=tracks, marks=(), gap=None
    )  # fmt: skip


def set_of(first_s: int, kind: ChartKind, **values: tuple[float | None, ...]) -> ChartSet:
    length = max(len(row) for row in values.values())
    tracks = [
        Track(label=name, colour=place, values=row)
        for place, (name, row) in enumerate(values.items(), start=1)
    ]
    return ChartSet(
        step_s=STEP_S,
        ends_s=tuple(first_s + STEP_S * cell for cell in range(length)),
        charts=(chart_of(kind, *tracks),),
    )


VALUES = st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=20).map(tuple)


@given(values=VALUES, comparison=st.sampled_from(COMPARISONS))
def test_line_of_an_earlier_day_is_moved_and_not_changed(
    values: tuple[float | None, ...], comparison: Any
) -> None:
    shift_s = int(comparison.shift.total_seconds())
    now, before = (set_of(at, ChartKind.LINE, a=values) for at in (shift_s + 600, 600))

    drawn = with_earlier(now, before, comparison).charts[0].tracks

    assert [track.values for track in drawn] == [values, values]
    assert [track.is_earlier for track in drawn] == [False, True]
    assert drawn[1].label == f"a, {comparison.words}"


def test_cell_that_the_earlier_day_lacks_is_unknown() -> None:
    now = set_of(86_400, ChartKind.LINE, a=(1.0, 2.0, 3.0))
    before = set_of(STEP_S, ChartKind.LINE, a=(20.0,))

    *_, earlier = with_earlier(now, before, DAY).charts[0].tracks

    assert earlier.values == (None, 20.0, None)


def test_stack_is_compared_with_the_sum_of_the_earlier_one() -> None:
    now = set_of(86_400, ChartKind.STACK, a=(1.0,), b=(2.0,))
    before = set_of(0, ChartKind.STACK, a=(10.0,), c=(5.0,))

    *parts, earlier = with_earlier(now, before, DAY).charts[0].tracks

    assert [part.label for part in parts] == ["a", "b"]
    assert (earlier.label, earlier.values) == ("all, a day earlier", (15.0,))


def test_every_step_of_a_grid_divides_every_shift() -> None:
    from ingest.core.steps import STEPS_S

    assert {one.shift % timedelta(seconds=step) for one in COMPARISONS for step in STEPS_S} == {
        timedelta(0)
    }
    assert comparison_of("") is None


# --- The interface


def charts(client: Client, address: str, **query: str) -> dict[str, Any]:
    answer = client.get(address, query)
    assert answer.status_code == 200, answer.content
    return {chart["key"]: chart for chart in answer.json()["charts"]}


def mean(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)


def test_charts_of_a_host_are_of_its_devices_and_workloads(viewer: Client, fleet: Fleet) -> None:
    found = charts(viewer, f"/api/v1/hosts/{fleet.hosts['kvm-02'].pk}/charts")

    assert list(found) == [
        "workloads-iops", "workloads-bits-per-s",
        "disk-rate", "disk-latency", "disk-throughput", "sent", "received",
    ]  # fmt: skip
    tracks = {key: [one["label"] for one in chart["tracks"]] for key, chart in found.items()}
    assert tracks["workloads-iops"] == ["mail-1", "web-shop"]
    assert tracks["workloads-bits-per-s"] == ["backup-7", "mail-1", "web-shop"]
    assert tracks["disk-rate"] == ["sdb", "sdd"]
    assert tracks["sent"] == ["eno1"]
    # 3.6 + 1.1 + 3.2 + 0.12 Gbit/s, each with a few percent of noise.
    assert mean(found["sent"]["tracks"][0]["values"]) == pytest.approx(8.0e9, rel=0.08)


def test_charts_of_a_workload_are_one_per_resource_with_its_promise(
    viewer: Client, fleet: Fleet
) -> None:
    pk = Workload.objects.get(name="web-shop").pk
    found = charts(viewer, f"/api/v1/workloads/{pk}/charts")

    titles = [chart["title"] for chart in found.values()]
    assert titles == ["Rate on kvm-02/eno1", "Rate on nfs-07"]
    on_nfs = found[f"rate-{fleet.resources['nfs-07'].pk}"]
    assert {"label": "reserved", "value": 600.0, "colour": None} in on_nfs["marks"]
    assert len(on_nfs["incidents"]) == 1
    assert mean(on_nfs["tracks"][0]["values"]) > 100


def test_chart_is_compared_with_the_day_before(viewer: Client, fleet: Fleet) -> None:
    host = fleet.hosts["kvm-04"]
    yesterday = fleet.now - timedelta(days=1)
    ensure_partitions({yesterday.date()})
    recorder = Recorder(since=yesterday - timedelta(hours=1), until=yesterday, step_s=60)
    recorder.disk(host, "sdx", iops=lambda _: 250.0, latency_ms=lambda _: 2.0)
    recorder.write()
    host.attachments.filter(device="nvme0n1").update(device="sdx")
    address = f"/api/v1/hosts/{host.pk}/charts"

    alone = charts(viewer, address)["disk-rate"]["tracks"]
    now, earlier = charts(viewer, address, compare="day")["disk-rate"]["tracks"]

    assert [track["earlier"] for track in alone] == [False]
    assert (earlier["label"], earlier["earlier"]) == ("all, a day earlier", True)
    assert all(value is None for value in now["values"])
    assert mean(earlier["values"]) == pytest.approx(250.0)


def test_csv_has_the_earlier_day_too(viewer: Client, fleet: Fleet) -> None:
    pk = fleet.resources["nfs-07"].pk
    answer = viewer.get(f"/api/v1/resources/{pk}/charts/iops.csv", {"compare": "week"})

    head = answer.content.decode().splitlines()[0]
    assert "read, a week earlier (iops)" in head


def test_unknown_comparison_is_refused(viewer: Client, fleet: Fleet) -> None:
    answer = viewer.get(f"/api/v1/hosts/{fleet.hosts['kvm-02'].pk}/charts", {"compare": "year"})

    assert answer.status_code == 400
    assert 'compare is one of day, week, not "year"' in answer.json()["message"]


def test_pages_hold_range_and_comparison_in_the_address(viewer: Client, fleet: Fleet) -> None:
    pk = Workload.objects.get(name="db-orders").pk
    incident = fleet.resources["nfs-07"].incidents.get().pk
    for address in (
        f"/hosts/{fleet.hosts['kvm-02'].pk}/",
        f"/workloads/{pk}/",
        f"/incidents/{incident}/",
        f"/resources/{fleet.resources['nfs-07'].pk}/",
    ):
        page = page_of(viewer.get(address, {"range": "6h", "compare": "week"}))

        chosen = [one["value"] for one in page.elements("option") if "selected" in one.attributes]
        assert "week" in chosen
        current = [one for one in page.elements(".choices a") if one.get("aria-current")]
        assert [one["href"] for one in current] == ["?range=6h&compare=week"]


def test_incident_begins_with_its_own_time(viewer: Client, fleet: Fleet) -> None:
    row = fleet.resources["nfs-07"].incidents.get()
    page = page_of(viewer.get(f"/incidents/{row.pk}/"))

    place = next(one for one in page.elements(".charts") if "data-charts" in one.attributes)
    since = datetime.fromisoformat(place["data-from"]).astimezone(UTC)
    assert since == (row.started_at - timedelta(minutes=15)).replace(microsecond=0)
    assert page.links()["Whole incident"] == "?"


def test_host_page_lists_its_busiest_workloads_first(viewer: Client, fleet: Fleet) -> None:
    page = page_of(viewer.get(f"/hosts/{fleet.hosts['kvm-02'].pk}/"))

    rows = [
        one.all_text().strip() for one in page.elements(".list th") if one.get("scope") == "row"
    ]
    # By unit, then by rate: 720 and 310 IOPS, then 3.6, 3.2 and 1.1 Gbit/s.
    assert rows == ["web-shop", "mail-1", "web-shop", "backup-7", "mail-1"]
    assert page.links()["In the list"] == "/workloads/?host=kvm-02"
