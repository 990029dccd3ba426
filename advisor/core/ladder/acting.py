"""Whether Sluice may approve by itself: what speaks against it beside the rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from advisor.core.enumeration import listed
from advisor.core.forecast.calibration import ENOUGH_RATES, Coverage
from advisor.core.ladder.rule import Level
from advisor.core.ladder.verdict import Verdict

SHORTFALL = 0.05
"""Of the rates that were told as sure, so much less than was meant may lie within their ranges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What is known of a piece of advice and of its resource.

    `in_hand` says what a person did with it, empty if nobody did anything. `coverage` is that of
    earlier predictions on the resource, None where none was measured. `suspected` are the
    workloads of which it promises nothing, `without_agent` the hosts that would enforce nothing.
    `taken_back` says which version was rolled back lately, empty for none.
    """

    in_hand: str
    coverage: Coverage | None
    suspected: tuple[str, ...]
    without_agent: tuple[str, ...]
    comes_in_stages: bool
    is_stopped: bool
    is_under_way: bool
    taken_back: str


def why_not_act(found: Verdict, grounds: Grounds) -> tuple[str, ...]:
    """Everything that speaks against acting; empty where Sluice may."""
    return tuple(_reasons(found, grounds))


def _reasons(found: Verdict, grounds: Grounds) -> Iterator[str]:
    yield from _by_rules(found)
    if grounds.is_stopped:
        yield "rollouts are stopped"
    if grounds.in_hand:
        yield grounds.in_hand
    yield from _unproven(grounds.coverage)
    if grounds.suspected:
        yield f"what becomes of {listed(grounds.suspected)} is only suspected"
    if grounds.without_agent:
        yield f"no agent would enforce it on {listed(grounds.without_agent)}"
    if not grounds.comes_in_stages:
        yield "its policies reach all hosts at once, and no guard would take one back"
    if grounds.is_under_way:
        yield "a version of its policy is still on its way to hosts, or guarded"
    if grounds.taken_back:
        yield grounds.taken_back


def _by_rules(found: Verdict) -> Iterator[str]:
    if found.level is not Level.ACT:
        by = f'rule "{found.level_from}"' if found.level_from else "no rule lets it act"
        yield f"{by}: the level is {found.level}"
    for hold in found.holds:
        yield f'rule "{hold.rule}": {hold.why}'
    for rule in found.two_people:
        yield f'rule "{rule}" asks for two people'


def _unproven(coverage: Coverage | None) -> Iterator[str]:
    if coverage is None or not coverage.is_proven:
        count = 0 if coverage is None else coverage.count
        yield f"unproven: {count} rates on the resource are measured, {ENOUGH_RATES} are needed"
    elif coverage.inside_ratio < coverage.level - SHORTFALL:
        yield (
            f"{coverage.inside_ratio:.0%} of {coverage.count} measured rates lay within the range "
            f"told, {coverage.level:.0%} meant"
        )
