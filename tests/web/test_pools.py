"""Pools on the pages of an uplink: their terms, their members, and what hosts do with them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from advisor.advice.policy.recommend import recommend
from advisor.core.canonical import to_plain
from advisor.decisions.decide import approve
from advisor.decisions.documents import current_document
from advisor.decisions.pools import remove_pool, set_pool
from advisor.history.stated_pools import pool_terms
from advisor.models import Enforcer, Recommendation
from advisor.pipeline.detect import detect
from advisor.queries.pools import pool_lines
from enforcers.contract import POOL
from tests.advisor.advice.test_advice_flow import CALM, CONTENDED, phase, play
from tests.advisor.agent_support import SUPPORT, state_support
from tests.advisor.scenario import MBIT, NOW, Cluster, end_guards, make_cluster, propose
from tests.web.conftest import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    """An uplink with the pool web of web-2 and web-3, in no policy yet."""
    cluster = make_cluster()
    state(cluster, knows_pools=True)
    set_pool(resource=cluster.uplink, name="web", limit=30 * MBIT, members=["web-2", "web-3"])
    return cluster


def state(cluster: Cluster, *, knows_pools: bool) -> None:
    """As if the agent had reported that its mechanisms hold pools, or do not."""
    found = []
    for one in SUPPORT:
        kinds = tuple(kind for kind in one.selectors if kind != POOL)
        found.append(replace(one, selectors=(*kinds, POOL) if knows_pools else kinds))
    state_support(cluster.enrolment.host, tuple(found))


def publish(cluster: Cluster) -> None:
    draft = propose(cluster)
    pools = [to_plain(one) for one in pool_terms(cluster.uplink)]
    draft.inputs = json.dumps({"pools_after": pools})
    draft.save()
    approve(recommendation=draft, user=cluster.people.owner, now=NOW)


def state_of_web(cluster: Cluster) -> str:
    (line,) = pool_lines(cluster.uplink, cluster.uplink.policies.first())
    return line.state


def page(cluster: Cluster) -> str:
    answer = client_of(cluster.people.viewer).get(f"/resources/{cluster.uplink.pk}/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_page_shows_the_terms_and_the_members_of_a_pool(cluster: Cluster) -> None:
    text = page(cluster)

    assert "at most 30.0 Mbit/s, shares of its members" in text
    assert "web-2, web-3" in text
    assert "in no policy yet" in text


def test_version_of_the_policy_shows_its_pools(cluster: Cluster) -> None:
    publish(cluster)
    remove_pool(resource=cluster.uplink, name="web")

    text = page(cluster)

    assert 'Pool <span class="name">web</span>: at most 30.0 Mbit/s' in text
    assert "removed, but the newest policy has it still" in text


def test_pool_that_was_stated_anew_says_so(cluster: Cluster) -> None:
    publish(cluster)
    set_pool(resource=cluster.uplink, name="web", limit=40 * MBIT)

    assert state_of_web(cluster).startswith("stated anew since the newest policy; of that one: ")


def test_pool_is_accepted_once_the_agent_reports_its_document(cluster: Cluster) -> None:
    publish(cluster)
    document = current_document(host=cluster.enrolment.host, now=NOW)
    assert state_of_web(cluster) == "sent to h1, whose agent has not reported it"

    Enforcer.objects.update(applied_revision=document.revision)

    assert (
        state_of_web(cluster)
        == "accepted by the agent of h1; what its members get is in the table above"
    )


def test_pool_that_an_agent_cannot_hold_says_why(cluster: Cluster) -> None:
    state(cluster, knows_pools=False)
    publish(cluster)

    assert state_of_web(cluster).startswith("not enforced on h1: tc_htb of its agent holds no")


def test_another_tenant_sees_no_pool(cluster: Cluster) -> None:
    answer = client_of(cluster.people.outsider).get(f"/resources/{cluster.uplink.pk}/")

    assert answer.status_code == 404


@pytest.fixture
def contended(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """All three want all of the uplink."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    play(cluster, phase(30, CALM), phase(30, CONTENDED))
    detect(resource=cluster.uplink, now=NOW)
    return cluster


def advised(cluster: Cluster) -> str:
    """The page of what is advised, before it is approved."""
    advice = recommend(resource=cluster.uplink, now=NOW)
    assert isinstance(advice, Recommendation), advice
    answer = client_of(cluster.people.operator).get(f"/recommendations/{advice.pk}/")
    approve(recommendation=advice, user=cluster.people.owner, now=NOW)
    end_guards()
    return " ".join(answer.content.decode().replace("\N{NO-BREAK SPACE}", " ").split())


def test_recommendation_shows_what_of_pools_changes(contended: Cluster) -> None:
    first = advised(contended)
    set_pool(resource=contended.uplink, name="web", limit=40 * MBIT)
    second = advised(contended)

    terms = "shares of its members"
    assert f"Pool web of web-2 and web-3 (at most 30.0 Mbit/s, {terms})." in first
    assert f"Pool web of web-2 and web-3 (at most 40.0 Mbit/s, {terms})." in second
    # By its settings alone it says what is in force.
    assert "0 settings and 1 pool will change on" in second
    assert "Nothing: the newest version of the policy already says this." not in second


def test_recommendation_without_pools_takes_those_of_the_policy_away(contended: Cluster) -> None:
    advised(contended)
    remove_pool(resource=contended.uplink, name="web")

    assert "No pool web." in advised(contended)
