"""How far an answer can be trusted."""

from enum import StrEnum


class Confidence(StrEnum):
    """In words, because a number would claim more precision than there is."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
