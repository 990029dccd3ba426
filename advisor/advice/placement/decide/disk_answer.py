"""What advice on placement says: moves, or that none is worth it, each with what was rejected."""

from dataclasses import dataclass
from enum import StrEnum

from advisor.advice.placement.decide.device_line import LineSource
from advisor.advice.placement.decide.move_effect import MoveEffect
from advisor.core.explanation.answer import (
    AdviceOutcome,
    InsufficientData,
)
from advisor.core.explanation.explained import PredictedAnswer


class Objection(StrEnum):
    """What speaks against a move."""

    UNMOVABLE = "unmovable"
    COOLDOWN = "cooldown"
    RULE = "rule"
    SAME_DISKS = "same_disks"
    AUTO_TIERED = "auto_tiered"
    UNKNOWN_DEVICE = "unknown_device"
    SPACE = "space"
    WORSE = "worse"
    TARGET_ABOVE_THRESHOLD = "target_above_threshold"
    TOO_LITTLE_GAIN = "too_little_gain"
    COST_ABOVE_BENEFIT = "cost_above_benefit"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyStep:
    """One copy of an exchange: the room it needs at its target, and what there is at that time.

    What needs that room besides is the original: it goes when the copy is whole.
    """

    vdisks: tuple[str, ...]
    source: str
    target: str
    needs_bytes: float
    free_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Virtual disks to move at once, and what that is predicted to do.

    In an exchange `in_return` goes from target to source, and `steps` says in which order.
    """

    vdisks: tuple[str, ...]
    source: str
    target: str
    effect: MoveEffect
    in_return: tuple[str, ...] = ()
    steps: tuple[CopyStep, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedMove:
    """A move that was looked at; `effect` None means that none could be predicted."""

    vdisks: tuple[str, ...]
    source: str
    target: str
    objection: Objection
    reason: str
    effect: MoveEffect | None
    in_return: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionCount:
    """How many moves and exchanges met the same objection."""

    objection: Objection
    moves: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LineUsed:
    """Where the latency of a datastore comes from now; None with the reason why from nowhere."""

    datastore: str
    source: LineSource | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementAdvice(PredictedAnswer):
    """Moves to make, in this order; `rejected` came closest to being among them."""

    moves: tuple[Move, ...]
    rejected: tuple[RejectedMove, ...]
    lines: tuple[LineUsed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoBeneficialMove:
    """Everything stays where it is, for the reason in `summary`."""

    outcome: AdviceOutcome = AdviceOutcome.NO_CHANGE
    summary: str
    rejected: tuple[RejectedMove, ...]
    rejections: tuple[RejectionCount, ...]
    formula: str
    model_version: str
    lines: tuple[LineUsed, ...] = ()


PlacementAnswer = PlacementAdvice | NoBeneficialMove | InsufficientData
