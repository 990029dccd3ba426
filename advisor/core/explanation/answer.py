"""What every answer is made of, and the two ways to recommend nothing."""

from dataclasses import dataclass
from enum import StrEnum


class AdviceOutcome(StrEnum):
    """Which of the three answers it is."""

    RECOMMENDATION = "recommendation"
    INSUFFICIENT_DATA = "insufficient_data"
    NO_CHANGE = "no_change"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """What else could be done, and why it is not recommended."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidencePart:
    """One ground for confidence, from 0 to 1, and how it was computed."""

    name: str
    value: float
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """As sure as its weakest part."""

    value: float
    parts: tuple[ConfidencePart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What there is too little of."""

    what: str
    have: int
    need: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InsufficientData:
    """Nothing can be recommended until more is known."""

    outcome: AdviceOutcome = AdviceOutcome.INSUFFICIENT_DATA
    summary: str
    missing: tuple[Missing, ...]
    model_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoChange:
    """Enough is known, and nothing would help; `summary` says why, `alternatives` what else."""

    outcome: AdviceOutcome = AdviceOutcome.NO_CHANGE
    summary: str
    model_version: str
    alternatives: tuple[Alternative, ...] = ()
