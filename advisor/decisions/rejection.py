"""Why people reject advice, in words that can be counted."""

from __future__ import annotations

REJECTION_REASONS = (
    "the load is expected",
    "the numbers look wrong",
    "too risky now",
    "solved in another way",
    "not worth it",
)
"""What a page offers; words of one's own may stand beside or instead."""


def reason_text(chosen: str, words: str) -> str:
    """Both as one text, such as `too risky now: web-1 moves on Monday`; other choices are none."""
    known = chosen if chosen in REJECTION_REASONS else ""
    return ": ".join(filter(None, (known, words.strip())))
