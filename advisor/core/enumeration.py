"""How a sentence lists names: three at most, and how many more there are."""

from collections.abc import Iterable

MOST_NAMED = 3
"""More than these nobody reads in a sentence; tables have them all."""


def listed(names: Iterable[str]) -> str:
    """Names as a sentence lists them: `a`, `a and b`, `a, b and c`, `a, b, c +40 more`."""
    named = list(names)
    if len(named) > MOST_NAMED:
        return f"{', '.join(named[:MOST_NAMED])} +{len(named) - MOST_NAMED} more"
    if len(named) < 2:
        return "".join(named)
    return f"{', '.join(named[:-1])} and {named[-1]}"


def clauses(texts: Iterable[str]) -> str:
    """Clauses as a sentence lists them: `a`, `a; b; c`, `a; b; c; +40 more`."""
    said = list(texts)
    more = [f"+{len(said) - MOST_NAMED} more"] if len(said) > MOST_NAMED else []
    return "; ".join(said[:MOST_NAMED] + more)
