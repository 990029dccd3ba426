"""From samples to a policy: the NetIOC study at a hundredth of its rates."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from advisor.advice.policy import recommend as policy_advice
from advisor.advice.policy.decide.policy_inputs import AdviceInputs
from advisor.advice.policy.gather import policy_inputs
from advisor.advice.policy.recommend import recommend
from advisor.advice.registry import answer
from advisor.decisions.decide import approve, reject
from advisor.decisions.pools import set_pool
from advisor.errors import DecisionRefused
from advisor.history.levels import read_points
from advisor.models import (
    Allocation,
    Incident,
    Policy,
    Recommendation,
    RecommendationState,
    ResourceStatus,
    State,
)
from advisor.pipeline.detect import detect
from advisor.pipeline.groups import judge_alone
from tests.advisor.judged_windows import EVER
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, end_guards, make_cluster

pytestmark = pytest.mark.django_db

# 94 Mbit/s in three equal parts
EQUAL = 94 * MBIT / 3
CONTENDED = {"p1": EQUAL, "p2": EQUAL, "p3": EQUAL}
CALM = {"p1": 10 * MBIT, "p2": 1 * MBIT, "p3": 1 * MBIT}

ALL_FIELDS = (
    "bytes_sent=1i,bytes_recv=1i,packets_sent=1i,packets_recv=1i,"
    "drop_in=0i,drop_out=0i,err_in=0i,err_out=0i"
)


def phase(intervals: int, rates: dict[str, float]) -> Phase:
    """What the vNICs take in goes out by the uplink."""
    return Phase(intervals=intervals, received=rates, sent={"up0": sum(rates.values())})


def play(cluster: Cluster, *phases: Phase, until: datetime = NOW) -> None:
    """Send the phases so that the last one ends at `until`."""
    length = timedelta(seconds=10 * sum(phase.intervals for phase in phases))
    lines = net_lines("h1", phases, start=until - length)
    result = send(cluster.organisation, lines, now=until)
    assert result.rejected == 0


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def test_full_uplink_becomes_one_incident_with_its_victim(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))

    status = detect(resource=cluster.uplink, now=NOW)

    incident = Incident.objects.get()
    assert status.state == State.CONGESTED
    assert status.value == pytest.approx(1.0, rel=1e-6)
    assert incident.started_at == NOW - timedelta(seconds=300)
    assert incident.ended_at is None
    assert [victim["workload"] for victim in incident.victims] == ["web-1"]
    assert {item["workload"] for item in incident.aggressors} == {"web-2", "web-3"}


def test_calm_uplink_has_no_incident_and_no_advice(cluster: Cluster) -> None:
    play(cluster, phase(60, CALM))

    status = detect(resource=cluster.uplink, now=NOW)
    advice = recommend(resource=cluster.uplink, now=NOW)

    assert status.state == State.CLEAR
    assert not Incident.objects.exists()
    assert advice == "it was not congested in the last 24 hours"


def test_advice_counts_the_pools_and_its_policy_has_them(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)
    without = recommend(resource=cluster.uplink, now=NOW)
    set_pool(resource=cluster.uplink, name="web", limit=4 * MBIT, members=["web-2", "web-3"])

    advice = recommend(resource=cluster.uplink, now=NOW)

    assert isinstance(without, Recommendation)
    assert isinstance(advice, Recommendation)
    without.refresh_from_db()
    assert without.state == RecommendationState.SUPERSEDED
    due = {one["workload"]: one["entitlement"] for one in json.loads(advice.answer)["allocations"]}
    assert (due["web-2"], due["web-3"]) == (pytest.approx(2 * MBIT), pytest.approx(2 * MBIT))
    policy = approve(recommendation=advice, user=cluster.people.owner, now=NOW)
    assert policy is not None
    assert [(one["name"], one["limit"]) for one in policy.pools] == [("web", 4 * MBIT)]


def test_advice_from_before_other_pools_is_not_approved(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)
    advice = recommend(resource=cluster.uplink, now=NOW)
    set_pool(resource=cluster.uplink, name="web", members=["web-2"])

    assert isinstance(advice, Recommendation)
    with pytest.raises(DecisionRefused, match="the pools on h1/up0 are others"):
        approve(recommendation=advice, user=cluster.people.owner, now=NOW)


def test_looking_twice_changes_nothing(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)
    before = (read_points(cluster.uplink, since=EVER), list(Incident.objects.values()))

    detect(resource=cluster.uplink, now=NOW)

    assert (read_points(cluster.uplink, since=EVER), list(Incident.objects.values())) == before


def test_incident_ends_when_the_uplink_is_calm_again(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED), until=NOW - timedelta(seconds=100))
    detect(resource=cluster.uplink, now=NOW - timedelta(seconds=100))
    play(cluster, phase(30, CALM), phase(30, CONTENDED), phase(10, CALM))

    status = detect(resource=cluster.uplink, now=NOW)

    incident = Incident.objects.get()
    assert status.state == State.CLEAR
    assert incident.ended_at == NOW - timedelta(seconds=100)


def test_silent_host_makes_the_state_unknown_with_advice(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM))
    detect(resource=cluster.uplink, now=NOW)

    later = NOW + timedelta(minutes=10)
    judge_alone(cluster.uplink, now=later)

    status = ResourceStatus.objects.get(resource=cluster.uplink)
    assert status.state == State.UNKNOWN
    assert status.why == ("no samples for 10 min, since 12:00:00 UTC; is Telegraf running on h1?")


@pytest.mark.parametrize(
    ("seconds", "fields", "why"),
    [
        ((5,), ALL_FIELDS.partition(",")[2], "they lack bytes_sent"),
        ((5,), ALL_FIELDS, "none came in the 15 min before, and a rate needs two"),
        ((1905, 5), ALL_FIELDS, "none came in the 15 min before, and a rate needs two"),
    ],
    ids=["counters are missing", "the first sample", "one each half an hour"],
)
def test_samples_without_a_rate_have_their_reason(
    cluster: Cluster, seconds: tuple[int, ...], fields: str, why: str
) -> None:
    times = [int((NOW - timedelta(seconds=ago)).timestamp()) for ago in seconds]
    lines = [f"net,host=h1,interface=up0 {fields} {time}000000000" for time in times]
    send(cluster.organisation, "\n".join(lines), now=NOW)

    judge_alone(cluster.uplink, now=NOW)

    status = ResourceStatus.objects.get(resource=cluster.uplink)
    assert status.state == State.UNKNOWN
    assert status.why == f"samples of h1:up0 arrive but give no rate: {why}"


def test_unmet_reservation_is_recommended_with_the_solvers_split(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)

    found = recommend(resource=cluster.uplink, now=NOW)

    assert isinstance(found, Recommendation)
    rows = json.loads(found.answer)["allocations"]
    assert found.kind == "reservation"
    assert [row["reservation"] for row in rows] == [75 * MBIT, 0, 0]
    # additive: 75 reserved, the other 19 of 94 in three equal parts of 6.33
    third = 19 * MBIT / 3
    expected = [75 * MBIT + third, third, third]
    assert [row["entitlement"] for row in rows] == pytest.approx(expected, rel=1e-4)
    # All three grew alike, and nobody looked at their queues: each may want anything.
    assert [row["predicted_after"] for row in rows] == pytest.approx(expected, rel=1e-4)
    assert rows[0]["unsure"]
    assert "web-1" in found.summary
    assert "its share is 81.3 Mbit/s if it needs more" in found.summary


def test_stored_inputs_give_the_stored_answer_byte_for_byte(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)
    recommend(resource=cluster.uplink, now=NOW)

    row = Recommendation.objects.get()

    assert answer("policy", row.inputs) == row.answer


def test_too_short_an_incident_is_insufficient_data(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(10, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)

    advice = recommend(resource=cluster.uplink, now=NOW)

    assert isinstance(advice, str)
    assert "10 of 30" in advice
    assert ResourceStatus.objects.get().advice_gap == advice
    assert not Recommendation.objects.exists()


def test_policy_is_advised_once_though_its_incident_is_judged_again(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)
    found = recommend(resource=cluster.uplink, now=NOW)
    assert isinstance(found, Recommendation), found
    going_back = ResourceStatus.objects.filter(resource=cluster.uplink)
    going_back.update(history_until=NOW, rewound_at=NOW, rewound_to=NOW - timedelta(hours=2))
    # As long as it takes there is no incident.
    Incident.objects.update(withdrawn_at=NOW)

    meanwhile = recommend(resource=cluster.uplink, now=NOW)
    Incident.every.update(withdrawn_at=None)
    going_back.update(history_until=None)

    assert meanwhile == "samples came late: windows that they change are judged again first"
    assert recommend(resource=cluster.uplink, now=NOW) == found
    assert list(Recommendation.objects.all()) == [found]


def test_policy_advice_stays_if_judging_again_begins_while_it_computes(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)
    found = recommend(resource=cluster.uplink, now=NOW)
    # By this, another recommendation would take its place.
    Allocation.objects.filter(workload__name="web-1").update(reservation=50 * MBIT)

    def begins(*resource_and_incident: Any, **options: Any) -> object:
        ResourceStatus.objects.filter(resource=cluster.uplink).update(
            history_until=NOW, rewound_at=NOW, rewound_to=NOW - timedelta(hours=2)
        )
        return policy_inputs(*resource_and_incident, **options)

    monkeypatch.setattr(policy_advice, "policy_inputs", begins)

    meanwhile = recommend(resource=cluster.uplink, now=NOW)

    assert meanwhile == "samples came late: windows that they change are judged again first"
    assert list(Recommendation.objects.all()) == [found]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[AdviceInputs]:
    """The inputs of all looks, in order."""
    found: list[AdviceInputs] = []

    def note(*resource_and_incident: Any, **options: Any) -> AdviceInputs:
        found.append(policy_inputs(*resource_and_incident, **options))
        return found[-1]

    monkeypatch.setattr(policy_advice, "policy_inputs", note)
    return found


def test_look_that_chooses_what_stands_leaves_the_past_alone(
    cluster: Cluster, looks: list[AdviceInputs]
) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)

    found = recommend(resource=cluster.uplink, now=NOW)
    assert recommend(resource=cluster.uplink, now=NOW) == found
    Allocation.objects.filter(workload__name="web-1").update(reservation=50 * MBIT)
    changed = recommend(resource=cluster.uplink, now=NOW)

    assert [bool(len(one.past.windows)) for one in looks] == [True, False, False, True]
    assert isinstance(changed, Recommendation)
    assert changed != found
    told = json.loads(changed.answer)
    assert told["counterfactual"]["windows"] == len(looks[-1].past.windows)
    assert changed.answer == answer("policy", changed.inputs)


def test_what_no_allocation_sent_is_what_the_host_wants(cluster: Cluster) -> None:
    # 24 of 94 Mbit/s come from none of the three.
    rates = {"p1": 30 * MBIT, "p2": 20 * MBIT, "p3": 20 * MBIT}
    play(
        cluster,
        phase(30, CALM),
        Phase(intervals=30, received=rates, sent={"up0": 94 * MBIT}),
    )
    detect(resource=cluster.uplink, now=NOW)
    incident = Incident.objects.get()

    found = policy_inputs(cluster.uplink, incident, policy=None, until=NOW, now=NOW).host_traffic

    assert found is not None
    assert found.reservation == pytest.approx(9.4 * MBIT)
    assert found.demand == pytest.approx(24 * MBIT, rel=1e-3)


def test_host_of_an_uplink_that_workloads_fill_wants_nothing(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)
    incident = Incident.objects.get()

    found = policy_inputs(cluster.uplink, incident, policy=None, until=NOW, now=NOW).host_traffic

    assert found is not None
    assert found.demand == 0.0


def test_same_advice_twice_is_one_recommendation(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)

    first = recommend(resource=cluster.uplink, now=NOW)
    second = recommend(resource=cluster.uplink, now=NOW + timedelta(seconds=30))

    assert first == second
    assert Recommendation.objects.count() == 1


def test_other_advice_supersedes_the_open_one(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)
    first = recommend(resource=cluster.uplink, now=NOW)
    cluster.allocations[0].reservation = 60 * MBIT
    cluster.allocations[0].save()

    second = recommend(resource=cluster.uplink, now=NOW)

    assert isinstance(first, Recommendation)
    first.refresh_from_db()
    assert first.state == RecommendationState.SUPERSEDED
    assert json.loads(second.answer)["allocations"][0]["reservation"] == 60 * MBIT


def test_rejected_advice_is_not_repeated_for_its_incident(cluster: Cluster) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)
    first = recommend(resource=cluster.uplink, now=NOW)
    reject(recommendation=first, user=cluster.people.owner, reason="planned", now=NOW)

    advice = recommend(resource=cluster.uplink, now=NOW)

    assert advice == f"rejected as {first.pk}: planned"
    assert Recommendation.objects.count() == 1


def test_approved_advice_is_in_force_and_not_given_again(
    cluster: Cluster, looks: list[AdviceInputs]
) -> None:
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)
    approve(
        recommendation=recommend(resource=cluster.uplink, now=NOW),
        user=cluster.people.owner,
        now=NOW,
    )
    end_guards()

    advice = recommend(resource=cluster.uplink, now=NOW)

    assert isinstance(advice, str)
    assert "the policy in force" in advice
    # Limits on top of it are weighed against the past, which is read with the rest.
    assert [bool(len(one.past.windows)) for one in looks] == [True, True]


@pytest.mark.parametrize("enforced", [True, False], ids=["own limit", "no limit"])
def test_workload_at_its_own_enforced_limit_is_no_victim(
    cluster: Cluster, *, enforced: bool
) -> None:
    cluster.uplink.allocations.update(reservation=0)
    limits = [None, 20 * MBIT if enforced else None, None]
    allocations = [
        {"allocation": allocation.pk, "workload": "",
         "reservation": 0.0, "limit": limit, "shares": 1000,
         "entitlement": EQUAL}
        for allocation, limit in zip(cluster.allocations, limits, strict=True)
    ]  # fmt: skip
    Policy(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        version=1,
        allocations=allocations,
        created_at=NOW - timedelta(days=1),
    ).save()
    # 31.3 are due to each; web-2 gets 20
    limited = {"p1": 37 * MBIT, "p2": 20 * MBIT, "p3": 37 * MBIT}
    play(cluster, phase(30, CALM), phase(30, limited))

    detect(resource=cluster.uplink, now=NOW)

    victims = {victim["workload"] for victim in Incident.objects.get().victims}
    assert ("web-2" in victims) is not enforced
