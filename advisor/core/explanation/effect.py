"""The predicted numbers of an answer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A quantity before and after, and its formula; None means unknown."""

    quantity: str
    unit: str
    before: float | None
    after: float | None
    how: str
