"""An incident keeps whom its study accuses, and all that speaks of it names the same."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from advisor.models import Incident, IncidentVersion
from advisor.pipeline.attribute import AFTER, study_incident
from advisor.pipeline.find_cause import find_cause, find_causes, resources_to_study
from tests.advisor.crowded_uplink import crowded_uplink
from tests.advisor.scenario import NOW

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def is_due(incident: Incident, at: datetime) -> bool:
    return resources_to_study(now=at).filter(pk=incident.resource_id).exists()


def stored(incident: Incident, **columns: object) -> Incident:
    Incident.objects.filter(pk=incident.pk).update(**columns)
    return Incident.objects.select_related("resource").get(pk=incident.pk)


def test_found_cause_is_kept_and_named_before_those_who_took_more() -> None:
    incident = crowded_uplink()
    (took,) = incident.aggressors
    other = took | {"workload": "web-1"}
    incident = stored(incident, aggressors=[other, took])

    find_causes(resource=incident.resource, now=NOW)

    incident = stored(incident)
    assert incident.cause_found_at == NOW
    assert incident.cause is not None
    assert [one["workload"] for one in incident.cause["aggressors"]] == ["web-3"]
    assert incident.culprits == [took]
    assert incident.only_took_more == [other]


def test_accused_who_was_not_seen_to_take_more_is_named_with_its_share() -> None:
    incident = stored(crowded_uplink(), aggressors=[])

    find_cause(incident=incident, now=NOW)

    (named,) = incident.culprits
    assert named.keys() == {"workload", "part_ratio"}
    assert named["workload"] == "web-3"


def test_who_took_more_is_named_while_the_cause_cannot_be_told() -> None:
    incident = crowded_uplink(calm=0)

    find_cause(incident=incident, now=NOW)

    assert stored(incident).cause is None
    assert incident.culprits == incident.aggressors
    assert incident.only_took_more == []


def test_nobody_is_named_where_the_study_accuses_nobody() -> None:
    incident = stored(
        crowded_uplink(), cause={"aggressors": [], "reason": "even"}, cause_found_at=NOW
    )

    assert incident.culprits == []
    assert incident.only_took_more == incident.aggressors


def test_study_that_is_shown_is_the_one_whose_accusation_is_kept() -> None:
    incident = crowded_uplink()
    early = NOW - 5 * MINUTE
    kept = find_cause(incident=incident, now=early)

    shown = study_incident(incident=incident, now=NOW)

    assert shown == kept
    assert shown.ended_at <= early


@pytest.mark.parametrize(
    ("age", "found_before", "due"),
    [
        (5 * MINUTE, None, True),
        (5 * MINUTE, MINUTE / 2, False),
        (5 * MINUTE, MINUTE, True),
        (30 * MINUTE, MINUTE, False),
        (30 * MINUTE, 5 * MINUTE, True),
        (300 * MINUTE, 170 * MINUTE, False),
    ],
    ids=["never", "just now", "young", "old", "old and long ago", "beyond what is studied"],
)
def test_open_incident_is_studied_often_while_it_is_young(
    age: timedelta, found_before: timedelta | None, due: bool
) -> None:
    found_at = None if found_before is None else NOW - found_before
    incident = stored(crowded_uplink(), started_at=NOW - age, cause_found_at=found_at)

    assert is_due(incident, NOW) is due


@pytest.mark.parametrize(
    ("ended_before", "found_before", "due"),
    [
        (MINUTE, 2 * MINUTE, True),
        (2 * MINUTE, MINUTE, False),
        (AFTER, AFTER - MINUTE, True),
        (2 * AFTER, AFTER, False),
        (timedelta(days=29), None, True),
        (timedelta(days=31), None, False),
    ],
    ids=["at its end", "once", "with what followed", "for good", "an old one", "not stored"],
)
def test_ended_incident_is_studied_to_its_end_and_once_more(
    ended_before: timedelta, found_before: timedelta | None, due: bool
) -> None:
    incident = stored(
        crowded_uplink(),
        started_at=NOW - ended_before - 20 * MINUTE,
        ended_at=NOW - ended_before,
        cause_found_at=None if found_before is None else NOW - found_before,
    )

    assert is_due(incident, NOW) is due


def test_amended_incident_is_studied_again() -> None:
    incident = stored(
        crowded_uplink(), ended_at=NOW - 3 * AFTER, started_at=NOW - 4 * AFTER, cause_found_at=NOW
    )
    assert not is_due(incident, NOW)

    IncidentVersion.objects.create(incident=incident, replaced_at=NOW + MINUTE, figures={})

    assert is_due(incident, NOW + 2 * MINUTE)
