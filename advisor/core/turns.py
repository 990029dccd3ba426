"""Fair turns for organisations if there is more work than time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

MOST_GROUPS = 10_000
"""Groups of resources that an organisation can have; a group's number tells both."""


def group_number(organisation: int, part: int) -> int:
    """The number of the group with this part of the organisation's resources."""
    return organisation * MOST_GROUPS + part


def organisation_of(group: int) -> int:
    """The organisation whose resources are in the group."""
    return group // MOST_GROUPS


def fair_turns(
    candidates: Iterable[tuple[int, int]], *, last: Mapping[int, float], most: int
) -> list[int]:
    """At most `most` of the candidates (organisation, subject), in rotation over organisations.

    In each round every organisation gets a turn for the subject that has waited longest. `last`
    is the time of a subject's last turn; one without comes first. So each of n organisations gets
    at least `most // n` turns, or all that it asks for.
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
