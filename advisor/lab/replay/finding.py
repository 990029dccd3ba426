"""One number of an experiment beside ours: what was printed, what we get, and the verdict."""

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import assert_never


class Verdict(StrEnum):
    """What can be said about what a study says."""

    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_MODELLED = "not modelled"


class Relation(StrEnum):
    """How a number is meant."""

    ABOUT = "about"
    AT_LEAST = "at least"
    AT_MOST = "at most"


class Kind(StrEnum):
    """What a study gives us to compare with."""

    TWO_SIDED = "two-sided number"
    ONE_SIDED = "one-sided number"
    NO_NUMBER = "no printed number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`study_value` is what was printed, `value` what we get, both in `unit`.

    Where the study prints no number, `study_value` stands for its words: 0 for a change that has a
    direction only, 1 for "the same". Findings with one `number` check one statement of the study.
    `why` says where the value comes from, or why it differs or cannot be had.
    """

    quantity: str
    unit: str
    number: str
    kind: Kind
    study_value: float | None
    value: float | None
    tolerance: float | None
    relation: Relation
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far a model may be from a number: a part of it or an amount, whichever is more."""

    applies_to: str
    part: float = 0.0
    amount: float = 0.0
    unit: str = ""

    def of(self, study_value: float) -> float:
        """The distance allowed, in the unit of the number."""
        return max(self.part * abs(study_value), self.amount)


TOLERANCES = {
    "limit": Tolerance(
        applies_to="a limit, a reservation, or a count that the load fixes", part=0.01
    ),
    "policy": Tolerance(applies_to="a ratio that a policy sets", part=0.05),
    "measured": Tolerance(
        applies_to="throughput, latency, depth or time of a system known from one run", part=0.10
    ),
    "load points": Tolerance(
        applies_to='a part of the I/O, printed with "about"', amount=2.0, unit="points"
    ),
    "tenth": Tolerance(
        applies_to="printed with one decimal, some of them cut", amount=0.1, unit="of the unit"
    ),
    "exact": Tolerance(
        applies_to="follows from the configuration, or is printed as at least, at most, up or down"
    ),
}
"""By the names that the studies' files use; `change` and `change from 100` are beside them."""


def allowed(tolerance: str, study_value: float) -> float:
    """How far ours may be from this number, by the name of its tolerance."""
    match tolerance:
        case "change":
            return _of_change(study_value)
        case "change from 100":
            return _of_change(study_value - 100.0)
        case _:
            return TOLERANCES[tolerance].of(study_value)


def _of_change(printed_pct: float) -> float:
    """A change in percent: a quarter of it, from two to five points."""
    return min(5.0, max(2.0, abs(printed_pct) / 4))


def verdict_on(
    value: float, study_value: float, *, tolerance: float, relation: Relation
) -> Verdict:
    """Whether ours is within the tolerance, on the side that the relation leaves open."""
    if not isfinite(value):
        raise ValueError(f"value is {value!r}; it must be a finite number")
    match relation:
        case Relation.ABOUT:
            holds = abs(value - study_value) <= tolerance
        case Relation.AT_LEAST:
            holds = value >= study_value - tolerance
        case Relation.AT_MOST:
            holds = value <= study_value + tolerance
        case _:
            assert_never(relation)
    return Verdict.HOLDS if holds else Verdict.DIFFERS
