"""The mean of what was measured over intervals of different length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field
from datetime import datetime
from typing import Any, ClassVar, Protocol


class Rates(Protocol):
    """What all rates have: the end and the length of their interval. They are dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def at(self) -> datetime: ...
    @property
    def seconds(self) -> float: ...


def mean_rate(rates: Sequence[Rates], values: Sequence[float]) -> float:
    """The mean of values over intervals of different length."""
    seconds = [item.seconds for item in rates]
    return sum(value * span for value, span in zip(values, seconds, strict=True)) / sum(seconds)
