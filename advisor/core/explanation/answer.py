"""The parts of every answer, and the two answers without a recommendation."""

from dataclasses import dataclass
from enum import StrEnum


class AdviceOutcome(StrEnum):
    """The three kinds of answer."""

    RECOMMENDATION = "recommendation"
    INSUFFICIENT_DATA = "insufficient_data"
    NO_CHANGE = "no_change"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another possible change, and why it is not recommended."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidencePart:
    """One part of the confidence, from 0 to 1, and how it was computed."""

    name: str
    value: float
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """The confidence: the lowest of its parts."""

    value: float
    parts: tuple[ConfidencePart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Data of which there is too little."""

    what: str
    have: int
    need: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InsufficientData:
    """There is too little data for a recommendation."""

    outcome: AdviceOutcome = AdviceOutcome.INSUFFICIENT_DATA
    summary: str
    missing: tuple[Missing, ...]
    model_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoChange:
    """No change would help; `summary` says why, `alternatives` what was considered."""

    outcome: AdviceOutcome = AdviceOutcome.NO_CHANGE
    summary: str
    model_version: str
    alternatives: tuple[Alternative, ...] = ()
