"""What an answer predicts, number by number."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A quantity as it is and as it is expected, and by which formula; None is not known."""

    quantity: str
    unit: str
    before: float | None
    after: float | None
    how: str
