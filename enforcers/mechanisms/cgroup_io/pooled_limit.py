"""A limit on reads and writes together, out of limits for each of them. Pure.

io.max limits each direction by itself and lets whole I/Os through per slice of 100 ms
(block/blk-throttle.c, DFL_THROTL_SLICE), so a limit that is not a multiple of 10 I/Os per second
is rounded down. The two limits follow the measured mix, in multiples of 10; what they let through
too much or too little in one period is made good in the next.
"""

from dataclasses import dataclass

SLICES_PER_S = 10
# Who took less of the limit than this did not want it all.
_USED_RATIO = 0.8
_MOST_CARRIED_RATIO = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """What a group read and wrote per second, in the limit's unit, over `elapsed_s`."""

    reads: float
    writes: float
    elapsed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A limit per second, what is to be made good of it, and its two parts now."""

    limit: float
    carried: float
    reads: int
    writes: int


def first_pool(limit: float) -> Pool:
    """Before anything is known of the mix each direction may use it all."""
    return Pool(limit=limit, carried=0.0, reads=int(limit), writes=int(limit))


def next_pool(pool: Pool, took: Took, *, step: int) -> Pool:
    """The parts for the next period. `step` is what the kernel rounds down to.

    The direction that is not used stays open by one step, so that its first I/O does not wait.
    """
    used = took.reads + took.writes
    carried = 0.0
    if used >= _USED_RATIO * pool.limit:
        most = max(_MOST_CARRIED_RATIO * pool.limit, step)
        missed = pool.carried + (pool.limit - used) * took.elapsed_s
        carried = min(max(missed, -most), most)
    budget = max(pool.limit + carried, 1.0)
    if pool.limit < 2 * step:
        # Too little to divide in steps; the kernel spreads so few over its slices itself.
        step = 1
    read_ratio = took.reads / used if used > 0 else 0.5
    return Pool(
        limit=pool.limit,
        carried=carried,
        reads=_rounded(budget * read_ratio, step),
        writes=_rounded(budget * (1 - read_ratio), step),
    )


def _rounded(amount: float, step: int) -> int:
    return max(step, round(amount / step) * step)
