"""Numbers of JSON, whose type anybody may have written."""

from math import isfinite


def finite(value: object) -> float | None:
    """A finite number as a float; None for anything else, also for true and false."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None
