"""How numbers and times read on a page: three significant digits, one unit for a whole column."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from advisor.core.duration import duration_text
from advisor.core.quantity import format_rate, without_dust
from advisor.resource_kinds.registry import traits_of

EN_DASH = "\N{EN DASH}"
"""What stands for a missing value; the reason for its absence always goes with it."""

_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"))
_NAMES = {"bits_per_s": "bit/s", "bytes_per_s": "B/s", "iops": "IOPS"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The unit that a column of numbers is written in: `factor` base units make one of it."""

    factor: float
    label: str

    def text(self, value: float | None) -> str:
        """The number without its unit, which stands in the column head."""
        if value is None:
            return EN_DASH
        return _digits(value / self.factor)

    def with_unit(self, value: float | None) -> str:
        """The number with its unit, for a sentence."""
        return EN_DASH if value is None else f"{self.text(value)}\N{NO-BREAK SPACE}{self.label}"


@lru_cache(maxsize=10_000)
def _digits(value: float) -> str:
    """Of a page's numbers many stand in several places, and the next answer has most of them."""
    return grouped(without_dust(value))


MILLISECONDS = Scale(factor=1.0, label="ms")


def rate_scale(unit: str, largest: float | None) -> Scale:
    """The scale for a column of rates: Mbit/s and MB/s at least, larger if the largest rate is.

    I/O rates stay plain IOPS up to a million, because people compare them digit by digit.
    """
    smallest = 1.0 if unit == "iops" else 1e6
    for factor, prefix in _STEPS:
        # 999.7 Mbit/s would be rounded to 1000 Mbit/s.
        if factor == smallest or (largest is not None and abs(largest) >= factor * 0.9995):
            return Scale(factor=factor, label=f"{prefix}{_NAMES[unit]}")
    return Scale(factor=1.0, label=_NAMES[unit])


def rate_text(value: float | None, unit: str) -> str:
    """One rate with its unit, in the scale that fits it, as the commands write it too."""
    return format_rate(value, unit).replace(" ", "\N{NO-BREAK SPACE}")


def level_scale(kind: str) -> Scale:
    """The scale of what is compared with a threshold, as the kind of the resource writes it."""
    level = traits_of(kind).level
    return Scale(factor=1 / level.per_unit, label=level.unit)


def grouped(digits: str) -> str:
    """A thin space between thousands of a number of five or more digits before the point."""
    whole, point, rest = digits.partition(".")
    sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    if len(whole) > 4 and whole.isdecimal():
        first = len(whole) % 3
        parts = [whole[:first]] if first else []
        parts += [whole[at : at + 3] for at in range(first, len(whole), 3)]
        whole = "\N{NARROW NO-BREAK SPACE}".join(parts)
    return f"{sign}{whole}{point}{rest}"


def relative_text(at: datetime, now: datetime) -> str:
    """When something was or will be, seen from now: `4 s ago`, `in 23 h`."""
    if at > now:
        return f"in {duration_text(at - now)}"
    length = duration_text(now - at)
    return "now" if length == "0 s" else f"{length} ago"


def absolute_text(at: datetime) -> str:
    """The full time in UTC, for hovering and for print."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def csv_safe(text: str) -> str:
    """The text for a spreadsheet, which takes one that begins with these for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
