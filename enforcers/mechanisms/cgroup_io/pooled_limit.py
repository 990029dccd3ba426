"""A limit on reads and writes together, out of limits for each of them. Pure.

io.max limits each direction by itself and lets whole I/Os through per slice of 100 ms
(block/blk-throttle.c, DFL_THROTL_SLICE), so a limit that is not a multiple of 10 I/Os per second
is rounded down. The two limits follow the measured mix, in multiples of 10; what they let through
too much or too little is made good in the next period, of one direction alone beyond one slice.
The mix of a short period is chance: a direction that has its part of the usual mix and no more
holds the other one up too. So each has room for what chance brings, and what comes through beyond
the limit is taken off the next period.
A limit that counts one I/O per 32 KiB is divided as it counts; what is written is in plain I/Os.
"""

from dataclasses import dataclass, replace
from math import sqrt

from enforcers.contract import Unit

SLICES_PER_S = 10
SLICE_S = 1 / SLICES_PER_S
SMALLEST_PART = 2
"""Up to Linux 6.12 io.max refuses 1."""
# Who took less than this of what was open to it did not want it all.
_USED_RATIO = 0.8
_MOST_CARRIED_RATIO = 0.3
# Standard deviations of the reads that one period has by chance: so much room has each direction,
_ROOM = 2.0
# and what differs by more is another mix; of less this part is followed.
_ANOTHER_MIX, _FOLLOWED_RATIO = 3.0, 0.4
# Who took so much of its part may want more, and is given so much more of the limit for a try.
_FULL_RATIO = 0.9
_MORE_RATIO = 0.05
# A try that was in vain costs the other direction a little, so the next one is later.
_FIRST_PAUSE, _LONGEST_PAUSE = 4, 64
# Of bytes an unused direction stays open by so many, or this part of a large limit.
_OPEN_BYTES_PER_S = 65536
_OPEN_RATIO = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """What a group read and wrote per second, as the limit counts, over `elapsed_s`.

    `read_cost` and `write_cost` are for how many a plain I/O of each counts.
    """

    reads: float
    writes: float
    elapsed_s: float
    read_cost: float = 1.0
    write_cost: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A limit per second, what was let through too little of it, and its two parts now.

    A part is in the unit of io.max. `mix` is the usual part of reads, None before the first
    period. `is_trying`: the smaller part is larger than the mix, to see whether it is used; the
    next try is in `try_in` periods, `pause` after this.
    """

    limit: float
    unit: Unit
    carried: float
    reads: int
    writes: int
    mix: float | None = None
    is_trying: bool = False
    try_in: int = _FIRST_PAUSE
    pause: int = _FIRST_PAUSE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grain:
    """A part is a multiple of `step`, and at least `least`.

    The direction that is not used stays open by that, so that its first I/O does not wait.
    """

    step: int
    least: int


def first_pool(limit: float, unit: Unit) -> Pool:
    """Before anything is known of the mix each direction may use it all."""
    return Pool(limit=limit, unit=unit, carried=0.0, reads=int(limit), writes=int(limit))


def next_pool(pool: Pool, took: Took, *, limit: float | None = None) -> Pool:
    """The parts for the next period, of another limit if one is given."""
    used = took.reads + took.writes
    costs = (took.read_cost, took.write_cost)
    carried = 0.0
    mix, room = _mix(pool, took), _room(pool, took)
    if _wanted_all(pool, took):
        step = max(_grain(pool, cost).step * cost for cost in costs)
        # What both have of room may come through in each period, and is owed in each.
        most = max(_MOST_CARRIED_RATIO * pool.limit, step, 4 * room) + _slack(pool, took)
        missed = pool.carried + (pool.limit - used) * took.elapsed_s
        carried = min(max(missed, -most), most)
    pool = replace(pool, limit=pool.limit if limit is None else limit, mix=mix)
    budget = max(pool.limit + _to_make_good(carried, _slack(pool, took)), 1.0)
    pool = _with_try(pool, took)
    if pool.is_trying:
        mix += min(_MORE_RATIO, abs(0.5 - mix)) * (1 if mix < 0.5 else -1)
    return replace(
        pool,
        carried=carried,
        reads=_rounded(budget * mix + room, pool, took.read_cost),
        writes=_rounded(budget * (1 - mix) + room, pool, took.write_cost),
    )


def _mix(pool: Pool, took: Took) -> float:
    """The usual part of reads: that of the last period, as far as it is not chance."""
    used = took.reads + took.writes
    if used <= 0:
        return 0.5 if pool.mix is None else pool.mix
    new = took.reads / used
    if pool.mix is None or pool.unit is Unit.BYTES_PER_S:
        return new
    by_chance = _deviation(pool.mix, took)
    if abs(new - pool.mix) > _ANOTHER_MIX * by_chance:
        return new
    return pool.mix + _FOLLOWED_RATIO * (new - pool.mix)


def _room(pool: Pool, took: Took) -> float:
    """What a direction has beyond its part, per second; of bytes, whose number nobody knows, 0.

    Who only reads, or only writes, needs none.
    """
    used = took.reads + took.writes
    if pool.unit is Unit.BYTES_PER_S or min(took.reads, took.writes) <= 0:
        return 0.0
    return _ROOM * _deviation(took.reads / used, took) * used


def _deviation(mix: float, took: Took) -> float:
    """The standard deviation of the part of reads among the I/Os of one period."""
    count = (took.reads / took.read_cost + took.writes / took.write_cost) * took.elapsed_s
    count = max(count, 1.0)
    return sqrt(max(mix * (1 - mix), 1 / count) / count)


def is_held(pool: Pool, took: Took) -> bool:
    """Whether the group took what was open to it in some direction, and so may want more."""
    return took.reads + took.writes >= _FULL_RATIO * pool.limit or any(
        took_one > 0 and took_one >= _FULL_RATIO * part * cost
        for took_one, part, cost in (
            (took.reads, pool.reads, took.read_cost),
            (took.writes, pool.writes, took.write_cost),
        )
    )


def _wanted_all(pool: Pool, took: Took) -> bool:
    """Whether it took what was open to it, or is held in a direction that it uses.

    A limit that was changed may begin a slice later.
    """
    is_open = pool.reads * took.read_cost + pool.writes * took.write_cost
    open_per_s = min(is_open, pool.limit)
    open_s = max(took.elapsed_s - SLICE_S, took.elapsed_s / 2)
    if (took.reads + took.writes) * took.elapsed_s >= _USED_RATIO * open_per_s * open_s:
        return True
    return _is_mixed(pool) and is_held(pool, took)


def _to_make_good(carried: float, slack: float) -> float:
    return max(carried - slack, 0.0) + min(carried + slack, 0.0)


def _slack(pool: Pool, took: Took) -> float:
    """What is not made good: Linux 7 gives or takes a slice at each change, so that never ends.

    A limit of whole I/Os per slice holds by itself, and is left alone for what two changes bring.
    The parts of who reads and writes change all the time anyway, and all is made good.
    """
    if _is_mixed(pool):
        return 0.0
    cost = took.read_cost if took.reads > took.writes else took.write_cost
    holds_by_itself = pool.unit is Unit.IOPS and pool.limit / cost % SLICES_PER_S == 0
    return pool.limit * SLICE_S * (2 if holds_by_itself else 1)


def _is_mixed(pool: Pool) -> bool:
    return min(pool.reads, pool.writes) > _grain(pool, 1.0).least


def _with_try(pool: Pool, took: Took) -> Pool:
    """The mix alone would hold for ever whom its part holds: so it is given more, for a try."""
    if not _is_smaller_held(pool, took):
        if not pool.is_trying:
            return replace(pool, try_in=max(0, pool.try_in - 1))
        pause = min(2 * pool.pause, _LONGEST_PAUSE)
        return replace(pool, is_trying=False, try_in=pause, pause=pause)
    if pool.is_trying:
        return replace(pool, pause=_FIRST_PAUSE)
    part, cost = min((pool.reads, took.read_cost), (pool.writes, took.write_cost))
    was_unused = part <= _grain(pool, cost).least
    if pool.try_in > 0 and not was_unused:
        return replace(pool, try_in=pool.try_in - 1)
    return replace(pool, is_trying=True)


def _is_smaller_held(pool: Pool, took: Took) -> bool:
    if took.reads < took.writes:
        return took.reads >= _FULL_RATIO * pool.reads * took.read_cost
    is_smaller = took.writes < took.reads
    return is_smaller and took.writes >= _FULL_RATIO * pool.writes * took.write_cost


def _rounded(amount: float, pool: Pool, cost: float) -> int:
    grain = _grain(pool, cost)
    return max(grain.least, round(amount / cost / grain.step) * grain.step)


def _grain(pool: Pool, cost: float) -> _Grain:
    if pool.unit is Unit.BYTES_PER_S:
        is_open = int(max(_OPEN_RATIO * pool.limit, min(pool.limit, _OPEN_BYTES_PER_S)))
        return _Grain(step=1, least=max(SMALLEST_PART, is_open))
    if pool.limit / cost >= 2 * SLICES_PER_S:
        return _Grain(step=SLICES_PER_S, least=SLICES_PER_S)
    # Less is too little to divide in steps; the kernel spreads it over its slices itself.
    return _Grain(step=1, least=SMALLEST_PART)
