"""Advice: which control for which episode, what is missing, why, and the same bytes again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.advice.kinds import AdviceKind, answer
from advisor.core.advice.policy_advice import advise
from advisor.core.advice.policy_answer import RecommendationKind
from advisor.core.advice.policy_inputs import (
    NO_PAST,
    AdviceClaim,
    AdviceInputs,
    summarize_rates,
)
from advisor.core.allocation import ReservationMode
from advisor.core.canonical import CanonicalError, dumps
from advisor.core.detection.episode import Aggressor, Episode, Victim
from advisor.core.explanation.answer import AdviceOutcome
from advisor.core.forecast.backtest import Change
from advisor.core.forecast.history import HistoryWindow
from advisor.core.forecast.past import Past
from advisor.core.forecast.prediction_interval import Outcome
from advisor.core.grant import Grant
from advisor.core.resource import ResourceKind, Tier, Unit
from tests.advisor.core.forecast.weeks import week

MBIT = 1e6
BEGAN = datetime(2026, 3, 2, 12, tzinfo=UTC)
ENDED = BEGAN + timedelta(minutes=10)


def steady(rate, *, samples=60, span_days=1.0):
    return summarize_rates([rate] * samples, span_days=span_days) if samples else None


def claim(number, workload, rate, *, samples=60, **fields):
    return AdviceClaim(
        claim=number,
        workload=workload,
        host="h1",
        tier=fields.pop("tier", Tier.MEDIUM),
        congested=steady(rate, samples=samples),
        **fields,
    )


def episode(victims, aggressors):
    """`victims` and `aggressors` map names to (rate, entitlement)."""
    total = sum(rate for rate, _ in [*victims.values(), *aggressors.values()])
    excess = sum(rate - due for rate, due in aggressors.values())
    return Episode(
        started_at=BEGAN,
        ended_at=None,
        peak_value=1.0,
        threshold=0.9,
        windows=60,
        victims=tuple(
            Victim(
                workload=name,
                rate=rate,
                entitlement=due,
                reservation=0.0,
                shortfall_ratio=1 - rate / due,
            )
            for name, (rate, due) in victims.items()
        ),
        aggressors=tuple(
            Aggressor(
                workload=name,
                rate=rate,
                entitlement=due,
                part_ratio=rate / total,
                excess_ratio=(rate - due) / excess,
            )
            for name, (rate, due) in aggressors.items()
        ),
        evidence=(),
    )


def uplink(**fields):
    """Seed 002 step a at 1:10: 75 of 94 Mbit/s promised to web-1, which gets a third."""
    third, rest = 31.2 * MBIT, 19 / 3 * MBIT
    inputs = AdviceInputs(
        resource="h1/eth0",
        kind=ResourceKind.UPLINK,
        unit=Unit.BITS_PER_S,
        mode=ReservationMode.ADDITIVE,
        capacity=94 * MBIT,
        reservable=75 * MBIT,
        began_at=BEGAN,
        ended_at=ENDED,
        claims=(
            claim(1, "web-1", third, reservation=75 * MBIT, backlogged=True),
            claim(2, "web-2", third),
            claim(3, "web-3", third),
        ),
        episode=episode(
            {"web-1": (third, 75 * MBIT + rest)}, {"web-2": (third, rest), "web-3": (third, rest)}
        ),
    )
    return replace(inputs, **fields)


def datastore(**fields):
    """A batch job takes 700 of 1,000 IOPS from two workloads of a higher tier."""
    inputs = AdviceInputs(
        resource="nfs-07",
        kind=ResourceKind.DATASTORE,
        unit=Unit.IOPS,
        mode=ReservationMode.FLOOR,
        capacity=None,
        reservable=750.0,
        began_at=BEGAN,
        ended_at=ENDED,
        claims=(
            claim(1, "db", 200.0, tier=Tier.HIGH, backlogged=True),
            claim(2, "app", 100.0, backlogged=True),
            claim(3, "batch", 700.0, tier=Tier.LOW),
        ),
        episode=episode({"db": (200.0, 571.0), "app": (100.0, 286.0)}, {"batch": (700.0, 143.0)}),
    )
    return replace(inputs, **fields)


def test_an_unmet_reservation_is_recommended_with_what_it_brings():
    advice = advise(uplink())

    assert advice.kind is RecommendationKind.RESERVATION
    assert advice.summary == (
        "Reserve 75.0 Mbit/s for web-1 on uplink h1/eth0: "
        "it gets 31.2 Mbit/s now, 81.3 Mbit/s predicted"
    )
    # 75 + 19/3, 19/3, 19/3 of 94; without a policy a third each.
    after = [row.predicted_after / MBIT for row in advice.allocations]
    before = [row.predicted_before / MBIT for row in advice.allocations]
    assert after == pytest.approx([75 + 19 / 3, 19 / 3, 19 / 3])
    assert before == pytest.approx([94 / 3] * 3)


def test_shares_are_recommended_where_nothing_was_promised():
    advice = advise(datastore())

    assert advice.kind is RecommendationKind.SHARES
    # 2000:1000:500 of the 1,000 IOPS that it delivered.
    assert [row.shares for row in advice.allocations] == [2000, 1000, 500]
    assert [row.predicted_after for row in advice.allocations] == pytest.approx(
        [4000 / 7, 2000 / 7, 1000 / 7]
    )
    assert advice.summary == (
        "Divide datastore nfs-07 by shares 2000:1000:500: db gets 200 IOPS now, 571 IOPS predicted"
    )


def test_a_high_tier_victim_that_shares_leave_short_gets_its_usual_rate_reserved():
    inputs = datastore()
    db = replace(inputs.claims[0], usual=steady(700.0))

    advice = advise(replace(inputs, claims=(db, *inputs.claims[1:])))

    assert advice.kind is RecommendationKind.RESERVATION
    assert [row.reservation for row in advice.allocations] == [700.0, 0.0, 0.0]
    # Floor mode: the other 300 by 1000:500.
    assert [row.predicted_after for row in advice.allocations] == pytest.approx([700, 200, 100])


@pytest.mark.parametrize(
    ("tier", "usual"),
    [
        (Tier.MEDIUM, steady(700.0)),
        (Tier.HIGH, steady(550.0)),
        (Tier.HIGH, steady(700, samples=9)),
    ],
    ids=["not of the high tier", "shares are enough", "too little history"],
)
def test_no_reservation_is_derived_without_need_or_proof(tier, usual):
    inputs = datastore()
    db = replace(inputs.claims[0], tier=tier, shares=2000, usual=usual)

    advice = advise(replace(inputs, claims=(db, *inputs.claims[1:])))

    assert advice.kind is RecommendationKind.SHARES


def in_force(inputs):
    return tuple(
        Grant(claim=c.claim, reservation=0.0, limit=None, shares=c.stated_shares)
        for c in inputs.claims
    )


def test_a_limit_is_recommended_only_once_shares_are_in_force_and_did_not_help():
    inputs = datastore()
    batch = replace(inputs.claims[2], usual=steady(200.0, span_days=20.0))
    inputs = replace(inputs, claims=(*inputs.claims[:2], batch))

    inputs = replace(inputs, past=week())

    without, enforced = advise(inputs), advise(replace(inputs, in_force=in_force(inputs)))

    assert without.kind is RecommendationKind.SHARES
    assert enforced.kind is RecommendationKind.LIMIT
    # 1.15 · 200 · (1 + 1/20) = 241.5, to three digits.
    limits = [row.limit for row in enforced.allocations]
    assert limits == [None, None, pytest.approx(242, abs=1)]
    assert enforced.summary.startswith("Limit batch to 24")
    # Of 1,000 the others get 758 or so instead of 300: latency falls by 1 - 300/758.
    assert "the others' p95 latency would fall by 60." in enforced.justification


def limited_case(past):
    inputs = datastore()
    batch = replace(inputs.claims[2], usual=steady(200.0, span_days=20.0))
    inputs = replace(inputs, claims=(*inputs.claims[:2], batch), past=past)
    return replace(inputs, in_force=in_force(inputs))


def test_a_recommended_limit_carries_what_the_week_would_have_been():
    found = advise(limited_case(week())).counterfactual

    assert (found.congested_windows, found.windows) == (60, 227)
    throttled = {one.workload: one.past.throttled_min_after for one in found.claims}
    assert throttled == {"db": 0.0, "app": 0.0, "batch": 60.0}
    assert [one.workload for one in found.of(Change.LOSES)] == ["batch"]
    # 20 ms at 200 IOPS become 20 · 200/505 ms at (1000 - 242) · 2/3
    (db, *_) = found.claims
    assert db.latency.p95_before_ms == pytest.approx(20.0)
    assert db.latency.p95_after_ms == pytest.approx(20 * 300 / 758, rel=0.01)


@pytest.mark.parametrize(
    ("past", "words"),
    [
        (week(busy_minutes=120), "would be throttled 1.18% of the 7.0 days"),
        (week(calm_hours=3), "4.0 h of the past week are stored; 24 h are needed"),
        (NO_PAST, "no history was looked at; 24 h are needed"),
    ],
    ids=["throttled too long", "short past", "no past"],
)
def test_a_limit_that_the_week_does_not_bear_out_is_told_among_what_was_tried(past, words):
    advice = advise(limited_case(past))

    assert advice.outcome is AdviceOutcome.NO_CHANGE
    (tried,) = advice.alternatives
    assert tried.name == "limit batch"
    assert words in tried.reason
    assert tried.reason in advice.summary


def test_a_limit_in_force_that_nobody_stated_is_kept():
    inputs = limited_case(week())
    held = tuple(
        replace(grant, limit=242.0) if grant.claim == 3 else grant for grant in inputs.in_force
    )

    advice = advise(replace(inputs, in_force=held))

    assert advice.outcome is AdviceOutcome.NO_CHANGE
    assert "in force" in advice.summary


def test_a_prediction_has_an_interval_once_enough_earlier_ones_were_measured():
    outcomes = tuple(Outcome(predicted=100.0, measured=100.0 + off) for off in (5, -10, 2, 8))

    few = advise(replace(datastore(), past=Past(outcomes=outcomes[:3]))).allocations[0]
    enough = advise(replace(datastore(), past=Past(outcomes=outcomes))).allocations[0]

    assert (few.interval, few.interval_gap) == (
        None,
        "3 earlier predictions came to be measured, 4 are needed",
    )
    # The fourth smallest of four errors is 10 %: 571 ± 57.
    assert enough.interval.low == pytest.approx(4000 / 7 * 0.9)
    assert enough.interval.high == pytest.approx(4000 / 7 * 1.1)


@pytest.mark.parametrize(
    "batch",
    [
        {"usual": None},
        {"usual": steady(200.0, span_days=0.1)},
        {"usual": steady(200.0, span_days=20.0), "reservation": 50.0},
    ],
    ids=["usual rate unknown", "history so short that the limit would not bind", "reserved"],
)
def test_no_limit_is_recommended_without_its_justification(batch):
    inputs = datastore()
    inputs = replace(inputs, claims=(*inputs.claims[:2], replace(inputs.claims[2], **batch)))
    force = tuple(
        replace(grant, reservation=claim.reservation)
        for grant, claim in zip(in_force(inputs), inputs.claims, strict=True)
    )

    advice = advise(replace(inputs, in_force=force))

    assert advice.outcome is AdviceOutcome.NO_CHANGE
    assert "in force" in advice.summary


def test_promises_beyond_what_may_be_reserved_are_refused_by_name():
    inputs = uplink()
    greedy = replace(inputs.claims[1], reservation=40 * MBIT)

    advice = advise(replace(inputs, claims=(inputs.claims[0], greedy, inputs.claims[2])))

    assert [row.reservation / MBIT for row in advice.allocations] == [75.0, 0.0, 0.0]
    assert advice.alternatives[-1].reason == (
        "web-2 asks for 40.0 Mbit/s; 0 bit/s of 75.0 Mbit/s that may be reserved is free"
    )


@pytest.mark.parametrize(
    ("inputs", "missing"),
    [
        (uplink(claims=()), [("claims", 0, 1)]),
        (uplink(capacity=None), [("stated capacity", 0, 1)]),
        (
            uplink(claims=(claim(1, "web-1", 1.0, samples=4), claim(2, "web-2", 1.0))),
            [("congested samples of web-1", 4, 30)],
        ),
        (
            uplink(claims=(claim(1, "web-1", 1.0, samples=0),)),
            [("congested samples of web-1", 0, 30)],
        ),
        (uplink(claims=(claim(1, "web-1", 0.0),)), [("active workloads", 0, 1)]),
    ],
    ids=["no claims", "no capacity", "few samples", "no samples", "nobody active"],
)
def test_too_little_data_is_said_with_what_is_missing(inputs, missing):
    advice = advise(inputs)

    assert advice.outcome is AdviceOutcome.INSUFFICIENT_DATA
    assert [(one.what, one.have, one.need) for one in advice.missing] == missing


def test_an_inactive_workload_needs_no_samples_and_leaves_its_part_to_the_others():
    inputs = uplink()
    idle = replace(inputs.claims[2], congested=None, active=False)

    advice = advise(replace(inputs, claims=(*inputs.claims[:2], idle)))

    # 75 + 19/2, 19/2 and nothing; yet all three are entitled to their part.
    assert [row.predicted_after / MBIT for row in advice.allocations] == pytest.approx(
        [84.5, 9.5, 0.0]
    )
    assert advice.allocations[2].entitlement / MBIT == pytest.approx(19 / 3)


def test_a_workload_that_wants_no_more_is_predicted_its_high_percentile():
    inputs = uplink()
    modest = replace(inputs.claims[2], workload="modest", congested=steady(4 * MBIT))

    advice = advise(replace(inputs, claims=(*inputs.claims[:2], modest)))

    assert advice.allocations[2].demand == 4 * MBIT
    assert advice.allocations[2].predicted_after == 4 * MBIT


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"episode": None}, "was not congested"),
        ({"episode": episode({}, {})}, "too small for what is asked of it"),
    ],
)
def test_no_change_is_said_with_its_reason(fields, words):
    advice = advise(uplink(**fields))

    assert advice.outcome is AdviceOutcome.NO_CHANGE
    assert words in advice.summary


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
        "do nothing": "web-1 stays at 31.3 Mbit/s",
        "shares only": "web-1 would get 31.3 Mbit/s",
        # 94 for two rivals, of which 2 · 19/3 remain under the limits.
        "limit web-2, web-3": "would leave 81.3 Mbit/s unused whenever the victims are idle",
    }


def test_confidence_is_that_of_its_weakest_part():
    confidence = advise(uplink()).confidence

    # 60 samples of 2 · 30; |31.33 - 31.2| · 3 / (2 · 94) is missed; the rates are steady.
    assert {part.name: part.value for part in confidence.parts} == {
        "samples": 1.0,
        "fit": pytest.approx(1 - 3 * (94 / 3 - 31.2) / (2 * 94)),
        "steadiness": 1.0,
    }
    assert confidence.value == min(part.value for part in confidence.parts)


rates = st.floats(0.0, 1e6)


@st.composite
def pasts(draw, count):
    length = draw(st.integers(0, 4))
    known = draw(st.booleans())
    row = st.tuples(*[st.none() | st.floats(0, 1e18)] * count)
    return Past(
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
        latency_ms=draw(st.tuples(*[st.none() | st.floats(0, 1e18)] * length)) if known else (),
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


@st.composite
def advice_inputs(draw):
    count = draw(st.integers(1, 5))
    claims = tuple(
        AdviceClaim(
            claim=index,
            workload=f"w{index}",
            host="h1",
            tier=draw(st.sampled_from(Tier)),
            reservation=draw(st.just(0.0) | rates),
            limit=draw(st.none() | st.floats(1.0, 1e6)),
            congested=steady(draw(rates), samples=draw(st.sampled_from([0, 29, 30, 90]))),
            usual=steady(draw(rates), samples=draw(st.sampled_from([0, 30]))),
            active=draw(st.booleans()),
            backlogged=draw(st.sampled_from([None, True, False])),
            throttled=draw(st.booleans()),
        )
        for index in range(count)
    )
    names = draw(st.lists(st.sampled_from([c.workload for c in claims]), unique=True))
    cut = draw(st.integers(0, len(names)))
    inputs = AdviceInputs(
        resource="r",
        kind=draw(st.sampled_from(ResourceKind)),
        unit=draw(st.sampled_from(Unit)),
        mode=draw(st.sampled_from(ReservationMode)),
        capacity=draw(st.none() | st.floats(1.0, 1e6)),
        reservable=draw(st.none() | rates),
        began_at=BEGAN,
        ended_at=ENDED,
        claims=claims,
        episode=episode(
            dict.fromkeys(names[:cut], (1.0, 2.0)), dict.fromkeys(names[cut:], (2.0, 1.0))
        ),
        past=draw(pasts(count)),
    )
    return replace(inputs, in_force=in_force(inputs)) if draw(st.booleans()) else inputs


@given(advice_inputs())
def test_recomputing_from_the_stored_text_gives_the_same_bytes(inputs):
    stored = dumps(inputs)

    first = answer(AdviceKind.POLICY, stored)

    assert answer(AdviceKind.POLICY, stored).encode() == first.encode()
    assert dumps(advise(inputs)) == first


@given(advice_inputs())
def test_a_recommended_policy_keeps_every_rule(inputs):
    advice = advise(inputs)

    if advice.outcome is AdviceOutcome.RECOMMENDATION:
        rows, evidence = advice.allocations, advice.evidence
        reservable = evidence.capacity if inputs.reservable is None else inputs.reservable
        assert sum(row.reservation for row in rows) <= reservable * (1 + 1e-6)
        assert sum(row.predicted_after for row in rows) <= evidence.capacity * (1 + 1e-6)
        for row, own in zip(rows, inputs.claims, strict=True):
            assert row.shares == own.stated_shares
            if row.limit != own.limit:
                assert advice.kind is RecommendationKind.LIMIT
                assert row.workload in {a.workload for a in inputs.episode.aggressors}
                assert row.reservation == 0
            if row.limit is not None:
                assert row.reservation <= row.limit
                assert row.predicted_after <= row.limit * (1 + 1e-6)
        assert 0 <= advice.confidence.value <= 1


@given(advice_inputs(), st.floats(0.1, 10))
def test_shares_never_follow_from_use(inputs, factor):
    def busier(summary):
        return (
            None
            if summary is None
            else steady(summary.mean * factor, samples=summary.sample_count)
        )

    changed = replace(
        inputs,
        claims=tuple(replace(c, congested=busier(c.congested)) for c in inputs.claims),
    )

    both = [advise(inputs), advise(changed)]

    if all(advice.outcome is AdviceOutcome.RECOMMENDATION for advice in both):
        one, other = ([row.shares for row in advice.allocations] for advice in both)
        assert one == other


def test_a_damaged_input_text_is_refused_with_its_path():
    text = dumps(uplink()).replace('"mode":"additive"', '"mode":"both"')

    with pytest.raises(CanonicalError, match=r"^\$\.mode: 'both'"):
        answer(AdviceKind.POLICY, text)


def test_two_claims_of_the_same_number_are_refused():
    with pytest.raises(ValueError, match="same number"):
        uplink(claims=(claim(1, "a", 1.0), claim(1, "b", 1.0)))
