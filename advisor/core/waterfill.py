"""Exact water-filling: find the level at which a capacity is used up.

At level λ an allocation gets clamp(λ·weight, floor, cap). This never falls as λ rises, and is
linear between the breakpoints floor/weight and cap/weight. So the breakpoints are sorted, the last
one that fits is found, and the level within that piece is computed in one step: O(n log n),
without tolerance or iteration.

Many independent groups are filled in one pass, such as the parents of one tree level or the
windows of a history.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
Indexes = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Allocations in order, in groups that are not empty: group g begins at `starts[g]`."""

    starts: Indexes
    sizes: Indexes

    def spread(self, per_group: Floats) -> Floats:
        """Repeat each value (groups) for every allocation of its group (allocations)."""
        return np.repeat(per_group, self.sizes)

    def total(self, per_allocation: Floats) -> Floats:
        """Sum of the values (allocations) in each group (groups)."""
        sums: Floats = np.add.reduceat(per_allocation, self.starts)
        return sums

    def largest(self, per_allocation: Floats) -> Floats:
        """Maximum of the values (allocations) in each group (groups)."""
        maxima: Floats = np.maximum.reduceat(per_allocation, self.starts)
        return maxima


def groups_of(sizes: Indexes) -> Groups:
    """Consecutive groups of the given sizes, each at least 1."""
    starts = np.zeros(len(sizes), dtype=np.intp)
    np.cumsum(sizes[:-1], out=starts[1:])
    return Groups(starts=starts, sizes=sizes)


def fill(capacity: Floats, floor: Floats, cap: Floats, weight: Floats, groups: Groups) -> Floats:
    """Amounts clamp(λ·weight, floor, cap) whose sum in each group is that group's capacity.

    `capacity` is (groups); the other arrays and the result are (allocations).
    Needs 0 <= floor <= cap < inf, finite weight >= 0 and sum(floor) <= capacity, all in one unit.
    A group that cannot use its capacity (the caps are too low, or the rest has weight 0) gets
    all that it can use, and some capacity is left. A weight 1e300 times smaller than the
    largest of its group may count as 0.
    """
    # Powers of two change no digit; they bring the largest weight of each group to 1/2 to 1.
    weight = np.ldexp(weight, -np.repeat(np.frexp(groups.largest(weight))[1], groups.sizes))
    reach = np.where(weight > 0, cap, floor)
    is_short = groups.total(reach) > capacity
    if not is_short.any():
        return reach
    # Groups are independent: in one that has enough there is no level to look for.
    inside = np.repeat(is_short, groups.sizes)
    amount = reach.copy()
    amount[inside] = _Basin(
        capacity=capacity[is_short],
        floor=floor[inside],
        reach=reach[inside],
        weight=weight[inside],
        groups=groups_of(groups.sizes[is_short]),
    ).fill()
    return amount


@dataclass(frozen=True, slots=True, kw_only=True)
class _Basin:
    """The scaled input of `fill`; an allocation of weight 0 has reach = floor."""

    capacity: Floats
    floor: Floats
    reach: Floats
    weight: Floats
    groups: Groups

    def fill(self) -> Floats:
        """Amounts for groups whose capacity lies between the sums of their floors and reaches."""
        spread, total = self.groups.spread, self.groups.total
        enters, leaves = self._per_weight(self.floor), self._per_weight(self.reach)
        level, next_level = self._last_level_that_fits(enters, leaves)
        full = leaves <= spread(level)
        rising = ~full & (enters < spread(next_level))
        fixed = np.where(full, self.reach, np.where(rising, 0.0, self.floor))
        rest = np.maximum(self.capacity - total(fixed), 0.0)
        rising_weight = np.where(rising, self.weight, 0.0)
        weights = total(rising_weight)
        part = rising_weight / spread(np.where(weights > 0, weights, 1.0))
        return np.where(rising, np.clip(spread(rest) * part, self.floor, self.reach), fixed)

    def _per_weight(self, amount: Floats) -> Floats:
        """The level at which each allocation has this amount; infinite for weight 0."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(self.weight > 0, amount / self.weight, np.inf)

    def _last_level_that_fits(self, enters: Floats, leaves: Floats) -> tuple[Floats, Floats]:
        """The last breakpoint within each group's capacity, and the next one; each (groups)."""
        points, first, count = self._sorted_breakpoints(enters, leaves)
        low = np.zeros(len(count), dtype=np.intp)
        high = count  # The total at `high` is above the capacity; `low` fits, as the floors do.
        while (open_ := high - low > 1).any():
            middle = np.where(open_, (low + high) // 2, low)
            fits = self._used(points[first + middle]) <= self.capacity
            low = np.where(open_ & fits, middle, low)
            high = np.where(open_ & ~fits, middle, high)
        after = np.minimum(first + high, len(points) - 1)
        return points[first + low], np.where(high < count, points[after], np.inf)

    def _used(self, level: Floats) -> Floats:
        """The amount that each group uses at its level (groups)."""
        with np.errstate(invalid="ignore", over="ignore"):
            # inf·0 is NaN; fmax takes the floor then, which is what weight 0 gets.
            amount = np.fmax(self.groups.spread(level) * self.weight, self.floor)
        return self.groups.total(np.fmin(amount, self.reach))

    def _sorted_breakpoints(
        self, enters: Floats, leaves: Floats
    ) -> tuple[Floats, Indexes, Indexes]:
        """Breakpoints in rising order per group, the start of each group, and its count."""
        sizes = self.groups.sizes
        if (sizes == sizes[0]).all():
            shape = (len(sizes), int(sizes[0]))
            points = np.concatenate((enters.reshape(shape), leaves.reshape(shape)), axis=1)
            points.sort(axis=1)
            points = points.ravel()
        else:
            points, group = (
                np.concatenate((enters, leaves)),
                np.repeat(np.arange(len(sizes)), sizes),
            )
            points = points[np.lexsort((points, np.concatenate((group, group))))]
        return points, 2 * self.groups.starts, 2 * sizes
