"""Prediction intervals learnt from the errors of earlier predictions.

The interval is split-conformal (Vovk et al. 2005): if errors are distributed as before, it covers
the outcome with at least the stated probability, whatever the method of prediction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite

from advisor.core.number_checks import check_amount, check_positive

LEVEL = 0.8
"""Fraction of the outcomes that an interval should cover."""
ENOUGH_OUTCOMES = ceil(LEVEL / (1 - LEVEL) - 1e-9)
"""With fewer no interval reaches that level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A prediction and what was measured afterwards, in one unit."""

    predicted: float
    measured: float

    def __post_init__(self) -> None:
        check_positive("predicted", self.predicted)
        check_amount("measured", self.measured)

    @property
    def error_ratio(self) -> float:
        """The error as a fraction of the prediction; above 0 if more was measured."""
        return (self.measured - self.predicted) / self.predicted


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Where the outcome is expected with the stated probability."""

    low: float
    high: float
    level: float


def interval_around(
    predicted: float, past: Sequence[Outcome], *, level: float = LEVEL
) -> Interval | None:
    """The interval from past errors; None if there are too few for that level."""
    check_positive("predicted", predicted)
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r}; it must be above 0 and below 1")
    errors = sorted(abs(one.error_ratio) for one in past)
    rank = ceil((len(errors) + 1) * level)
    if not errors or rank > len(errors):
        return None
    half = errors[rank - 1] * predicted
    if not isfinite(predicted + half):
        return None
    return Interval(low=max(predicted - half, 0.0), high=predicted + half, level=level)


def interval_or_gap(predicted: float, past: Sequence[Outcome]) -> tuple[Interval | None, str]:
    """The interval around a prediction, or why there is none."""
    if predicted <= 0:
        return None, "nothing is predicted for it"
    found = interval_around(predicted, past)
    if found is not None:
        return found, ""
    if len(past) >= ENOUGH_OUTCOMES:
        return None, "the errors of earlier predictions are too large for an interval"
    have = f"{len(past)} earlier prediction{'' if len(past) == 1 else 's'} were measured"
    return None, f"{have}, {ENOUGH_OUTCOMES} are needed"
