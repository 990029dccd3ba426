"""Which class of volumes holds a workload to a limit.

What a parameter of a class means is its driver's own: `iops: "4000"` beside `throughput: "250"` in
MiB/s. People state it once for each cluster, as `iops=IOPS throughput=MiB/s`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_UNITS: Mapping[str, tuple[str, float]] = {
    "IOPS": ("iops", 1.0),
    "B/s": ("bytes_per_s", 1.0),
    "kB/s": ("bytes_per_s", 1e3),
    "KiB/s": ("bytes_per_s", 2.0**10),
    "MB/s": ("bytes_per_s", 1e6),
    "MiB/s": ("bytes_per_s", 2.0**20),
    "GB/s": ("bytes_per_s", 1e9),
    "GiB/s": ("bytes_per_s", 2.0**30),
}
"""What a number counts: the unit of resources, and how many of it."""
_SUFFIXES: Mapping[str, float] = {
    "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40,
}  # fmt: skip
"""Of quantities of Kubernetes."""
_PARAMETER = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_./]{0,62}")
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kMGT]|[KMGT]i)?")
MOST_MEANINGS = 10


class MeaningError(ValueError):
    """A text that does not say what parameters mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What the number of a parameter counts, in the unit of resources."""

    parameter: str
    unit: str
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Class:
    """A class with its parameters."""

    name: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The class that is chosen and the rate that it lets pass, or why none is."""

    name: str = ""
    rate: float | None = None
    why_not: str = ""


def read_meanings(text: str) -> tuple[Meaning, ...]:
    """What parameters mean; MeaningError says what is wrong with the text."""
    words = text.split()
    if len(words) > MOST_MEANINGS:
        raise MeaningError(f"it says of at most {MOST_MEANINGS} parameters what they mean")
    found = {}
    for word in words:
        parameter, equals, unit = word.partition("=")
        if not equals or unit not in _UNITS or not _PARAMETER.fullmatch(parameter):
            raise MeaningError(
                f'"{word[:60]}" does not say what a parameter means; write it like iops=IOPS or '
                f"throughput=MiB/s, with one of {', '.join(_UNITS)}"
            )
        if parameter in found:
            raise MeaningError(f"it says twice what {parameter} means")
        of, factor = _UNITS[unit]
        found[parameter] = Meaning(parameter=parameter, unit=of, factor=factor)
    return tuple(found.values())


def rate_of(one: Class, meanings: Sequence[Meaning], unit: str) -> float | None:
    """What a class lets pass in this unit; None if it does not say, or says nothing readable.

    Where several parameters say so, the smallest holds.
    """
    rates = [
        number * meaning.factor
        for meaning in meanings
        if meaning.unit == unit
        and (number := _number(one.parameters.get(meaning.parameter, ""))) is not None
    ]
    return min(rates, default=None)


def choose_class(
    classes: Sequence[Class],
    meanings: Sequence[Meaning],
    *,
    unit: str,
    limit: float,
    reservation: float,
) -> Choice:
    """The class that comes nearest to a limit from below, and leaves room for the reservation."""
    known = [(rate, one.name) for one in classes if (rate := rate_of(one, meanings, unit))]
    if not known:
        return Choice(why_not=f"no class says in its parameters how much of {unit} it lets pass")
    fitting = [(rate, name) for rate, name in known if reservation <= rate <= limit]
    if not fitting:
        return Choice(why_not="no class lets pass what it is promised and no more than its limit")
    rate, name = min(fitting, key=lambda one: (-one[0], one[1]))
    return Choice(name=name, rate=rate)


def _number(text: str) -> float | None:
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        return None
    number = float(found[1]) * _SUFFIXES[found[2] or ""]
    return number if math.isfinite(number) else None
