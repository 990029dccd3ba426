"""`sluice incidents ID`, `sluice maintenance`, and what maintenance does to `sluice status`."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Organisation
from advisor.models import Incident, ResourceStatus, State
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db

BACKUP = ("maintenance", "add", "backup", "--start", "2026-11-20T11:30", "--length", "1h")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = make_cluster()
    Organisation.objects.filter(slug="other").delete()
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    return cluster


@pytest.fixture
def incident(cluster: Cluster) -> Incident:
    ResourceStatus.objects.create(resource=cluster.uplink, state=State.CONGESTED, looked_at=NOW)
    return Incident.objects.create(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        started_at=NOW - timedelta(minutes=20),
        peak_value=0.99,
        threshold=0.9,
    )


def sluice(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_job_is_added_listed_and_removed(cluster: Cluster) -> None:
    sluice(*BACKUP, "--recurrence", "daily", "--resource", "h1/up0", "--workload", "web-2")
    (row,) = json.loads(sluice("maintenance", "list", "--json"))
    listed = sluice("maintenance")
    removed = sluice("maintenance", "remove", "backup")

    assert (row["length_s"], row["recurrence"]) == (3600.0, "daily")
    assert (row["resources"], row["workloads"]) == (["h1/up0"], ["web-2"])
    assert "2026-11-20 11:30" in listed
    assert "no maintenance windows" in removed


def test_start_is_read_in_the_zone(cluster: Cluster) -> None:
    sluice(*BACKUP, "--zone", "Europe/Berlin")

    (row,) = json.loads(sluice("maintenance", "--json"))

    # Berlin is an hour ahead in November.
    assert row["starts_at"] == "2026-11-20T10:30:00+00:00"
    assert row["start"] == "2026-11-20 11:30"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--start", "tonight"], '"tonight" is not a time; write it like 2026-11-21T22:00'),
        (["--length", "long"], '"long" is not a length; write it like 90min, 2h or 1d'),
        (["--zone", "Mars"], '"Mars" is not a time zone'),
        (["--resource", "x"], 'there is no resource "x"; there are: h1/up0'),
    ],
)
def test_wrong_words_are_refused_in_one_line(
    cluster: Cluster, words: list[str], complaint: str
) -> None:
    with pytest.raises(CommandError) as refusal:
        sluice(*BACKUP, *words)

    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_planned_congestion_is_shown_but_is_no_alarm(cluster: Cluster, incident: Incident) -> None:
    with pytest.raises(SystemExit):
        sluice("status")
    sluice(*BACKUP)

    said = sluice("status")

    assert "congested" in said
    assert "backup" in said


def test_incident_says_which_job_explains_it_and_what_is_missing(
    cluster: Cluster, incident: Incident
) -> None:
    sluice(*BACKUP)

    said = sluice("incidents", str(incident.pk))
    document = json.loads(sluice("incidents", str(incident.pk), "--json"))

    assert "Maintenance window: backup" in said
    assert "No cause identified: 0 windows of it are stored, 12 are needed" in said
    assert document["study"]["attribution"] is None


def test_unknown_incident_is_refused(cluster: Cluster) -> None:
    with pytest.raises(CommandError, match="there is no incident 99"):
        sluice("incidents", "99")


def test_signs_of_an_uplink_are_told_with_their_norm(cluster: Cluster, incident: Incident) -> None:
    incident.windows = 20
    incident.signals = [
        {"signal": "drops", "windows": 12, "worst": 0.002, "threshold": 1e-4, "unit": "ratio"}
    ]
    incident.save()

    said = sluice("incidents", str(incident.pk))
    document = json.loads(sluice("incidents", str(incident.pk), "--json"))

    assert "Signal: drops in 12 of 20 windows, at worst 0.2 % (threshold 0.01 %)" in said
    assert "Conclusion: unknown, 0 windows, 3 are needed (confidence 0%)" in said
    assert document["signals"] == incident.signals
    assert document["study"]["signals"]["finding"] == "unknown"
