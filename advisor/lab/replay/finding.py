"""One number of an experiment beside ours: what was printed, what we get, and the verdict."""

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import assert_never


class Verdict(StrEnum):
    """What can be said about a printed number."""

    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_MODELLED = "not modelled"


class Relation(StrEnum):
    """How a printed number is meant."""

    ABOUT = "about"
    AT_LEAST = "at least"
    AT_MOST = "at most"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`seed_value` is what was printed, `value` what we get, both in `unit`.

    The number holds if the value is within `tolerance` of it, on the side that `relation` leaves
    open. `why` says where the value comes from, or why it differs or cannot be had.
    """

    quantity: str
    unit: str
    seed_value: float | None
    value: float | None
    tolerance: float | None
    relation: Relation
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far a model may be from a printed number; it belongs to the kind of number."""

    part: float = 0.0
    amount: float = 0.0

    def of(self, seed_value: float) -> float:
        """The distance allowed, in the unit of the number."""
        return max(self.part * abs(seed_value), self.amount)


NONE = Tolerance()
"""Follows from the configuration alone; or printed as at least, at most, up or down only."""
LIMIT = Tolerance(part=0.01)
"""A limit holds to 1 % (seed 001)."""
POLICY = Tolerance(part=0.05)
"""A ratio that a policy sets, measured over a finite time."""
MEASURED = Tolerance(part=0.10)
"""Throughput, latency, depth or time of a system of which only one run is known."""
LOAD_POINTS = Tolerance(amount=2.0)
"""A part in percent of the I/O, printed with "about": two points."""
TENTH = Tolerance(amount=0.1)
"""Printed with one decimal, some of them cut and not rounded."""


def of_change(printed_pct: float) -> Tolerance:
    """A change in percent: a quarter of it, from two to five points."""
    return Tolerance(amount=min(5.0, max(2.0, abs(printed_pct) / 4)))


def compare(
    quantity: str,
    unit: str,
    *,
    seed_value: float,
    value: float,
    tolerance: Tolerance,
    why: str,
    relation: Relation = Relation.ABOUT,
    differs: str = "",
) -> Finding:
    """Hold our value against a printed number; `differs` is added to the why where it fails."""
    if not isfinite(value):
        raise ValueError(f"{quantity}: value is {value!r}; it must be a finite number")
    allowed = tolerance.of(seed_value)
    holds = _is_within(seed_value, value, allowed, relation)
    reason = why if holds or not differs else f"{why}; {differs}"
    return Finding(
        quantity=quantity,
        unit=unit,
        seed_value=seed_value,
        value=value,
        tolerance=allowed,
        relation=relation,
        verdict=Verdict.HOLDS if holds else Verdict.DIFFERS,
        why=reason,
    )


def not_modelled(
    quantity: str,
    unit: str,
    *,
    seed_value: float | None,
    why: str,
    value: float | None = None,
    relation: Relation = Relation.ABOUT,
) -> Finding:
    """A number that no model of ours predicts, or that went into the model."""
    return Finding(
        quantity=quantity,
        unit=unit,
        seed_value=seed_value,
        value=value,
        tolerance=None,
        relation=relation,
        verdict=Verdict.NOT_MODELLED,
        why=why,
    )


WENT_IN = "it went into the model, so that agreeing with it would prove nothing"


def calibrated(
    quantity: str,
    unit: str,
    *,
    seed_value: float,
    value: float | None = None,
    relation: Relation = Relation.ABOUT,
    why: str = WENT_IN,
) -> Finding:
    """A printed number that the model or the product was set by: agreeing says nothing."""
    return not_modelled(
        quantity,
        unit,
        seed_value=seed_value,
        value=value,
        relation=relation,
        why=f"calibrated: {why}",
    )


def _is_within(seed_value: float, value: float, allowed: float, relation: Relation) -> bool:
    match relation:
        case Relation.ABOUT:
            return abs(value - seed_value) <= allowed
        case Relation.AT_LEAST:
            return value >= seed_value - allowed
        case Relation.AT_MOST:
            return value <= seed_value + allowed
        case _:
            assert_never(relation)
