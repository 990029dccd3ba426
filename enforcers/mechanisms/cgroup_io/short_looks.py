"""Short looks at groups under a limit: in which of them one used all that its limit lets through.

The kernel lets through what a slice of 100 ms allows, and what is beyond it waits for the next
(block/blk-throttle.c). It counts no such waiting, and means over seconds hide it. A look is as
long as a slice: who did all of one in it was at its limit. Pure but for what it remembers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from enforcers.mechanisms.cgroup_io.counts import Count
from enforcers.mechanisms.cgroup_io.pooled_limit import SLICE_S
from enforcers.mechanisms.cgroup_io.standing import Looks

_SHORTEST_S, _LONGEST_S = 0.9 * SLICE_S, 1.5 * SLICE_S
# As much of a slice is all of it: what waits need not fill the last I/O.
_FULL_RATIO = 0.9
# Of fewer I/Os as many come by chance. So a limit of less than 200 IOPS is never found used up.
_FEWEST_IOS = 18

LimitParts = tuple[int, int]
"""What a group's limit lets read and write per second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A group's totals at one moment, as its limit counts and in I/Os."""

    counted: Count
    ios: Count


class ShortLooks:
    """The looks since the agent began to follow the device, by group."""

    def __init__(self) -> None:
        self.found: dict[str, Looks] = {}
        self._before: Mapping[str, Sight] = {}

    def take(self, seen: Mapping[str, Sight], parts: Mapping[str, LimitParts]) -> None:
        """What is seen a slice after what was seen before ends a look, and else begins one.

        `parts` are those of the groups that are under a limit.
        """
        former, self._before = self._before, seen
        for group, after in seen.items():
            before = former.get(group)
            is_full = None if before is None else _is_full(before, after, parts[group])
            if is_full is None:
                continue
            known = self.found.get(group, Looks())
            self.found[group] = Looks(count=known.count + 1, full=known.full + is_full)


def _is_full(before: Sight, after: Sight, limit: LimitParts) -> bool | None:
    """Whether a direction used up its part; None if the two are of no look."""
    elapsed_s = after.counted.at_s - before.counted.at_s
    reads = after.counted.reads - before.counted.reads
    writes = after.counted.writes - before.counted.writes
    if min(reads, writes) < 0 or not _SHORTEST_S <= elapsed_s <= _LONGEST_S:
        return None
    read_ios, write_ios = after.ios.reads - before.ios.reads, after.ios.writes - before.ios.writes
    return any(
        ios >= _FEWEST_IOS and done >= _FULL_RATIO * part * SLICE_S
        for done, ios, part in zip((reads, writes), (read_ios, write_ios), limit, strict=True)
    )
