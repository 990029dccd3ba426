"""While a version rolls out, no other is advised, and none of the advice is approved."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.advice.policy.recommend import recommend
from advisor.decisions.decide import approve, rollback
from advisor.decisions.rollouts.steer import go_on
from advisor.errors import DecisionRefused
from advisor.models import PolicyRollout, Recommendation
from advisor.pipeline.detect import detect
from tests.advisor.advice.test_advice_flow import CALM, CONTENDED, phase, play
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster, propose
from tests.web.conftest import client_of

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(minutes=2)
WATCHED = "version 1 of the policy still rolls out, in stage 1 of 1, and its guard has not ended"


@pytest.fixture
def cluster() -> Cluster:
    """Version 1 has gone to the only host, and its guard has not ended."""
    found = make_cluster()
    play(found, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=found.uplink, now=NOW)
    # Less than what is advised.
    first = propose(found, reservation=40 * MBIT)
    approve(recommendation=first, user=found.people.owner, now=NOW)
    return found


def end_guard(cluster: Cluster) -> None:
    go_on(rollout=PolicyRollout.objects.get(), user=cluster.people.owner, now=LATER)


def test_nothing_is_advised_until_the_guard_has_ended(cluster: Cluster) -> None:
    meanwhile = recommend(resource=cluster.uplink, now=LATER)
    end_guard(cluster)
    after = recommend(resource=cluster.uplink, now=LATER)

    assert meanwhile == WATCHED
    assert isinstance(after, Recommendation)


def test_gap_is_shown_on_the_page_of_the_resource(cluster: Cluster) -> None:
    recommend(resource=cluster.uplink, now=LATER)

    cluster.uplink.refresh_from_db()
    assert cluster.uplink.status.advice_gap == WATCHED


def test_advice_is_not_approved_until_the_guard_has_ended(cluster: Cluster) -> None:
    waiting = propose(cluster, reservation=60 * MBIT)
    with pytest.raises(DecisionRefused, match=f"{WATCHED}; wait for it, go on with it or roll"):
        approve(recommendation=waiting, user=cluster.people.owner, now=LATER)
    waiting.refresh_from_db()
    meanwhile = waiting.state

    end_guard(cluster)
    policy = approve(recommendation=waiting, user=cluster.people.owner, now=LATER)

    assert meanwhile == "proposed"
    assert policy is not None
    assert policy.version == 2


def test_page_of_waiting_advice_says_why_and_has_no_button(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER)
    waiting = propose(cluster, reservation=60 * MBIT)
    operator = client_of(cluster.people.operator)

    meanwhile = operator.get(f"/recommendations/{waiting.pk}/").content.decode()
    end_guard(cluster)
    after = operator.get(f"/recommendations/{waiting.pk}/").content.decode()

    assert f"It cannot be approved now: {WATCHED}" in meanwhile
    assert 'data-opens="approve-dialog"' not in meanwhile
    assert "It cannot be approved now" not in after
    assert 'data-opens="approve-dialog"' in after


def test_draft_of_a_person_takes_the_place_of_what_rolls_out(cluster: Cluster) -> None:
    draft = propose(cluster, reservation=60 * MBIT)
    Recommendation.objects.filter(pk=draft.pk).update(
        kind="what_if", created_by=cluster.people.owner
    )
    draft.refresh_from_db()

    policy = approve(recommendation=draft, user=cluster.people.owner, now=LATER)

    assert policy is not None
    assert policy.version == 2


def test_going_back_is_possible_meanwhile_and_ends_the_wait(cluster: Cluster) -> None:
    rollback(resource=cluster.uplink, user=cluster.people.owner, now=LATER)

    found = recommend(resource=cluster.uplink, now=LATER)

    assert isinstance(found, Recommendation)


def test_version_that_no_host_gets_holds_nothing_back() -> None:
    cluster = make_cluster()
    cluster.enrolment.host.enforcer.delete()
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    second = approve(
        recommendation=propose(cluster, reservation=60 * MBIT),
        user=cluster.people.owner,
        now=LATER,
    )

    assert PolicyRollout.objects.first().sizes == [0]
    assert second is not None
    assert second.version == 2
