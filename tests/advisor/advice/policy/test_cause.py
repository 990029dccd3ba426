"""The cause of an incident: advice accuses whom the incident's page accuses, and nobody else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import Advice, Recommendation, RecommendationKind
from advisor.advice.policy.decide.policy_inputs import Accused, AdviceInputs, Cause
from advisor.advice.policy.gather import policy_inputs
from advisor.core.explanation.answer import AdviceOutcome
from advisor.models import Incident
from advisor.pipeline.attribute import study_incident
from tests.advisor.advice.policy.contended_resources import crowded
from tests.advisor.core.forecast.weeks import week
from tests.advisor.crowded_uplink import crowded_uplink
from tests.advisor.scenario import NOW

NOBODY = Cause(aggressors=(), reason="no cause identified: the first suspect is steady")


def accusing(*names: str) -> Cause:
    aggressors = tuple(Accused(workload=name, part_ratio=0.7) for name in names)
    return Cause(aggressors=aggressors, reason=f"{' and '.join(names)} took 70%")


def told(inputs: AdviceInputs, cause: Cause | None) -> Advice:
    return advise(replace(inputs, cause=cause))


def shares(inputs: AdviceInputs, cause: Cause | None) -> Recommendation:
    found = told(replace(inputs, in_force=()), cause)
    assert isinstance(found, Recommendation)
    return found


def test_nobody_is_limited_whose_load_the_harm_does_not_follow() -> None:
    inputs = crowded(week())

    unknown, batch, nobody = (told(inputs, one) for one in (None, accusing("batch"), NOBODY))

    assert isinstance(unknown, Recommendation)
    assert isinstance(batch, Recommendation)
    assert unknown.kind is batch.kind is RecommendationKind.LIMIT
    assert unknown.allocations == batch.allocations
    assert nobody.outcome is AdviceOutcome.NO_CHANGE


def test_reasons_name_the_cause_and_nobody_else() -> None:
    inputs = crowded(week())

    unknown, app, nobody = (shares(inputs, one) for one in (None, accusing("app"), NOBODY))

    assert [one.partition(" took")[0] for one in unknown.evidence.aggressors] == ["batch"]
    assert [one.partition(" took")[0] for one in app.evidence.aggressors] == ["app"]
    assert app.evidence.aggressors[0].startswith("app took 70%, 1")
    assert "limit app" in [one.name for one in app.alternatives]
    assert app.evidence.cause == "app took 70%"
    assert nobody.evidence.aggressors == ()
    assert nobody.evidence.cause == NOBODY.reason
    assert not [one for one in nobody.alternatives if one.name.startswith("limit")]


def test_shares_are_the_same_whoever_is_accused() -> None:
    inputs = crowded(week())

    found = [shares(inputs, one).allocations for one in (None, accusing("app"), NOBODY)]

    assert found[0] == found[1] == found[2]


def looked_at(incident: Incident, *, with_past: bool) -> AdviceInputs:
    return policy_inputs(
        incident.resource, incident, policy=None, until=NOW, now=NOW, with_past=with_past
    )


@pytest.mark.django_db
def test_advice_has_the_cause_that_the_page_of_the_incident_tells() -> None:
    incident = crowded_uplink()

    quick, whole = (looked_at(incident, with_past=one) for one in (False, True))

    told = study_incident(incident=incident, now=NOW).attribution
    assert told is not None
    assert told.aggressors == ("web-3",)
    assert quick.cause is None
    assert whole.cause is not None
    assert [one.workload for one in whole.cause.aggressors] == list(told.aggressors)
    assert whole.cause.reason == told.reason


@pytest.mark.django_db
def test_cause_is_not_known_from_windows_that_never_change() -> None:
    incident = crowded_uplink(calm=0)

    assert looked_at(incident, with_past=True).cause is None


@pytest.mark.django_db
def test_cause_of_the_first_two_hours_is_not_taken_for_that_of_a_longer_incident() -> None:
    """Who caused its beginning may be gone."""
    incident = crowded_uplink(full=2 * 360 + 6)

    assert study_incident(incident=incident, now=NOW).attribution is not None
    assert looked_at(incident, with_past=True).cause is None


def test_of_whom_no_rate_is_known_none_is_told_and_no_limit_offered() -> None:
    found = shares(crowded(week()), accusing("(unallocated)"))

    assert found.evidence.aggressors == ("(unallocated) took 70%",)
    assert not [one for one in found.alternatives if one.name.startswith("limit")]
