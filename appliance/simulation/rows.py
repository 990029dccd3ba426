"""What was asked of a simulation beside what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.simulation.seed_run import Outcome

MOST_CPU_S = 3.0
SURELY_ALL_KINDS = 30
"""With fewer seeds a kind of fault may happen not to strike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    what: str
    unit: str
    asked: str
    measured: float
    holds: bool


def rows_of(outcomes: Sequence[Outcome]) -> list[Row]:
    """One for violations, one for cost, and one for each kind of fault."""
    faults = sum((one.faults for one in outcomes), Counter[str]())
    violations = sum(one.violation is not None for one in outcomes)
    cpu_s = sum(one.cpu_s for one in outcomes) / len(outcomes)
    events = sum(len(one.events) for one in outcomes)
    asks_for_all = len(outcomes) >= SURELY_ALL_KINDS
    return [
        Row(
            what="seeds that were played", unit="seeds", asked=">= 1", measured=len(outcomes),
            holds=True,
        ),
        Row(
            what="seeds with a violation", unit="seeds", asked="0", measured=violations,
            holds=not violations,
        ),
        Row(
            what="CPU time a seed, database included", unit="s", asked=f"<= {MOST_CPU_S:g}",
            measured=round(cpu_s, 2), holds=cpu_s <= MOST_CPU_S,
        ),
        Row(what="events", unit="events", asked=">= 1", measured=events, holds=events > 0),
        *(
            Row(
                what=f"fault: {kind}", unit="times", asked=">= 1" if asks_for_all else "",
                measured=faults[kind], holds=faults[kind] > 0 or not asks_for_all,
            )
            for kind in sorted({kind for one in outcomes for kind in one.kinds})
        ),
    ]  # fmt: skip
