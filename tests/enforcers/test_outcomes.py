"""The sum of the controls' outcomes: the gravest, and why."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.contract import ControlKind, ControlOutcome, ControlOutcomes, Outcome
from enforcers.outcomes import FALLS_SHORT, GRAVITY

triples = st.lists(st.sampled_from(Outcome), min_size=3, max_size=3)


def told(outcomes: Sequence[Outcome]) -> ControlOutcomes:
    """Reservation, limit, shares, each with a reason of its own."""
    return ControlOutcomes.of(
        {
            kind: ControlOutcome(outcome=outcome, reason=f"{kind} is {outcome}")
            for kind, outcome in zip(ControlKind, outcomes, strict=True)
        }
    )


@given(triples)
def test_sum_is_as_grave_as_the_gravest_control(outcomes: list[Outcome]) -> None:
    total = told(outcomes).sum()

    assert total.outcome in outcomes
    assert all(GRAVITY[total.outcome] >= GRAVITY[outcome] for outcome in outcomes)


@given(triples)
def test_sum_names_every_control_that_falls_short(outcomes: list[Outcome]) -> None:
    found = told(outcomes)

    for item in found.by_kind().values():
        if item.outcome in FALLS_SHORT:
            assert item.reason in found.sum().reason


@pytest.mark.parametrize(
    ("outcomes", "total", "reason"),
    [
        (["unchanged", "applied", "unchanged"], "applied", "limit is applied"),
        (["unchanged", "replaced", "drifted"], "drifted", "shares is drifted"),
        (
            ["unsupported", "applied", "ineffective"],
            "unsupported",
            "reservation is unsupported; shares is ineffective",
        ),
        (["unchanged", "unchanged", "guessed_model"], "guessed_model", "shares is guessed_model"),
    ],
)
def test_sum_gives_the_reasons_of_what_counts(
    outcomes: list[str], total: str, reason: str
) -> None:
    found = told([Outcome(item) for item in outcomes]).sum()

    assert (found.outcome, found.reason) == (total, reason)


def test_reason_that_all_controls_share_is_told_once() -> None:
    same = ControlOutcome(outcome=Outcome.FAILED, reason="tc refused")

    assert ControlOutcomes.all_as(same).sum() == same
