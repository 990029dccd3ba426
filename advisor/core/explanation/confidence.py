"""Confidence from its grounds: as sure as the weakest of them."""

from advisor.core.explanation.answer import Confidence, ConfidencePart

DIGITS = 3
"""More digits would allocation more precision than a ground for confidence has."""


def ground(name: str, value: float, how: str) -> ConfidencePart:
    """One ground, brought into 0 to 1."""
    return ConfidencePart(name=name, value=round(min(max(value, 0.0), 1.0), DIGITS), how=how)


def weakest(*parts: ConfidencePart) -> Confidence:
    """Confidence with these grounds, of which there is at least one."""
    return Confidence(value=min(part.value for part in parts), parts=parts)
