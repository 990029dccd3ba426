"""Whether a limit holds: what is measured below it is not above it. Pure."""

from dataclasses import dataclass

# The first second of a policy lets more through, and each half second is a little off.
_LOOK_S = 2.0
_TOLERANCE_RATIO = 0.1
_LOOKS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitGrip:
    """What was done in the present look, and how many looks in succession were above the limit.

    `measured` is the rate of the last whole look.
    """

    done: float = 0.0
    elapsed_s: float = 0.0
    looks_above: int = 0
    measured: float = 0.0

    @property
    def exceeded_by(self) -> float | None:
        """The rate that was measured instead of the limit; None while it holds."""
        return self.measured if self.looks_above >= _LOOKS else None


def next_limit_grip(grip: LimitGrip, *, limit: float, rate: float, elapsed_s: float) -> LimitGrip:
    """After a period with so many per second, as the limit counts."""
    done, looked_s = grip.done + rate * elapsed_s, grip.elapsed_s + elapsed_s
    if looked_s < _LOOK_S:
        return LimitGrip(
            done=done, elapsed_s=looked_s, looks_above=grip.looks_above, measured=grip.measured
        )
    measured = done / looked_s
    is_above = measured > limit * (1 + _TOLERANCE_RATIO)
    return LimitGrip(looks_above=grip.looks_above + 1 if is_above else 0, measured=measured)
