"""What becomes of an incident that late samples change, and of what was made of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from accounts.models import Organisation
from advisor.history.levels import read_points
from advisor.models import (
    EarlierStates,
    Incident,
    IncidentVersion,
    LateChange,
    Recommendation,
    RecommendationState,
    Resource,
    State,
)
from advisor.pipeline.detect import detect
from advisor.pipeline.upkeep import tidy
from tests.advisor.disk_samples import DiskPhase, disk_lines
from tests.advisor.judged_windows import EVER
from tests.advisor.samples import send
from tests.advisor.stated_datastores import stated_datastore

pytestmark = pytest.mark.django_db

START = datetime(2026, 11, 20, 11, 50, tzinfo=UTC)
STEP = timedelta(seconds=10)


def at(step: int) -> datetime:
    return START + step * STEP


@pytest.fixture
def lun() -> Resource:
    """A datastore of h1 and h2, congested above 30 ms."""
    acme = Organisation.objects.create(slug="acme", name="Acme")
    return stated_datastore(acme, "sda", "h1", "h2", threshold=30.0)


def sent(
    lun: Resource, host: str, *phases: tuple[int, float, float], now: datetime, start: int = 0
) -> None:
    """The host's disk: phases of so many steps, I/Os per second, and ms each."""
    own = [DiskPhase(intervals=n, iops=iops, latency_ms=ms) for n, iops, ms in phases]
    send(lun.organisation, disk_lines(host, "sda", own, start=at(start)), now=now)


def advice(incident: Incident, state: RecommendationState) -> Recommendation:
    return Recommendation.objects.create(
        organisation=incident.organisation,
        resource=incident.resource,
        incident=incident,
        topic=f"topic {state}",
        kind="limit",
        state=state,
        summary="Limit batch",
        inputs="{}",
        answer="{}",
        created_at=at(20),
        expires_at=at(10_000),
    )


# Congested from step 5 to 15, by what h1 alone measures.
CONGESTED = ((5, 100.0, 5.0), (10, 100.0, 60.0), (15, 100.0, 5.0))


@pytest.fixture
def incident(lun: Resource) -> Incident:
    """Judged without the samples of h2."""
    sent(lun, "h1", *CONGESTED, now=at(30))
    detect(resource=lun, now=at(31))
    return Incident.objects.get()


def test_incident_that_late_samples_change_keeps_its_number_and_its_former_figures(
    lun: Resource, incident: Incident
) -> None:
    before = len(read_points(lun, since=EVER))
    # As many I/Os of 40 ms: (60 + 40) / 2 = 50 ms.
    sent(lun, "h2", (5, 100.0, 5.0), (10, 100.0, 40.0), (15, 100.0, 5.0), now=at(40))

    detect(resource=lun, now=at(41))

    (row,) = Incident.every.all()
    assert (row.pk, row.started_at, row.ended_at) == (incident.pk, at(5), at(15))
    assert row.peak_value == pytest.approx(50.0)
    (version,) = row.versions.all()
    assert version.replaced_at == at(41)
    assert version.figures["peak_value"] == pytest.approx(60.0)
    assert len(read_points(lun, since=EVER)) == before


def test_what_was_judged_before_is_kept_with_its_time(lun: Resource, incident: Incident) -> None:
    # 900 I/Os of 5 ms beside 100 of 60: 10.5 ms, which is no congestion.
    sent(lun, "h2", (30, 900.0, 5.0), now=at(40))

    detect(resource=lun, now=at(41))

    assert {point.state.value for point in read_points(lun, since=EVER)} == {State.CLEAR}
    (earlier,) = EarlierStates.objects.all()
    assert (earlier.since, earlier.until, earlier.replaced_at) == (at(0), at(30), at(41))
    # Recognised with the second window of twice the threshold, over with the third below.
    runs = [(one["until"], one["state"]) for one in earlier.states]
    assert runs == [
        (at(6).isoformat(), "clear"),
        (at(17).isoformat(), "congested"),
        (at(30).isoformat(), "clear"),
    ]

    tidy(now=at(0) + timedelta(days=30))
    assert EarlierStates.objects.exists()
    tidy(now=at(31) + timedelta(days=30))
    assert not EarlierStates.objects.exists()


def test_incident_that_late_samples_disprove_is_withdrawn_and_its_open_advice_with_it(
    lun: Resource, incident: Incident
) -> None:
    proposed = advice(incident, RecommendationState.PROPOSED)
    approved = advice(incident, RecommendationState.APPROVED)
    sent(lun, "h2", (30, 900.0, 5.0), now=at(40))

    detect(resource=lun, now=at(41))

    assert not Incident.objects.exists()
    incident.refresh_from_db()
    assert (incident.withdrawn_at, incident.peak_value) == (at(41), pytest.approx(60.0))
    for one in (proposed, approved):
        one.refresh_from_db()
    assert (proposed.state, proposed.incident) == (RecommendationState.SUPERSEDED, incident)
    assert "came late" in proposed.decision_reason
    assert (approved.state, approved.incident) == (RecommendationState.APPROVED, incident)


def test_advice_on_an_amended_incident_stays_as_it_was(lun: Resource, incident: Incident) -> None:
    both = [advice(incident, one) for one in ("proposed", "approved")]
    before = list(Recommendation.objects.order_by("pk").values())
    sent(lun, "h2", (5, 100.0, 5.0), (10, 100.0, 40.0), (15, 100.0, 5.0), now=at(40))

    detect(resource=lun, now=at(41))

    assert list(Recommendation.objects.order_by("pk").values()) == before
    assert len(both) == 2


def test_two_incidents_that_become_one_leave_the_first(lun: Resource) -> None:
    sent(lun, "h1", (5, 100, 5), (8, 100, 60), (5, 100, 5), (8, 100, 60), (8, 100, 5), now=at(34))
    detect(resource=lun, now=at(35))
    first, second = Incident.objects.order_by("started_at")
    # With 900 I/Os of 60 ms in between the calm of h1 is none: (100 * 5 + 900 * 60) / 1000 = 54.5.
    sent(lun, "h2", (13, 900, 60), (5, 900, 60), (8, 900, 60), (8, 900, 5), now=at(40))

    detect(resource=lun, now=at(41))

    (row,) = Incident.objects.all()
    assert row.pk == first.pk
    second.refresh_from_db()
    assert second.withdrawn_at == at(41)


def test_samples_that_change_nothing_amend_nothing(lun: Resource, incident: Incident) -> None:
    # The same counters again, and one interface that nobody judges.
    sent(lun, "h1", *CONGESTED, now=at(40))
    line = f"net,host=h1,interface=docker0 bytes_sent=1i {int(at(3).timestamp()) * 10**9}"
    send(lun.organisation, line, now=at(40))

    detect(resource=lun, now=at(41))

    assert not IncidentVersion.objects.exists()
    assert not EarlierStates.objects.exists()
    assert Incident.objects.get() == incident


def test_windows_are_judged_again_by_the_threshold_of_their_time(
    lun: Resource, incident: Incident
) -> None:
    lun.threshold = 5.0
    lun.save()
    sent(lun, "h2", (30, 100.0, 5.0), now=at(40))

    detect(resource=lun, now=at(41))

    assert {point.threshold for point in read_points(lun, since=EVER)} == {30.0}
    (row,) = Incident.objects.all()
    # The mean of 60 and 5.
    assert (row.pk, row.peak_value, row.threshold) == (incident.pk, pytest.approx(32.5), 30.0)


def test_host_that_is_always_late_is_judged_at_intervals(lun: Resource) -> None:
    """The clock of h2 is two minutes behind."""
    sent(lun, "h1", (120, 100.0, 5.0), now=at(120))
    own = [DiskPhase(intervals=96, iops=100, latency_ms=15)]
    late = disk_lines("h2", "sda", own, start=at(0)).splitlines()
    rewound = set()
    for step in range(12, 108, 2):
        send(lun.organisation, "\n".join(late[step - 12 : step - 10]), now=at(step))
        rewound.add(detect(resource=lun, now=at(step)).rewound_at)

    # In 16 minutes it goes back by two and more, after as long a time at the earliest.
    assert 2 <= len(rewound - {None}) <= 8
    detect(resource=lun, now=at(400))
    assert not LateChange.objects.exists()
    values = [point.value for point in read_points(lun, since=EVER, until=at(94))]
    # The mean of 5 and 15 from the second sample of h2 on.
    assert values[1:] == [pytest.approx(10.0)] * 93
