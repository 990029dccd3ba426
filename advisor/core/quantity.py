"""Rates as text: `94Mbit`, `500 IOPS`, `20MB`."""

from __future__ import annotations

import math
import re

_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_SUFFIXES = {
    "bits_per_s": ("bit", "bits", "bit/s", "bps"),
    "bytes_per_s": ("b", "bytes", "b/s"),
    "iops": ("iops", "io/s", "io"),
}
_SHOWN = {"bits_per_s": "bit/s", "bytes_per_s": "B/s", "iops": "IOPS"}
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:e[0-9]+)?)\s*([a-z/]*)\s*", re.IGNORECASE)
DECIMALS = 3
"""Decimals of a shown number: less than a thousandth of a unit does not matter."""


class QuantityError(ValueError):
    """The text is not a rate in the wanted unit."""


def parse_rate(text: str, unit: str) -> float:
    """The rate in `unit` that a person wrote, for example `94Mbit` in `bits_per_s`.

    A bare number is in the unit itself. Prefixes are decimal (k, M, G, T) in either case.
    Raises QuantityError with an example of what is allowed.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise QuantityError(_complaint(text, unit))
    number, word = float(match[1]), match[2].lower()
    factor = _factor(word, unit)
    if factor is None or not math.isfinite(number * factor):
        raise QuantityError(_complaint(text, unit))
    return number * factor


def _factor(word: str, unit: str) -> float | None:
    if word in _PREFIXES:
        return _PREFIXES[word]
    for suffix in sorted(_SUFFIXES[unit], key=len, reverse=True):
        if word.endswith(suffix) and word[: -len(suffix)] in _PREFIXES:
            return _PREFIXES[word[: -len(suffix)]]
    return None


def _complaint(text: str, unit: str) -> str:
    example = {"bits_per_s": "94Mbit", "bytes_per_s": "20MB", "iops": "500"}[unit]
    return f'"{text}" is not a rate in {_SHOWN[unit]}; write it like {example}'


def format_rate(value: float | None, unit: str) -> str:
    """Three significant digits, SI prefix and unit: `94.0 Mbit/s`; absence is an en dash."""
    if value is None:
        return "\N{EN DASH}"
    magnitude = abs(value)
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        # 999.5 would round to 1000 of the smaller prefix.
        if magnitude >= factor * 0.9995 and not (unit == "iops" and factor == 1e3):
            return f"{significant(value / factor)} {prefix}{_SHOWN[unit]}"
    return f"{without_dust(value)} {_SHOWN[unit]}"


def written_rate(value: float | None, unit: str) -> str:
    """As a person would write it, and `parse_rate` reads the same value: `94Mbit`; empty: none."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    suffix = {"bits_per_s": "bit", "bytes_per_s": "B", "iops": ""}[unit]
    prefixes = ("T", "G", "M", "k", "") if suffix else ("",)
    for prefix in prefixes:
        number = f"{value / _PREFIXES[prefix.lower()]:.12g}"
        text = f"{number}{prefix}{suffix}"
        if float(number) >= 1 and "e" not in number and parse_rate(text, unit) == value:
            return text
    return f"{value:.20f}".rstrip("0").rstrip(".")


def amount_text(value: float | None, unit: str) -> str | None:
    """A number of an effect in its unit: `45 %`, `12.0 ms`, `94.0 Mbit/s`; None stays None."""
    if value is None:
        return None
    if unit == "ratio":
        return f"{value:.0%}".replace("%", " %")
    if unit in ("iops", "bits_per_s", "bytes_per_s"):
        return format_rate(value, unit)
    return f"{significant(value)} {unit}".strip()


def significant(value: float, digits: int = 3) -> str:
    """A number with this many significant digits, never fewer before the point: 6.67, 1234."""
    if value == 0:
        return "0"
    # Rounding first: 0.9996 with three digits is 1.00, not 1.000.
    _, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    decimals = digits - 1 - int(exponent)
    return f"{value:.{max(decimals, 0)}f}"


def without_dust(value: float) -> str:
    """Three significant digits, but no more than three decimals: 0.0436 is 0.044, 4e-10 is 0."""
    text = significant(value)
    if len(text.partition(".")[2]) <= DECIMALS:
        return text
    rounded = f"{value:.{DECIMALS}f}"
    return rounded if float(rounded) else "0"
