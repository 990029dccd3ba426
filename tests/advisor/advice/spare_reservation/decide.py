"""How much of a resource may still be reserved."""

from dataclasses import dataclass

from advisor.core.explanation.answer import Alternative, NoChange
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.effect import Effect
from advisor.core.explanation.explained import PredictedAnswer
from advisor.core.quantity import format_rate

WORTH_RATIO = 0.25
MODEL_VERSION = "spare-reservation-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpareInputs:
    """What may be reserved, and what is, in the resource's unit."""

    resource: str
    unit: str
    reservable: float
    reserved: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpareAdvice(PredictedAnswer):
    """Reserve up to `spare` more."""

    spare: float


def advise_spare(inputs: SpareInputs) -> SpareAdvice | NoChange:
    """Worth a word if a quarter of what may be reserved is free."""
    spare = inputs.reservable - inputs.reserved
    if spare < WORTH_RATIO * inputs.reservable:
        return NoChange(
            summary=f"{inputs.resource} has little left to reserve", model_version=MODEL_VERSION
        )
    return SpareAdvice(
        summary=f"Reserve up to {format_rate(spare, inputs.unit)} more on {inputs.resource}",
        spare=spare,
        formula="spare = what may be reserved - what is reserved",
        effects=(
            Effect(
                quantity="reserved of what may be",
                unit="ratio",
                before=inputs.reserved / inputs.reservable,
                after=1.0,
                how="reserved / reservable",
            ),
        ),
        alternatives=(Alternative(name="do nothing", reason="it stays free for all"),),
        confidence=weakest(ground("facts", 1.0, "all are stated")),
        reversibility="Reversible: a reservation can be lowered again.",
        model_version=MODEL_VERSION,
    )
