"""Advice asks for no more of many workloads than of few, and for nothing that is not judged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.advice.policy.decide.policy_advice import Choice, choose
from advisor.advice.policy.decide.policy_inputs import AdviceInputs
from advisor.advice.policy.gather import policy_inputs
from advisor.advice.policy.recommend import recommend
from advisor.core.canonical import loads, to_plain
from advisor.core.detection.external_workload import ExternalLoad, ExternalState
from advisor.core.explanation.answer import Confidence
from advisor.models import Incident, Recommendation, Resource
from advisor.pipeline.detect import detect
from tests.advisor.scenario import NOW
from tests.web.fleet import empty_fleet
from tests.web.many_allocations import shared_datastore, shared_uplink

MOST_STATEMENTS = {shared_datastore: 10, shared_uplink: 10}
"""With one for all samples that are not sealed yet, one for the size terms of a datastore, and on
an uplink one for its pools."""

pytestmark = pytest.mark.django_db


def congested(resource: Resource, *, judged: datetime = NOW - timedelta(seconds=20)) -> None:
    """An incident of the last twenty minutes that is not over, in windows judged until then."""
    detect(resource=resource, now=judged)
    first, second = resource.allocations.order_by("pk")[:2]
    got = {"rate": 10.0, "entitlement": 100.0, "reservation": 0.0, "shortfall_ratio": 0.9}
    took = {"rate": 90.0, "entitlement": 10.0, "part_ratio": 0.9, "excess_ratio": 1.0}
    own = ExternalLoad(
        state=ExternalState.NONE,
        began_at=None,
        normal_ms=3.0,
        recent_ms=30.0,
        own_load=1.0,
        comparable_windows=100,
        confidence=Confidence(value=1.0, parts=()),
        reason="latency rose with the load of our own workloads",
    )
    Incident.objects.create(
        organisation=resource.organisation,
        resource=resource,
        started_at=NOW - timedelta(minutes=20),
        peak_value=30.0,
        threshold=20.0,
        windows=118,
        victims=[{"workload": first.workload.name, **got}],
        aggressors=[{"workload": second.workload.name, **took}],
        external=to_plain(own),
    )


def statements_of_another_round(resource: Resource) -> list[str]:
    """Those of advice that says what it said in the round before."""
    congested(resource)
    first = recommend(resource=resource, now=NOW)
    assert isinstance(first, Recommendation)
    with CaptureQueriesContext(connection) as captured:
        assert recommend(resource=resource, now=NOW) == first
    asked = [query["sql"] for query in captured.captured_queries]
    return [one for one in asked if "SAVEPOINT" not in one]


@pytest.mark.parametrize("shared", [shared_datastore, shared_uplink], ids=["datastore", "uplink"])
def test_advice_asks_as_little_of_a_hundred_workloads_as_of_ten(
    shared: Callable[..., Resource],
) -> None:
    fleet = empty_fleet(NOW)

    few = statements_of_another_round(shared(fleet, "few", allocations=10))
    many = statements_of_another_round(shared(fleet, "many", allocations=100))

    assert len(many) == len(few)
    assert len(many) <= MOST_STATEMENTS[shared], "\n".join(many)


def test_advice_where_none_stood_asks_once_what_stands_and_supersedes_nothing() -> None:
    resource = shared_uplink(empty_fleet(NOW), "uplink", allocations=10)
    congested(resource)
    with CaptureQueriesContext(connection) as captured:
        assert isinstance(recommend(resource=resource, now=NOW), Recommendation)

    asked = [query["sql"] for query in captured.captured_queries]

    assert not [one for one in asked if one.startswith('UPDATE "advisor_recommendation"')]
    # Once before samples are read, and once more when the status is locked.
    from_table = 'FROM "advisor_recommendation" WHERE'
    assert len([one for one in asked if from_table in one]) == 2


def test_advice_that_is_open_already_is_not_stored_again() -> None:
    resource = shared_uplink(empty_fleet(NOW), "uplink", allocations=10)

    asked = statements_of_another_round(resource)

    assert not [one for one in asked if one.startswith(("INSERT", "UPDATE", "DELETE"))]
    assert not [one for one in asked if "FOR UPDATE" in one]
    assert Recommendation.objects.count() == 1


def test_past_ends_with_the_last_window_that_was_judged() -> None:
    resource = shared_datastore(empty_fleet(NOW), "store", allocations=10)
    judged = NOW - timedelta(minutes=6)
    congested(resource, judged=judged)

    advice = recommend(resource=resource, now=NOW)

    assert isinstance(advice, Recommendation)
    # Samples are there until now; whether their windows are congested is not known yet.
    ends = loads(AdviceInputs, advice.inputs).past.windows.ends
    assert judged - timedelta(minutes=1) < ends[-1] <= judged


@pytest.mark.parametrize("shared", [shared_datastore, shared_uplink], ids=["datastore", "uplink"])
def test_look_without_the_past_chooses_the_same(shared: Callable[..., Resource]) -> None:
    resource = shared(empty_fleet(NOW), "shared", allocations=10)
    congested(resource)
    incident = Incident.objects.get()
    look = partial(policy_inputs, resource, incident, policy=None, until=NOW, now=NOW)

    quick, whole = (choose(look(with_past=with_past)) for with_past in (False, True))

    assert isinstance(quick, Choice)
    assert isinstance(whole, Choice)
    assert (quick.kind, quick.policy, quick.refused) == (whole.kind, whole.policy, whole.refused)
