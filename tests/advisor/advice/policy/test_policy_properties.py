"""Properties of every answer: the same bytes again, no rule broken, shares never from use."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import assume, given
from hypothesis import strategies as st

from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import RecommendationKind
from advisor.advice.policy.decide.policy_inputs import AdviceAllocation, AdviceInputs
from advisor.advice.registry import answer
from advisor.core.allocation import ReservationMode
from advisor.core.canonical import dumps
from advisor.core.explanation.answer import AdviceOutcome
from advisor.core.forecast.past import HistoryWindow, Past, StoredPast
from advisor.core.forecast.prediction_interval import Outcome
from advisor.core.resource import ResourceKind, Tier, Unit
from tests.advisor.advice.policy.contended_resources import (
    BEGAN,
    ENDED,
    crowded,
    in_force,
    incident,
    steady,
)
from tests.advisor.core.forecast.weeks import week

rates = st.floats(0.0, 1e6)
shown_rates = st.lists(rates, max_size=12).map(tuple)
capacities = st.none() | st.floats(1.0, 1e6)


@st.composite
def pasts(draw, count):
    """A past of up to four windows, with whatever may be unknown in it."""
    length = draw(st.integers(0, 4))
    known = draw(st.booleans())
    row = st.tuples(*[st.none() | st.floats(0, 1e18)] * count)
    return Past.of(
        StoredPast(
            windows=tuple(
                HistoryWindow(
                    at=BEGAN + timedelta(hours=place),
                    window_s=draw(st.sampled_from([10.0, 86400.0])),
                    capacity=draw(st.floats(0, 1e18)),
                    demands=draw(row),
                )
                for place in range(length)
            ),
            congested=tuple(draw(st.booleans()) for _ in range(length)),
            rates=tuple(draw(row) for _ in range(length)) if known else (),
            latency_ms=draw(st.tuples(*[st.none() | st.floats(0, 1e18)] * length))
            if known
            else (),
            outcomes=tuple(
                draw(
                    st.lists(
                        st.builds(
                            Outcome,
                            predicted=st.floats(1e-300, 1e18),
                            measured=st.floats(0, 1e18),
                        ),
                        max_size=6,
                    )
                )
            ),
        )
    )


@st.composite
def advice_inputs(draw, *, samples=(0, 29, 30, 90), capacities=capacities, least_victims=0):
    """Any inputs; most of them lack something that advice needs."""
    count = draw(st.integers(1, 5))
    allocations = tuple(
        AdviceAllocation(
            allocation=index,
            workload=f"w{index}",
            host="h1",
            tier=draw(st.sampled_from(Tier)),
            reservation=draw(st.just(0.0) | rates),
            limit=draw(st.none() | st.floats(1.0, 1e6)),
            congested=steady(draw(rates), samples=draw(st.sampled_from(samples))),
            usual=steady(draw(rates), samples=draw(st.sampled_from([0, 30]))),
            congested_rates=draw(shown_rates),
            calm_rates=draw(shown_rates),
            active=draw(st.booleans()),
            backlogged=draw(st.sampled_from([None, True, False])),
            throttled=draw(st.booleans()),
        )
        for index in range(count)
    )
    workloads = st.sampled_from([c.workload for c in allocations])
    names = draw(st.lists(workloads, min_size=least_victims, unique=True))
    cut = draw(st.integers(least_victims, len(names)))
    inputs = AdviceInputs(
        resource="r",
        kind=draw(st.sampled_from(ResourceKind)),
        unit=draw(st.sampled_from(Unit)),
        mode=draw(st.sampled_from(ReservationMode)),
        capacity=draw(capacities),
        reservable=draw(st.none() | rates),
        began_at=BEGAN,
        ended_at=ENDED,
        allocations=allocations,
        incident=incident(
            dict.fromkeys(names[:cut], (1.0, 2.0)), dict.fromkeys(names[cut:], (2.0, 1.0))
        ),
        past=draw(pasts(count)),
    )
    return replace(inputs, in_force=in_force(inputs)) if draw(st.booleans()) else inputs


contended_inputs = advice_inputs(samples=(30, 90), capacities=st.floats(1.0, 1e6), least_victims=1)


@st.composite
def crowded_datastores(draw):
    """A datastore whose shares did not help, with a week that may bear out a limit.

    The app takes more than usual too, yet the incident holds only the batch job to blame.
    """
    past = week(busy_minutes=draw(st.integers(30, 120)))
    inputs = crowded(past, usual=steady(draw(st.floats(100.0, 500.0)), span_days=20.0))
    db, app, batch = inputs.allocations
    app = replace(app, congested=steady(500.0), usual=steady(100.0, span_days=20.0))
    blamed = incident({"db": (200.0, 800.0)}, {"batch": (700.0, 200.0)})
    return replace(inputs, allocations=(db, app, batch), incident=blamed)


@given(advice_inputs())
def test_recomputing_from_the_stored_text_gives_the_same_bytes(inputs):
    stored = dumps(inputs)

    first = answer("policy", stored)

    assert answer("policy", stored).encode() == first.encode()
    assert dumps(advise(inputs)) == first


@given(contended_inputs | crowded_datastores())
def test_a_recommended_policy_keeps_every_rule(inputs):
    advice = advise(inputs)

    assume(advice.outcome is AdviceOutcome.RECOMMENDATION)
    rows, evidence = advice.allocations, advice.evidence
    reservable = evidence.capacity if inputs.reservable is None else inputs.reservable
    assert sum(row.reservation for row in rows) <= reservable * (1 + 1e-6)
    assert sum(row.predicted_after for row in rows) <= evidence.capacity * (1 + 1e-6)
    for row, own in zip(rows, inputs.allocations, strict=True):
        assert row.shares == own.stated_shares
        if row.limit != own.limit:
            assert advice.kind is RecommendationKind.LIMIT
            assert row.workload in {a.workload for a in inputs.incident.aggressors}
            assert row.reservation == 0
        if row.limit is not None:
            assert row.reservation <= row.limit
            assert row.predicted_after <= row.limit * (1 + 1e-6)
    assert 0 <= advice.confidence.value <= 1


@given(contended_inputs, st.floats(0.1, 10))
def test_shares_never_follow_from_use(inputs, factor):
    def busier(summary):
        return steady(summary.mean * factor, samples=summary.sample_count)

    changed = replace(
        inputs,
        allocations=tuple(replace(c, congested=busier(c.congested)) for c in inputs.allocations),
    )

    both = [advise(inputs), advise(changed)]

    assume(all(advice.outcome is AdviceOutcome.RECOMMENDATION for advice in both))
    one, other = ([row.shares for row in advice.allocations] for advice in both)
    assert one == other
