"""How much of a disk's capacity comes through once hosts enforce a policy on it.

Advice and what-if predict by the same parts. Both count I/Os of all sizes alike, as hosts do, who
are told the capacity alone.
"""

from advisor.core.resource import Unit

DELIVERED_BY_IOCOST = (0.91, 1.0)
"""Of what a disk gave while congested, this part is let through once iocost holds it to that.

So it was in 12 runs of `make lab`, which prints it; less where a disk does more I/Os at once."""


def delivered_parts(unit: Unit, *, is_enforced: bool) -> tuple[float, float]:
    """The least and the most part of the capacity that the mechanism lets through.

    Under a policy in force the capacity is what was let through already.
    """
    return DELIVERED_BY_IOCOST if unit is Unit.IOPS and not is_enforced else (1.0, 1.0)


def let_through_text(parts: tuple[float, float]) -> str:
    """What a formula says of it; nothing where all of it comes through."""
    least, most = parts
    if least == most:
        return ""
    return f"; of the capacity hosts let {100 * least:.0f} % to {100 * most:.0f} % through"
