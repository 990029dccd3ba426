"""An incident says what happened, when, to whom and by whom."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.test import Client

from advisor.core.standing import UNALLOCATED
from advisor.models import Incident, Recommendation, Workload
from advisor.pipeline.amend import figures_of
from tests.advisor.agent_reports import tell_bursts, tell_disk_bursts
from tests.advisor.samples import send
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of


@pytest.fixture
def incident(fleet: Fleet) -> Incident:
    row = Incident.objects.get(ended_at=None)
    row.started_at = fleet.now - timedelta(minutes=42)
    row.peak_value = 41.26
    row.aggressors = [
        {
            "workload": "batch-3",
            "rate": 3150.0,
            "entitlement": 670.0,
            "part_ratio": 0.612,
            "excess_ratio": 1.0,
        }
    ]
    row.victims = [
        {
            "workload": "db-orders",
            "rate": 950.0,
            "entitlement": 2680.0,
            "reservation": 1500.0,
            "shortfall_ratio": 0.646,
        }
    ]
    row.save()
    return row


def shown(client: Client, incident: Incident) -> Page:
    return page_of(client.get(f"/incidents/{incident.pk}/"))


def test_open_incident_is_told_in_the_present(viewer: Client, incident: Incident) -> None:
    page = shown(viewer, incident)

    assert page.text("h1") == "nfs-07: congested for 42 min"
    assert "batch-3 uses 61 %; 1 workload slowed: db-orders." in page.text(".lead")
    assert "UTC, ongoing, peak 41.3 ms." in page.all_text()


def test_layers_of_an_esxi_host_are_told_and_lack_elsewhere(
    viewer: Client, fleet: Fleet, incident: Incident
) -> None:
    assert "Not told: no host said of this time" in shown(viewer, incident).all_text()
    at = incident.resource.attachments.select_related("host").order_by("pk")[0]
    of = f"device={at.device},host={at.host.name},instance={at.device}"
    parts = {"guest": 42.0, "kernel": 32.0, "queue": 30.0}
    said = ",".join(f"average_{name}_millisec_per_command={ms}" for name, ms in parts.items())
    said += ",reads_per_sec=90.0,average_driver_millisec_per_read=10.0,writes_per_sec=0.0"
    said += ",average_driver_millisec_per_write=0.0"
    ends = [fleet.now - timedelta(seconds=10 * place) for place in range(3)]
    lines = [
        f"esxtop_physical_disk_scsi_device,{of} {said} {int(end.timestamp())}000000000\n"
        for end in ends
    ]
    send(fleet.organisation, "".join(lines), now=fleet.now)

    text = shown(viewer, incident).all_text()

    assert f"On {at.host.name}, of 42.0 ms that guests wait for an I/O, 10.0 ms are the" in text
    assert "30.0 ms the queue in the host" in text


def test_victim_that_hits_its_own_limit_in_bursts_is_told(viewer: Client, fleet: Fleet) -> None:
    uplink = fleet.resources["kvm-02/eno1"]
    victim = {"workload": "mail-1", "rate": 3e6, "entitlement": 9e6, "reservation": 0.0}
    incident = Incident.objects.create(
        organisation=fleet.organisation,
        resource=uplink,
        started_at=fleet.now - timedelta(minutes=42),
        peak_value=0.95,
        threshold=0.9,
        windows=9,
        victims=[victim | {"shortfall_ratio": 0.6}],
    )
    tell_bursts(uplink.allocations.get(workload__name="mail-1"), now=fleet.now)

    text = shown(viewer, incident).all_text()

    assert "Whatever the others do, mail-1 hits its own limit for 167 ms of each second" in text


def test_victim_that_uses_up_the_limit_of_its_disk_in_bursts_is_told(
    viewer: Client, fleet: Fleet, incident: Incident
) -> None:
    allocation = incident.resource.allocations.select_related("workload", "host")[0]
    victim = {"workload": allocation.workload.name, "rate": 200.0, "entitlement": 900.0}
    Incident.objects.filter(pk=incident.pk).update(
        victims=[victim | {"reservation": 0.0, "shortfall_ratio": 0.6}]
    )
    tell_disk_bursts(allocation, now=fleet.now)

    text = shown(viewer, incident).all_text()

    name = allocation.workload.name
    assert f"Whatever the others do, {name} hits its own limit for 67 ms of each second" in text
    assert "by 270 looks of 100 ms), while its mean is 200 IOPS of 1000 IOPS" in text


@pytest.mark.parametrize("is_known", [True, False, None], ids=["waits", "unseen", "before"])
def test_victim_of_whom_nothing_is_measured_has_an_unknown_demand(
    viewer: Client, incident: Incident, is_known: bool | None
) -> None:
    victim = {"workload": "db-1", "rate": 200.0, "entitlement": 900.0, "reservation": 0.0}
    victim |= {"shortfall_ratio": 0.6} | (
        {} if is_known is None else {"is_demand_known": is_known}
    )
    Incident.objects.filter(pk=incident.pk).update(victims=[victim])

    text = shown(viewer, incident).all_text()

    assert ("demand unknown" in text) == (is_known is False)
    assert ("nothing measures whether the workload waits" in text) == (is_known is False)


def test_incident_names_three_victims_and_counts_the_rest(
    viewer: Client, incident: Incident
) -> None:
    Incident.objects.filter(pk=incident.pk).update(
        victims=[{"workload": f"db-{number}"} for number in range(43)]
    )

    page = shown(viewer, incident)

    assert "43 workloads slowed: db-0, db-1, db-2 +40 more." in page.text(".lead")
    assert len(page.text("h1").split()) <= 12


def test_ended_incident_is_told_in_the_past(viewer: Client, incident: Incident) -> None:
    Incident.objects.filter(pk=incident.pk).update(
        ended_at=incident.started_at + timedelta(minutes=30)
    )

    page = shown(viewer, incident)

    assert page.text("h1") == "nfs-07: congested for 30 min"
    lead = page.text(".lead")
    assert lead.startswith("nfs-07 was congested for 30 min: up to 41.3 ms against 15.0 ms")
    assert "batch-3 used 61 %" in lead


def test_parties_have_their_numbers(viewer: Client, incident: Incident) -> None:
    page = shown(viewer, incident)

    assert page.row("table", "batch-3") == ["61 %", "100 %", "3150", "670"]
    # 65 % of the 41 minutes since it began are 27.
    assert page.row("table", "db-orders") == ["27", "65 %", "950", "1500", "2680"]


def test_parties_lead_to_their_pages_and_one_that_is_gone_is_a_name(
    viewer: Client, incident: Incident
) -> None:
    batch = Workload.objects.get(name="batch-3", organisation=incident.organisation)
    incident.victims.append({"workload": "removed-1"})
    incident.save()

    page = shown(viewer, incident)

    assert page.links()["batch-3"] == f"/workloads/{batch.pk}/"
    assert "removed-1" in page.all_text()
    assert "removed-1" not in page.links()


@pytest.mark.parametrize(("victims", "scrolls"), [(10, False), (11, True)])
def test_many_victims_do_not_push_the_charts_away(
    viewer: Client, incident: Incident, victims: int, scrolls: bool
) -> None:
    incident.victims = [{"workload": f"db-{number}"} for number in range(victims)]
    incident.aggressors = [{"workload": f"etl-{number}"} for number in range(victims)]
    incident.save()

    page = shown(viewer, incident)

    # The cause has a row for each workload too.
    parts = [one for one in page.elements("div") if "charts" in one.classes or one.get("id")]
    order = [one.get("id") or "charts" for one in parts]
    assert order.index("charts") < order.index("cause")
    boxes = [one.get("aria-label") for one in page.elements(".chart-table")]
    assert ("All that were affected" in boxes) is ("All aggressors" in boxes) is scrolls
    assert f"db-{victims - 1}" in page.all_text()


def test_traffic_without_a_allocation_is_called_so(viewer: Client, incident: Incident) -> None:
    Incident.objects.filter(pk=incident.pk).update(
        aggressors=[{"workload": UNALLOCATED, "part_ratio": 0.5}]
    )

    page = shown(viewer, incident)

    assert "other traffic uses 50 %" in page.text(".lead")
    assert page.row("table", "other traffic")[0] == "50 %"


def test_incident_without_parties_says_what_that_means(viewer: Client, incident: Incident) -> None:
    Incident.objects.filter(pk=incident.pk).update(aggressors=[], victims=[])

    page = shown(viewer, incident)

    assert page.text(".lead").endswith("against 15.0 ms.")
    assert "the resource is too small for the demand" in page.all_text()


def test_evidence_lists_the_windows(viewer: Client, incident: Incident) -> None:
    page = shown(viewer, incident)

    rows = page.elements(".chart-table tbody tr")
    assert len(rows) == len(incident.evidence) > 10
    # The browser writes its own zone, as of every time on the page.
    first = rows[0].elements_of("time")[0]
    at = datetime.fromisoformat(incident.evidence[0]["at"])
    assert datetime.fromisoformat(first["datetime"]) == at.replace(microsecond=0)
    assert first["data-clock"] == "%H:%M:%S"


def test_open_incident_says_how_often_its_parties_are_renewed(
    viewer: Client, incident: Incident
) -> None:
    said = "windows, renewed each minute like the parties"

    assert said in shown(viewer, incident).all_text()
    incident.ended_at = incident.started_at + timedelta(minutes=40)
    incident.save()
    assert said not in shown(viewer, incident).all_text()


def test_signs_of_an_uplink_are_shown_with_their_norm(viewer: Client, incident: Incident) -> None:
    incident.signals = [
        {"signal": "backlog", "windows": 12, "worst": 0.0123, "threshold": 0.005, "unit": "s"},
        {"signal": "unmet_reservation", "windows": 3, "worst": 1.0, "threshold": 0.5,
         "unit": "ratio"},
    ]  # fmt: skip
    incident.evidence[0]["signals"] = [{"signal": "unmet_reservation"}]
    incident.save()

    page = shown(viewer, incident)

    assert page.row("#signals", "backlog") == ["12", "12.3 ms", "5 ms"]
    assert page.row("#signals", "unmet reservation") == ["3", "100 %", "50 %"]
    assert (
        page.elements(".chart-table tbody .reason")[0].all_text().endswith("(unmet reservation)")
    )


def test_datastore_has_no_signs_of_an_uplink(viewer: Client, incident: Incident) -> None:
    assert shown(viewer, incident).elements("#signals") == []


@pytest.mark.parametrize(("state", "told"), [("external", True), ("none", False)])
def test_load_from_outside_is_told_with_its_grounds(
    viewer: Client, incident: Incident, state: str, *, told: bool
) -> None:
    reason = "50 ms, against 5 ms at the same load of our own"
    incident.external = {
        "state": state, "began_at": None, "normal_ms": 5.0, "recent_ms": 50.0, "own_load": 1000.0,
        "comparable_windows": 180, "reason": reason,
        "confidence": {"value": 0.9, "parts": [{"name": "windows", "value": 0.9, "how": "x"}]},
    }  # fmt: skip
    incident.save()

    page = shown(viewer, incident)

    if told:
        assert page.text("#outside") == (
            f"External load: {reason}. Advice on shares, limits and reservations is suspended."
        )
    else:
        assert page.elements("#outside") == []


def test_load_from_outside_of_an_ended_incident_is_told_in_the_past(
    viewer: Client, incident: Incident
) -> None:
    incident.external = {
        "state": "external", "began_at": None, "normal_ms": 5.0, "recent_ms": 50.0,
        "own_load": 1000.0, "comparable_windows": 180, "reason": "50 ms where 5 ms are usual",
        "confidence": {"value": 0.9, "parts": [{"name": "windows", "value": 0.9, "how": "x"}]},
    }  # fmt: skip
    incident.aggressors = []
    incident.ended_at = incident.started_at + timedelta(minutes=30)
    incident.save()

    page = shown(viewer, incident)

    assert "Advice on shares, limits and reservations was suspended." in page.text("#outside")
    # Load of others is no signal that the resource is too small for this organisation's own.
    assert "the load came from outside" in page.all_text()
    assert "too small" not in page.all_text()


def test_charts_show_the_incident_with_a_margin(viewer: Client, incident: Incident) -> None:
    charts = shown(viewer, incident).elements(".charts")[0]

    # 42 minutes before 12:00 and a quarter of an hour more.
    assert charts["data-from"] == "2026-11-20T11:03:00+00:00"
    assert charts["data-to"] == "2026-11-20T12:00:00+00:00"


def test_recommendation_for_it_is_linked(viewer: Client, incident: Incident) -> None:
    advice = Recommendation.objects.get(state="proposed")

    links = shown(viewer, incident).links()

    assert links["Review the recommendation"] == f"/recommendations/{advice.pk}/"
    assert links[advice.summary] == f"/recommendations/{advice.pk}/"


def test_list_tells_open_from_ended(viewer: Client, incident: Incident, fleet: Fleet) -> None:
    Incident.objects.create(
        organisation=fleet.organisation,
        resource=fleet.resources["san-02"],
        started_at=fleet.now - timedelta(hours=9),
        ended_at=fleet.now - timedelta(hours=8),
        peak_value=25.0,
        threshold=20.0,
    )

    page = page_of(viewer.get("/incidents/"))

    assert page.text("h1") == "2 incidents of congestion"
    rows = [row.all_text().split()[:2] for row in page.elements("tbody tr")]
    assert rows == [["open", "nfs-07"], ["ended", "san-02"]]


def test_list_names_three_aggressors_and_counts_the_rest(
    viewer: Client, incident: Incident
) -> None:
    incident.aggressors = [
        {"workload": f"batch-{number}", "part_ratio": 0.5 / (number + 1)} for number in range(7)
    ]
    incident.save()

    text = " ".join(page_of(viewer.get("/incidents/")).all_text().split())

    assert "batch-0 50 %, batch-1 25 %, batch-2 17 % +4 more" in text


def test_empty_list_says_what_will_appear(nothing_yet: Fleet) -> None:
    page = page_of(client_of(nothing_yet.people.viewer).get("/incidents/"))

    assert page.text("h1") == "0 incidents of congestion"
    assert "the stretch appears here" in page.all_text()


def test_amended_incident_says_what_it_said_before(
    viewer: Client, incident: Incident, fleet: Fleet
) -> None:
    figures = figures_of(incident) | {
        "peak_value": 71.5, "victims": [{"workload": "db-orders"}], "aggressors": []
    }  # fmt: skip
    incident.versions.create(replaced_at=fleet.now, figures=figures)

    said = shown(viewer, incident).text(".amended")

    assert "because samples came late" in said
    assert "peak 71.5 ms; victims: db-orders; aggressors: none" in said


@pytest.mark.parametrize("successor", [False, True])
def test_withdrawn_incident_keeps_its_page_and_is_in_no_list(
    viewer: Client, incident: Incident, fleet: Fleet, *, successor: bool
) -> None:
    incident.withdrawn_at = fleet.now
    incident.save()
    expected = "show no contention in this time"
    if successor:
        other = Incident.objects.create(
            organisation=incident.organisation,
            resource=incident.resource,
            started_at=incident.started_at - timedelta(minutes=1),
        )
        expected = f"make it a part of incident {other.pk}."

    assert expected in shown(viewer, incident).text("#withdrawn")
    assert incident.pk not in Incident.objects.values_list("pk", flat=True)
