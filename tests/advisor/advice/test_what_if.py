"""What-if from stored samples, and drafts that a person puts to the vote."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from advisor.advice.policy.recommend import recommend
from advisor.advice.registry import answer
from advisor.advice.what_if.drafts import past_of, save_draft, scene_of, what_if_inputs
from advisor.core.forecast.backtest import Change
from advisor.core.forecast.what_if import WhatIf, WhatIfInputs, what_if
from advisor.core.grant import Grant
from advisor.decisions.decide import approve, reject
from advisor.decisions.enrolment import enroll
from advisor.errors import DecisionRefused, InventoryError
from advisor.models import (
    Allocation,
    Attachment,
    Policy,
    Recommendation,
    RecommendationState,
    Resource,
)
from advisor.pipeline.detect import detect
from enforcers.contract import Outcome
from ingest.models import Host
from tests.advisor.agent_passes import agent_pass
from tests.advisor.agent_support import state_support
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster, propose

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
EVEN = {"p1": 31 * MBIT, "p2": 31 * MBIT, "p3": 31 * MBIT}
"""Three workloads that all send what they can over 94 Mbit/s."""


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def contended(cluster: Cluster) -> None:
    """Half an hour of little traffic, then half an hour in which everybody wants everything."""
    calm = Phase(intervals=180, sent={"up0": 30 * MBIT}, received=dict.fromkeys(EVEN, 10 * MBIT))
    full = Phase(intervals=180, sent={"up0": 93 * MBIT}, received=EVEN)
    send(cluster.organisation, net_lines("h1", [calm, full], start=NOW - HOUR), now=NOW)
    detect(resource=cluster.uplink, now=NOW)


def asked(
    cluster: Cluster,
    *,
    candidate: dict[int, Grant] | None = None,
    capacity: float | None = None,
) -> WhatIfInputs:
    scene = scene_of(Resource.objects.get(pk=cluster.uplink.pk), now=NOW)
    return what_if_inputs(
        scene=scene,
        past=past_of(scene, length=HOUR, now=NOW),
        candidate=candidate or {},
        capacity=capacity,
    )


def reserve(cluster: Cluster, amount: float) -> dict[int, Grant]:
    """The allocations as stated, but with this reservation for web-1."""
    return {
        cluster.allocations[0].pk: Grant(
            allocation=cluster.allocations[0].pk, reservation=amount, limit=None, shares=1000
        )
    }


def by_workload(found: WhatIf, name: str) -> float:
    (row,) = [one for one in found.rows if one.workload == name]
    assert row.contended is not None
    return row.contended.rate_after


def test_reservation_would_have_held_in_the_congested_half_hour(cluster: Cluster) -> None:
    contended(cluster)

    found = what_if(asked(cluster))

    assert found.windows == pytest.approx(360, abs=3)
    assert 150 <= found.congested_windows <= 180
    # 75 reserved, and a third of the 18 that are left of the 93 that were carried
    assert by_workload(found, "web-1") == pytest.approx(81 * MBIT, rel=0.02)
    assert by_workload(found, "web-2") == pytest.approx(6 * MBIT, rel=0.05)
    assert [row.change for row in found.rows] == [Change.GAINS, Change.LOSES, Change.LOSES]


def test_more_capacity_is_more_to_divide(cluster: Cluster) -> None:
    contended(cluster)

    found = what_if(asked(cluster, capacity=188 * MBIT))

    # twice 93 less 75 leaves 111 for three
    assert by_workload(found, "web-2") == pytest.approx(37 * MBIT, rel=0.02)


def test_limit_in_force_hides_demand_and_is_counted_as_throttling(cluster: Cluster) -> None:
    allocations = [
        {
            "allocation": allocation.pk, "workload": allocation.workload.name, "reservation": 0.0,
            "limit": 31 * MBIT, "shares": 1000, "entitlement": 31 * MBIT,
        }
        for allocation in cluster.allocations
    ]  # fmt: skip
    Policy.objects.create(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        version=1,
        allocations=allocations,
        created_at=NOW - timedelta(days=1),
    )
    contended(cluster)
    agent_pass(cluster.enrolment.host, at=NOW)

    found = what_if(asked(cluster, candidate=reserve(cluster, 0.0)))

    past = found.rows[0].past
    assert past is not None
    # Half an hour at its limit; with no limit none of it.
    assert past.throttled_min_before == pytest.approx(30, abs=1)
    assert past.throttled_min_after == 0.0


@pytest.mark.parametrize(
    ("outcome", "gap"),
    [
        (Outcome.UNCHANGED, ""),
        (Outcome.UNSUPPORTED, "published, not applied: web-1 on h1 is unsupported: no sch_htb"),
    ],
    ids=["applied", "unsupported"],
)
def test_policy_holds_now_only_where_a_host_applied_it(
    cluster: Cluster, outcome: Outcome, gap: str
) -> None:
    contended(cluster)
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    agent_pass(cluster.enrolment.host, at=NOW, outcome=outcome, reason="no sch_htb")

    scene = scene_of(Resource.objects.get(pk=cluster.uplink.pk), now=NOW)
    inputs = asked(cluster, candidate=reserve(cluster, 60 * MBIT))
    web_1 = what_if(inputs).rows[0]

    assert scene.gap == (gap and f"version 1 of the policy is {gap}")
    assert inputs.enforced is (outcome is Outcome.UNCHANGED)
    # Reserved 75 and a third of 18 under the policy; measured 31 where nothing is enforced.
    expected = 81 if outcome is Outcome.UNCHANGED else 31
    assert web_1.now == pytest.approx(expected * MBIT, rel=0.02)


def test_policy_applied_on_one_of_two_hosts_holds_there_alone(cluster: Cluster) -> None:
    state_support(enroll(organisation=cluster.organisation, host_name="h2").host)
    h2 = Host.objects.get(name="h2")
    Attachment.objects.create(resource=cluster.uplink, host=h2, device="up0")
    Allocation.objects.filter(pk=cluster.allocations[1].pk).update(host=h2)
    Resource.objects.filter(pk=cluster.uplink.pk).update(staged=False)
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    agent_pass(cluster.enrolment.host, at=NOW)

    scene = scene_of(cluster.uplink, now=NOW)

    assert scene.gap == (
        "version 1 of the policy is published, not applied everywhere: "
        "the agent of h2 has not reported yet"
    )
    grants = {
        allocation.workload.name: grant
        for allocation, grant in zip(scene.allocations, scene.now, strict=True)
    }
    assert grants["web-1"].reservation == 75 * MBIT
    assert scene.policy is not None


def test_silence_is_told_with_the_host_to_look_at(cluster: Cluster) -> None:
    found = what_if(asked(cluster))

    assert found.gap == (
        "no samples of web-1, web-2 and web-3 in that time; is Telegraf running on h1?"
    )
    assert found.rows[0].entitlement_after > 75 * MBIT


def test_resource_that_nobody_allocations_is_refused_with_what_helps(cluster: Cluster) -> None:
    contended(cluster)
    Resource.objects.filter(pk=cluster.uplink.pk).update(capacity=None)
    cluster.uplink.allocations.all().delete()

    # Its samples are there; what is missing is whose they are.
    with pytest.raises(InventoryError, match="no workload has an allocation on it"):
        asked(cluster)


def test_unknown_capacity_without_samples_is_refused_with_what_helps(cluster: Cluster) -> None:
    Resource.objects.filter(pk=cluster.uplink.pk).update(capacity=None)

    with pytest.raises(InventoryError, match="sluice resource set h1/up0 --capacity RATE"):
        asked(cluster)


def test_unknown_capacity_is_taken_from_the_most_that_was_measured(cluster: Cluster) -> None:
    contended(cluster)
    Resource.objects.filter(pk=cluster.uplink.pk).update(capacity=None)

    inputs = asked(cluster)

    assert inputs.capacity == pytest.approx(93 * MBIT, rel=0.01)
    assert inputs.capacity_source == "the most that its allocations got together"


def test_draft_is_open_in_its_authors_name_and_recomputes_to_the_same_bytes(
    cluster: Cluster,
) -> None:
    contended(cluster)

    draft = save_draft(
        inputs=asked(cluster), resource=cluster.uplink, user=cluster.people.operator, now=NOW
    )

    assert (draft.kind, draft.state) == ("what_if", RecommendationState.PROPOSED)
    assert draft.created_by == cluster.people.operator
    assert answer("what_if", draft.inputs) == draft.answer


def test_draft_takes_the_place_of_the_open_recommendation(cluster: Cluster) -> None:
    contended(cluster)
    earlier = propose(cluster)

    save_draft(
        inputs=asked(cluster), resource=cluster.uplink, user=cluster.people.operator, now=NOW
    )

    earlier.refresh_from_db()
    assert earlier.state == RecommendationState.SUPERSEDED


def test_approved_draft_becomes_a_policy_like_any_other(cluster: Cluster) -> None:
    contended(cluster)
    draft = save_draft(
        inputs=asked(cluster), resource=cluster.uplink, user=cluster.people.operator, now=NOW
    )

    policy = approve(recommendation=draft, user=cluster.people.owner, now=NOW)

    assert policy is not None
    granted = {item["workload"]: item["reservation"] for item in policy.allocations}
    assert granted == {"web-1": 75 * MBIT, "web-2": 0.0, "web-3": 0.0}


def test_nothing_else_is_recommended_while_a_draft_waits(cluster: Cluster) -> None:
    contended(cluster)
    draft = save_draft(
        inputs=asked(cluster, candidate=reserve(cluster, 60 * MBIT)),
        resource=cluster.uplink,
        user=cluster.people.operator,
        now=NOW,
    )

    waiting = recommend(resource=cluster.uplink, now=NOW)
    reject(recommendation=draft, user=cluster.people.owner, reason="too low", now=NOW)
    after = recommend(resource=cluster.uplink, now=NOW)

    assert waiting == f"a draft, recommendation {draft.pk}, waits for a decision"
    assert isinstance(after, Recommendation)


@pytest.mark.parametrize(
    ("is_applied", "reason"),
    [
        (True, "nothing differs from what holds now"),
        (False, "version 1 of the policy says the same already"),
    ],
)
def test_unchanged_settings_make_no_draft(cluster: Cluster, is_applied: bool, reason: str) -> None:
    contended(cluster)
    draft = save_draft(
        inputs=asked(cluster), resource=cluster.uplink, user=cluster.people.operator, now=NOW
    )
    approve(recommendation=draft, user=cluster.people.owner, now=NOW)
    if is_applied:
        agent_pass(cluster.enrolment.host, at=NOW)

    with pytest.raises(DecisionRefused, match=reason):
        save_draft(
            inputs=asked(cluster), resource=cluster.uplink, user=cluster.people.operator, now=NOW
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"capacity_after": 200 * MBIT}, "a policy cannot change a capacity"),
        (
            {"reservable": 10 * MBIT},
            "web-1 asks for [0-9.]+ Mbit/s; 10.0 Mbit/s of 10.0 Mbit/s that may be",
        ),
    ],
)
def test_what_a_policy_cannot_hold_makes_no_draft(
    cluster: Cluster, change: dict[str, float], words: str
) -> None:
    contended(cluster)

    with pytest.raises(DecisionRefused, match=words):
        save_draft(
            inputs=replace(asked(cluster), **change),
            resource=cluster.uplink,
            user=cluster.people.operator,
            now=NOW,
        )


@pytest.mark.parametrize("who", ["viewer", "outsider"])
def test_draft_takes_the_operator_role(cluster: Cluster, who: str) -> None:
    contended(cluster)

    with pytest.raises(DecisionRefused, match="may not decide"):
        save_draft(
            inputs=asked(cluster),
            resource=cluster.uplink,
            user=getattr(cluster.people, who),
            now=NOW,
        )


def test_stored_text_of_a_draft_stays_short(cluster: Cluster) -> None:
    contended(cluster)

    draft = save_draft(
        inputs=asked(cluster), resource=cluster.uplink, user=cluster.people.operator, now=NOW
    )

    assert len(json.loads(draft.inputs)["windows"]) <= 720
    assert len(draft.inputs) < 100_000
