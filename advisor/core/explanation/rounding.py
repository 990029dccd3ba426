"""Cut the last digits of every number of an answer, so that they cannot differ by machine."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

Answer = TypeVar("Answer")
DIGITS = 9
"""Answers keep so many significant digits, so that the last bits of a sum cannot change them."""


def rounded(value: float) -> float:
    """The number with the digits that an answer keeps."""
    return float(f"{value:.{DIGITS - 1}e}")


def round_all(answer: Answer) -> Answer:
    """The same frozen dataclass with the digits that an answer keeps, all the way down."""
    return cast("Answer", _round(answer))


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, tuple):
        return tuple(_round(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        # Only what an instance was made from: a field may be fixed by the class.
        return replace(
            value,
            **{one.name: _round(getattr(value, one.name)) for one in fields(value) if one.init},
        )
    return value
