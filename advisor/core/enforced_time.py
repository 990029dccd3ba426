"""The time in which every host enforced a policy, according to its reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

Stretch = tuple[datetime, datetime]
"""Start and end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """One report of a host about all its allocations of a policy.

    `holds` means that the kernel had the policy after this pass, `untouched` also before it.
    """

    at: datetime
    holds: bool
    untouched: bool


def enforced_stretches(
    reports: Sequence[HostReport], *, longest_gap: timedelta
) -> tuple[Stretch, ...]:
    """When one host enforced the policy, in order of time.

    The time between two reports counts if the first left the policy in the kernel, the second
    found it untouched there, and they are at most `longest_gap` apart.
    """
    found: list[Stretch] = []
    ordered = sorted(reports, key=lambda one: one.at)
    for earlier, later in pairwise(ordered):
        proven = earlier.holds and later.holds and later.untouched
        if not proven or later.at - earlier.at > longest_gap:
            continue
        began = found.pop()[0] if found and found[-1][1] == earlier.at else earlier.at
        found.append((began, later.at))
    return tuple(found)


def common_stretches(hosts: Sequence[Sequence[Stretch]]) -> tuple[Stretch, ...]:
    """When all hosts enforced it at once; without hosts there is no such time."""
    if not hosts:
        return ()
    common = tuple(hosts[0])
    for stretches in hosts[1:]:
        common = tuple(
            (max(one[0], other[0]), min(one[1], other[1]))
            for one in common
            for other in stretches
            if max(one[0], other[0]) < min(one[1], other[1])
        )
    return common
