"""Rates, sizes and lengths as a policy file has them: short where that loses nothing."""

from __future__ import annotations

import re

from advisor.core.quantity import parse_rate
from advisor.core.resource import Unit

_SUFFIX = {Unit.BITS_PER_S: "bit", Unit.BYTES_PER_S: "B"}
_PREFIXES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)(min|h|d)")
_SECONDS = {"d": 86_400.0, "h": 3600.0, "min": 60.0}


def rate_text(value: float, unit: Unit) -> str | int | float:
    """With a prefix where that says exactly the same, otherwise the number in the unit itself."""
    for prefix, factor in _PREFIXES:
        suffix = _SUFFIX.get(unit)
        text = f"{value / factor:.6g}{prefix}{suffix}"
        if suffix and value >= factor and _means(text, value, unit):
            return text
    return number(value)


def _means(text: str, value: float, unit: Unit) -> bool:
    return "e" not in text and parse_rate(text, unit) == value


def size_text(value: float) -> str | int | float:
    """Bytes, such as 4TB."""
    return rate_text(value, Unit.BYTES_PER_S)


def length_text(seconds: float) -> str | int | float:
    """Whole days, hours or minutes, otherwise seconds."""
    for word, factor in _SECONDS.items():
        if seconds >= factor and seconds % factor == 0:
            return f"{int(seconds / factor)}{word}"
    return number(seconds)


def parse_length(text: str) -> float | None:
    """Seconds of a length such as 90min; None if it is none."""
    match = _LENGTH.fullmatch(text)
    return None if match is None else float(match[1]) * _SECONDS[match[2]]


def number(value: float) -> int | float:
    """A whole number without a point."""
    return int(value) if float(value).is_integer() and abs(value) < 1e15 else value
