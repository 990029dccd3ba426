"""Cut the last digits of every number of an answer, so that they cannot differ by machine."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from advisor.core.advice.policy_why import rounded

Answer = TypeVar("Answer")


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
