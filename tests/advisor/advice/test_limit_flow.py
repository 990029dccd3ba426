"""From stored samples to a limit that the past bears out, or to why there is none."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from advisor.advice.policy.recommend import recommend
from advisor.advice.registry import answer
from advisor.decisions.decide import approve
from advisor.models import Allocation, Policy, Recommendation, ResourceStatus
from advisor.pipeline.detect import detect
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, end_guards, make_cluster

pytestmark = pytest.mark.django_db

CALM = {"p1": 10 * MBIT, "p2": 10 * MBIT, "p3": 5 * MBIT}
# Of 93 Mbit/s web-3 takes 53, though 31 are due to each by the shares in force.
CROWDED = {"p1": 20 * MBIT, "p2": 20 * MBIT, "p3": 53 * MBIT}


@pytest.fixture
def cluster() -> Cluster:
    made = make_cluster()
    Allocation.objects.filter(resource=made.uplink).update(reservation=0.0)
    Policy.objects.create(
        organisation=made.organisation,
        resource=made.uplink,
        version=1,
        allocations=[
            {"allocation": allocation.pk, "workload": allocation.workload.name, "reservation": 0.0,
             "limit": None, "shares": 1000, "entitlement": 94 * MBIT / 3}
            for allocation in made.allocations
        ],
        created_at=NOW - timedelta(days=2),
    )  # fmt: skip
    return made


def crowd(cluster: Cluster, *, calm_hours: float, minutes: int) -> None:
    """A calm time, then minutes in which web-3 crowds the others out."""
    crowded_s = 60 * minutes
    calm_s = 3600 * calm_hours
    phases = [
        Phase(intervals=round(calm_s / 10), sent={"up0": 25 * MBIT}, received=CALM),
        Phase(intervals=round(crowded_s / 10), sent={"up0": 93 * MBIT}, received=CROWDED),
    ]
    lines = net_lines("h1", phases, start=NOW - timedelta(seconds=calm_s + crowded_s))
    send(cluster.organisation, lines, now=NOW)
    detect(resource=cluster.uplink, now=NOW)


def test_crowding_of_ten_minutes_in_a_day_justifies_a_limit_with_its_numbers(
    cluster: Cluster,
) -> None:
    crowd(cluster, calm_hours=26, minutes=10)

    found = recommend(resource=cluster.uplink, now=NOW)

    assert isinstance(found, Recommendation), found
    plain = json.loads(found.answer)
    limits = {row["workload"]: row["limit"] for row in plain["allocations"]}
    # Its usual maximum is far less, so the limit is what is due to it: a third of 94.
    assert limits == {"web-1": None, "web-2": None, "web-3": pytest.approx(31.3 * MBIT, rel=0.01)}
    # 62 instead of 40 are left for the others, if they ask for it
    assert "the others' rates could rise by 5" in plain["justification"]
    played = {one["workload"]: one for one in plain["counterfactual"]["allocations"]}
    assert played["web-3"]["past"]["throttled_min_after"] == pytest.approx(10, abs=1)
    # It has never been seen to want 5 % more than what it got.
    assert played["web-1"]["change"] == "same"
    assert played["web-1"]["latency"]["gap"].startswith("an uplink has no latency")
    assert answer("policy", found.inputs) == found.answer


def test_crowding_of_half_an_hour_in_a_day_is_no_case_for_a_limit(cluster: Cluster) -> None:
    crowd(cluster, calm_hours=26, minutes=30)

    found = recommend(resource=cluster.uplink, now=NOW)

    # 30 of 1,590 minutes are 1.9 %
    assert isinstance(found, str)
    assert "limit web-3 was weighed: web-3 would be throttled 1." in found
    assert ResourceStatus.objects.get(resource=cluster.uplink).advice_gap == found


def test_a_short_past_is_no_ground_for_a_limit(cluster: Cluster) -> None:
    crowd(cluster, calm_hours=2, minutes=10)

    found = recommend(resource=cluster.uplink, now=NOW)

    assert isinstance(found, str)
    assert "24 h are needed" in found


def test_an_approved_limit_is_not_taken_back_by_the_next_look(cluster: Cluster) -> None:
    crowd(cluster, calm_hours=26, minutes=10)
    found = recommend(resource=cluster.uplink, now=NOW)
    approve(recommendation=found, user=cluster.people.owner, now=NOW)
    end_guards()

    again = recommend(resource=cluster.uplink, now=NOW + timedelta(seconds=15))

    assert isinstance(again, str)
    assert "the policy in force" in again
