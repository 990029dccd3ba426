"""The timeline of an incident: how slow it was, who loaded it, and what was done when."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from django.test import Client

from advisor.core.reporting.incident_timeline import Moment
from advisor.decisions.decide import approve
from advisor.history.levels import read_points
from advisor.models import ComplianceRecord, Incident, Policy, Recommendation, Workload
from advisor.models.workload import allocation_id
from advisor.queries.incident_answers import answers_to
from advisor.queries.incident_fixes import fixes_of
from advisor.queries.incident_timeline import incident_picture
from advisor.queries.incidents import incident_lines
from config.database_roles import DatabaseRole
from enforcers.contract import Outcome
from tests.config.roles import acting_as, make_roles
from tests.web.fleet import Fleet
from tests.web.html import page_of
from web.drawing.timeline import drawn_timeline

MINUTE = timedelta(minutes=1)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def incident(fleet: Fleet) -> Incident:
    return Incident.objects.select_related("resource").get(ended_at=None)


def moments_of(incident: Incident, fleet: Fleet) -> dict[str, tuple[object, str]]:
    found = incident_picture(incident, now=fleet.now).timeline.moments
    assert [one.moment for one in found] == list(Moment)
    return {one.moment: (one.at, one.words) for one in found}


def test_level_is_the_percentiles_of_the_judged_windows(fleet: Fleet, incident: Incident) -> None:
    timeline = incident_picture(incident, now=fleet.now).timeline
    points = read_points(incident.resource, since=timeline.since, until=timeline.until)

    compared = 0
    for place, end_s in enumerate(timeline.ends_s):
        own = sorted(
            point.value
            for point in points
            if end_s - timeline.step_s < point.at.timestamp() <= end_s and point.value is not None
        )
        if not own:
            assert timeline.median[place] is None
            continue
        compared += 1
        # The smallest value that half, or 95 %, of them do not exceed.
        assert timeline.median[place] == pytest.approx(own[int(np.ceil(0.5 * len(own))) - 1])
        assert timeline.high[place] == pytest.approx(own[int(np.ceil(0.95 * len(own))) - 1])
    assert compared > 20


def test_culprit_has_a_colour_and_the_parts_add_up_to_what_was_carried(
    fleet: Fleet, incident: Incident
) -> None:
    timeline = incident_picture(incident, now=fleet.now).timeline

    (culprit,) = timeline.culprits
    assert culprit.workload == "batch-3"
    began_s = incident.started_at.timestamp()
    own = [
        value
        for end_s, value in zip(timeline.ends_s, culprit.values, strict=True)
        if end_s - timeline.step_s > began_s and value is not None
    ]
    # The story gives it 3,300 IOPS with noise of 3 %.
    assert np.mean(own) == pytest.approx(3300, rel=0.05)
    drawn = drawn_timeline(timeline)
    assert [(area.name, area.place) for area in drawn.areas] == [
        ("everybody else", 0), ("batch-3", 1),
    ]  # fmt: skip


def test_moments_of_an_open_incident_say_what_is_missing(fleet: Fleet, incident: Incident) -> None:
    found = moments_of(incident, fleet)

    assert found[Moment.STARTED][0] == incident.started_at
    detected = found[Moment.DETECTED][0]
    assert detected is not None
    assert incident.started_at < detected < incident.started_at + 5 * MINUTE  # type: ignore[operator]
    advice = Recommendation.objects.get(incident=incident)
    assert found[Moment.RECOMMENDED] == (advice.created_at, "")
    assert found[Moment.APPROVED] == (None, "the newest recommendation is proposed")
    assert found[Moment.EFFECTIVE] == (None, "nothing was approved")
    assert found[Moment.RESOLVED] == (None, "not over")


def test_policy_is_effective_when_the_last_allocation_was_read_back(
    fleet: Fleet, incident: Incident
) -> None:
    advice = Recommendation.objects.get(incident=incident)
    policy = approve(recommendation=advice, user=fleet.people.operator, now=fleet.now)
    assert policy is not None
    first, *others = policy.allocations

    report(policy, [first], fleet.now + MINUTE)
    at, words = moments_of(incident, fleet)[Moment.EFFECTIVE]
    assert at is None
    assert f"1 of {len(policy.allocations)} allocations were read back" in words

    report(policy, others, fleet.now + 3 * MINUTE)
    report(policy, [first], fleet.now + 5 * MINUTE)

    found = moments_of(incident, fleet)
    assert found[Moment.APPROVED] == (fleet.now, "by operator")
    assert found[Moment.EFFECTIVE] == (fleet.now + 3 * MINUTE, f"version {policy.version}")


def report(policy: Policy, allocations: list[dict[str, object]], at: object) -> None:
    for item in allocations:
        row = policy.resource.allocations.get(pk=item["allocation"])
        held = {"reservation": None, "shares": 1000, "limit": None}
        ComplianceRecord.objects.create(
            organisation=policy.organisation, host=row.host, resource=policy.resource,
            workload=row.workload, policy=policy, allocation=allocation_id(row),
            reported_at=at, desired=held, applied=held, read_back=held,
            outcome=Outcome.APPLIED, verdict="met",
        )  # fmt: skip


def test_hosts_are_told_before_and_during(fleet: Fleet, incident: Incident) -> None:
    found = {one.host: one for one in incident_picture(incident, now=fleet.now).hosts}

    assert list(found) == ["kvm-01", "kvm-02", "kvm-03"]
    for one in found.values():
        assert one.load is not None
        assert one.latency_ms is not None
        assert one.latency_before_ms is not None
        assert one.latency_ms > one.latency_before_ms
    # batch-3 is all of the host's load, and began with the incident.
    assert found["kvm-03"].load == pytest.approx(3300, rel=0.05)


def test_part_is_asked_for_by_the_page_and_stands_alone_too(
    viewer: Client, incident: Incident
) -> None:
    address = f"/incidents/{incident.pk}/timeline/"
    place = page_of(viewer.get(f"/incidents/{incident.pk}/")).elements("#timeline")[0]

    assert place["hx-get"] == address
    assert "<html" not in viewer.get(address, headers=HTMX).content.decode()
    text = page_of(viewer.get(address)).text("main")
    assert "batch-3" in text
    assert "Hosts at that time" in text
    assert "p95" in text


def test_name_of_a_culprit_is_text(viewer: Client, fleet: Fleet, incident: Incident) -> None:
    name = '<b>\u202e&"'
    Workload.objects.filter(name="batch-3", organisation=fleet.organisation).update(name=name)
    first, *others = incident.aggressors
    incident.aggressors = [first | {"workload": name}, *others]
    incident.save()

    page = page_of(viewer.get(f"/incidents/{incident.pk}/timeline/"))

    assert name in page.text(".timeline .legend")
    assert not page.root.elements_of("b")


def test_timeline_of_another_organisation_is_not_found(
    outsider: Client, incident: Incident
) -> None:
    assert outsider.get(f"/incidents/{incident.pk}/timeline/").status_code == 404


def test_web_role_may_read_all_of_it(viewer: Client, incident: Incident) -> None:
    make_roles()

    with acting_as(DatabaseRole.WEB):
        answer = viewer.get(f"/incidents/{incident.pk}/timeline/")

    assert answer.status_code == 200


def test_incident_whose_samples_are_gone_says_so(
    viewer: Client, fleet: Fleet, incident: Incident
) -> None:
    old = Incident.objects.create(
        organisation=fleet.organisation, resource=incident.resource,
        started_at=fleet.now - timedelta(days=20), peak_value=31.0,
        ended_at=fleet.now - timedelta(days=20) + 5 * MINUTE,
    )  # fmt: skip

    text = page_of(viewer.get(f"/incidents/{old.pk}/timeline/")).text("main")

    assert "No value is kept of this time." in text
    assert "No rate is kept of this time." in text
    assert "the windows that showed it are not kept" in text


def test_advice_of_an_earlier_incident_that_still_waits_answers_this_one(
    fleet: Fleet, incident: Incident
) -> None:
    """The page offers to review it, so it does not say that nothing was recommended."""
    advice = Recommendation.objects.get(incident=incident)
    earlier = Incident.objects.create(
        organisation=fleet.organisation,
        resource=incident.resource,
        started_at=incident.started_at - timedelta(hours=3),
        ended_at=incident.started_at - timedelta(hours=2),
    )
    advice.incident = earlier
    advice.save()

    found = moments_of(incident, fleet)
    fixes = fixes_of(incident, now=fleet.now)

    assert found[Moment.RECOMMENDED] == (
        advice.created_at, "for an earlier incident; it still waits",
    )  # fmt: skip
    assert found[Moment.APPROVED] == (None, "the newest recommendation is proposed")
    assert [one.pk for one in fixes] == [advice.pk]
    (line,) = incident_lines([incident], now=fleet.now)
    assert line.recommendation_pk == advice.pk
    assert answers_to(earlier, now=fleet.now).get() == advice


def test_advice_that_waits_now_is_no_answer_to_an_incident_that_is_over(
    fleet: Fleet, incident: Incident
) -> None:
    earlier = Incident.objects.create(
        organisation=fleet.organisation,
        resource=incident.resource,
        started_at=incident.started_at - timedelta(hours=3),
        ended_at=incident.started_at - timedelta(hours=2),
    )

    assert moments_of(earlier, fleet)[Moment.RECOMMENDED] == (
        None, "nothing was recommended for it",
    )  # fmt: skip
