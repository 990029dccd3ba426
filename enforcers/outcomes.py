"""What became of each control of an allocation, and of the allocation as a whole."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum


class ControlKind(StrEnum):
    """The three controls of an allocation."""

    RESERVATION = "reservation"
    LIMIT = "limit"
    SHARES = "shares"


ALL_CONTROLS = frozenset(ControlKind)


class Outcome(StrEnum):
    """The result of one pass of the agent, the gravest last.

    `replaced`: the thing itself is a new one, like a container that started again. `drifted`:
    somebody else changed it, and it was put right. `guessed_model`: the kernel works with a
    model of the device that nobody measured. `ineffective`: the kernel has the feature, and it
    is without effect here.
    """

    UNCHANGED = "unchanged"
    APPLIED = "applied"
    REPLACED = "replaced"
    DRIFTED = "drifted"
    GUESSED_MODEL = "guessed_model"
    INEFFECTIVE = "ineffective"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"


GRAVITY = {outcome: place for place, outcome in enumerate(Outcome)}
FALLS_SHORT = frozenset(
    {Outcome.GUESSED_MODEL, Outcome.INEFFECTIVE, Outcome.UNSUPPORTED, Outcome.FAILED}
)
"""With these the kernel does not do what the policy asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlOutcome:
    """An outcome, with a reason that a person can act on."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlOutcomes:
    """The outcome of each control of one allocation.

    What the policy does not ask for (a reservation of 0, no limit, shares equal to all others
    on the device) cannot be missing: it is `unchanged`.
    """

    reservation: ControlOutcome
    limit: ControlOutcome
    shares: ControlOutcome

    @classmethod
    def of(cls, outcomes: Mapping[ControlKind, ControlOutcome]) -> "ControlOutcomes":
        """Requires an outcome for each control."""
        return cls(**{kind.value: outcomes[kind] for kind in ControlKind})

    @classmethod
    def all_as(cls, outcome: ControlOutcome) -> "ControlOutcomes":
        """The same for all three."""
        return cls(reservation=outcome, limit=outcome, shares=outcome)

    def by_kind(self) -> dict[ControlKind, ControlOutcome]:
        """The outcomes by control."""
        return {
            ControlKind.RESERVATION: self.reservation,
            ControlKind.LIMIT: self.limit,
            ControlKind.SHARES: self.shares,
        }

    def sum(self) -> ControlOutcome:
        """The gravest outcome, with every reason that makes the allocation fall short."""
        found = sorted(
            self.by_kind().values(), key=lambda item: GRAVITY[item.outcome], reverse=True
        )
        worst = found[0].outcome
        told = FALLS_SHORT if worst in FALLS_SHORT else {worst}
        return ControlOutcome(outcome=worst, reason=_joined(found, told))


def _joined(found: Collection[ControlOutcome], told: Collection[Outcome]) -> str:
    return "; ".join(dict.fromkeys(item.reason for item in found if item.outcome in told))
