"""The parts of a body that gave no point, with reasons, in bounded memory."""

from dataclasses import dataclass, replace

MOST_REASONS = 100
"""Reasons that are kept one by one; of more, parts are only counted."""
_LONGEST_PART = 200
_OTHER_REASONS = "further reasons, which are only counted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """The first part that was refused for a reason, and how many parts were."""

    part: str
    reason: str
    count: int


class Rejections:
    """What a decoder refused so far. A decoder adds; its caller reads when the points are out."""

    def __init__(self) -> None:
        self._by_reason: dict[str, Rejection] = {}

    def add(self, part: str, reason: str, *, count: int = 1) -> None:
        """Count `count` parts; `part` names the first of them."""
        if reason not in self._by_reason and len(self._by_reason) >= MOST_REASONS:
            reason = _OTHER_REASONS
        known = self._by_reason.get(reason)
        self._by_reason[reason] = (
            replace(known, count=known.count + count)
            if known
            else Rejection(part=_printable(part), reason=reason, count=count)
        )

    def all(self) -> list[Rejection]:
        """One rejection per reason, in the order in which the reasons came."""
        return list(self._by_reason.values())

    @property
    def count(self) -> int:
        return sum(rejection.count for rejection in self._by_reason.values())


def _printable(part: str) -> str:
    """A part fit to be stored and shown: short, without control characters and lone surrogates."""
    short = part if len(part) <= _LONGEST_PART else part[: _LONGEST_PART - 3] + "..."
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in short)
