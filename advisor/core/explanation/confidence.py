"""Confidence from its parts: the lowest of them."""

from advisor.core.explanation.answer import Confidence, ConfidencePart

DIGITS = 3
"""More digits would suggest more precision than a confidence has."""


def ground(name: str, value: float, how: str) -> ConfidencePart:
    """One part, limited to 0 to 1."""
    return ConfidencePart(name=name, value=round(min(max(value, 0.0), 1.0), DIGITS), how=how)


def weakest(*parts: ConfidencePart) -> Confidence:
    """The confidence with these parts, at least one."""
    return Confidence(value=min(part.value for part in parts), parts=parts)
