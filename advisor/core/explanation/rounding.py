"""Round every number of an answer, so that it is the same on every machine."""

from dataclasses import fields, is_dataclass
from functools import cache
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
        return tuple([_round(item) for item in value])
    kind: type = type(value)
    if (names := _given(kind)) is None:
        return value
    return kind(**{name: _round(getattr(value, name)) for name in names})


@cache
def _given(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass that its maker gives, for the class may fix others; else None."""
    return tuple(one.name for one in fields(kind) if one.init) if is_dataclass(kind) else None
