"""Round every number of an answer, so that it is the same on every machine."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

Answer = TypeVar("Answer")
DIGITS = 9
"""Significant digits of an answer; the last bits of a sum cannot change them."""


def rounded(value: float) -> float:
    """The number with the digits of an answer."""
    return float(f"{value:.{DIGITS - 1}e}")


def round_all(answer: Answer) -> Answer:
    """The same frozen dataclass with all its numbers rounded, at every depth."""
    return cast("Answer", _round(answer))


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, tuple):
        return tuple(_round(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        # Only fields of __init__: the class may fix others.
        return replace(
            value,
            **{one.name: _round(getattr(value, one.name)) for one in fields(value) if one.init},
        )
    return value
