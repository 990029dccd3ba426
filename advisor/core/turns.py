"""Whose turn it is when there is more work than time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping


def fair_turns(
    candidates: Iterable[tuple[int, int]], *, last: Mapping[int, float], most: int
) -> list[int]:
    """At most so many of the candidates (organisation, subject), in rotation over organisations.

    Each organisation gives its subject that waits longest, then each its next, and so on. `last`
    says when a subject had its turn; one without comes first. So with n organisations, each gets
    at least `most // n` turns or all that it asks for, however much the others ask for.
    """
    longest_first = sorted(
        set(candidates), key=lambda one: (last.get(one[1], float("-inf")), one[1])
    )
    taken: dict[int, int] = defaultdict(int)
    ranked: list[tuple[int, int, int]] = []
    for place, (organisation, subject) in enumerate(longest_first):
        ranked.append((taken[organisation], place, subject))
        taken[organisation] += 1
    return [subject for _, _, subject in sorted(ranked)[: max(most, 0)]]
