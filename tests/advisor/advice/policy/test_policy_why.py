"""Why a policy is recommended: evidence, what speaks against others, how far it can be trusted."""

from dataclasses import replace

import pytest

from advisor.advice.policy.decide.candidate import due_of, setting_of
from advisor.advice.policy.decide.policy_advice import advise
from advisor.core.explanation.answer import AdviceOutcome
from tests.advisor.advice.policy.contended_resources import (
    BEGAN,
    ENDED,
    MBIT,
    datastore,
    incident,
    uplink,
)


def test_a_recommendation_carries_its_evidence():
    advice = advise(uplink())

    evidence = advice.evidence
    assert (evidence.began_at, evidence.ended_at, evidence.sample_count) == (BEGAN, ENDED, 180)
    assert evidence.victims == ("web-1 got 31.2 Mbit/s of 81.3 Mbit/s due",)
    assert evidence.formula == (
        "rate = reservation + part by shares of what is left, at most limit and demand; "
        "the rates add up to 94.0 Mbit/s (stated)"
    )
    assert "Reversible" in advice.reversibility


def test_rejected_alternatives_say_the_number_that_speaks_against_them():
    reasons = {one.name: one.reason for one in advise(uplink()).alternatives}

    assert reasons == {
        # measured; the solver says 94/3 of three that count the same
        "do nothing": "web-1 stays at 31.2 Mbit/s",
        "shares only": "web-1 would get 31.3 Mbit/s",
        # 94 for two rivals, of which 2 · 19/3 remain under the limits.
        "limit web-2 and web-3": "would leave 81.3 Mbit/s unused whenever the victims are idle",
    }


def test_promises_beyond_what_may_be_reserved_are_refused_by_name():
    inputs = uplink()
    greedy = replace(inputs.allocations[1], reservation=40 * MBIT)

    advice = advise(
        replace(inputs, allocations=(inputs.allocations[0], greedy, inputs.allocations[2]))
    )

    assert [row.reservation / MBIT for row in advice.allocations] == [75.0, 0.0, 0.0]
    assert advice.alternatives[-1].reason == (
        "web-2 asks for 40.0 Mbit/s; 0 bit/s of 75.0 Mbit/s that may be reserved is free"
    )


def test_confidence_is_that_of_its_weakest_part():
    confidence = advise(uplink()).confidence

    # 60 samples of 2 · 30; each of three rates is 94/3 - 31.2 = 0.4/3 from its prediction, which
    # is 0.4 of 2 · 94; the rates are steady.
    assert {part.name: part.value for part in confidence.parts} == {
        "samples": 1.0,
        "fit": pytest.approx(1 - 0.4 / 188),
        "steadiness": 1.0,
    }
    assert confidence.value == pytest.approx(1 - 0.4 / 188)
    assert confidence.parts[0].how == ("60 samples of the workload with the fewest, 60 are plenty")


@pytest.mark.parametrize(
    ("excess", "text"),
    [
        (0.0, "143 IOPS"),
        (1.0, "144 IOPS where 143 IOPS were due"),
    ],
)
def test_what_is_due_is_named_only_where_an_aggressor_took_more(excess, text):
    # Shares 2000, 1000 and 500 of 1000 IOPS: 571, 286 and 143.
    due = due_of(setting_of(datastore(), 1000.0))
    aggressor = {"batch": (due["batch"] + excess, 1.0)}
    victims = {"db": (due["db"], 900.0), "app": (100.0, 286.0)}

    evidence = advise(replace(datastore(), incident=incident(victims, aggressor))).evidence

    assert evidence.victims == ("db got 571 IOPS", "app got 100 IOPS of 286 IOPS due")
    assert evidence.aggressors[0].endswith(f"%, {text}")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"incident": None}, "was not congested"),
        ({"incident": incident({}, {})}, "too small for what is asked of it"),
    ],
    ids=["no incident", "no victim"],
)
def test_no_change_is_said_with_its_reason(fields, words):
    advice = advise(uplink(**fields))

    assert advice.outcome is AdviceOutcome.NO_CHANGE
    assert words in advice.summary


def test_half_of_plenty_samples_give_half_of_the_confidence():
    inputs = uplink()
    few = tuple(
        replace(one, congested=replace(one.congested, sample_count=45))
        for one in inputs.allocations
    )

    samples = advise(replace(inputs, allocations=few)).confidence.parts[0]

    # 45 of twice 30.
    assert (samples.name, samples.value) == ("samples", 0.75)
