"""Sizes as Kubernetes writes them: a number with a suffix or an exponent, such as `10Gi`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction

MOST_BYTES = 2**63 - 1
_SUFFIXES: Mapping[str, Fraction] = {
    "": Fraction(1), "m": Fraction(1, 1000),
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
}  # fmt: skip
_QUANTITY = re.compile(
    r"([0-9]{1,30}(?:\.[0-9]{1,30})?)(?:[eE]([+-]?[0-9]{1,2})|(m|[kMGTPE]|[KMGTPE]i)?)"
)


def bytes_of(said: object) -> int | None:
    """A size in bytes, rounded up as Kubernetes does; None for what is no size.

    Nor is more than PostgreSQL keeps as a whole number.
    """
    found = _QUANTITY.fullmatch(said) if isinstance(said, str) else None
    if found is None:
        return None
    number, exponent, suffix = found.groups()
    factor = Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix or ""]
    size = math.ceil(Fraction(number) * factor)
    return size if size <= MOST_BYTES else None
