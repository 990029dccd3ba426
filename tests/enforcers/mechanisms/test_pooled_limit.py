"""One limit for reads and writes: a simulated kernel that rounds as blk-throttle does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.contract import Unit
from enforcers.mechanisms.cgroup_io.pooled_limit import (
    SLICES_PER_S,
    Pool,
    Took,
    first_pool,
    next_pool,
)


def let_through(allowed: int) -> float:
    """What the kernel lets through in a second: whole I/Os in each slice."""
    return allowed // SLICES_PER_S * SLICES_PER_S if allowed >= SLICES_PER_S else allowed


def mixed(pool: Pool, read_ratio: float) -> Took:
    """A load of one queue, which stops when either direction is used up."""
    most = [
        let_through(part) / ratio
        for part, ratio in ((pool.reads, read_ratio), (pool.writes, 1 - read_ratio))
        if ratio > 0
    ]
    total = min(most)
    return Took(reads=total * read_ratio, writes=total * (1 - read_ratio), elapsed_s=1.0)


def mean_of(limit: float, read_ratio: float, *, periods: int = 60, settle: int = 20) -> float:
    pool, got = first_pool(limit, Unit.IOPS), []
    for _ in range(settle + periods):
        took = mixed(pool, read_ratio)
        got.append(took.reads + took.writes)
        pool = next_pool(pool, took)
    return sum(got[settle:]) / periods


@pytest.mark.parametrize("read_ratio", [1.0, 0.0, 0.7, 0.5, 0.35])
@pytest.mark.parametrize("limit", [500.0, 79.0, 118.0, 2000.0])
def test_mixed_load_gets_the_limit_in_the_mean(limit: float, read_ratio: float) -> None:
    assert mean_of(limit, read_ratio) == pytest.approx(limit, rel=0.02)


@pytest.mark.parametrize("first_extra", [0.0, 0.1, 0.2])
def test_kernel_that_moves_a_slice_at_each_change_still_gives_the_limit(
    first_extra: float,
) -> None:
    """Linux 7: a raised limit lets a slice more through, a lowered one a slice less."""
    pool, extra, got = first_pool(500.0, Unit.IOPS), first_extra, []
    for _ in range(40):
        rate = let_through(pool.reads) * (1 + 2 * extra)
        got.append(rate)
        before, pool = pool, next_pool(pool, Took(reads=rate, writes=0.0, elapsed_s=0.5))
        extra = 0.1 * ((pool.reads > before.reads) - (pool.reads < before.reads))

    assert sum(got) / len(got) == pytest.approx(500.0, rel=0.01)


@pytest.mark.parametrize(
    ("took", "parts"),
    [
        # Short by 40 of a slice's 50: 70 % and 30 % of 540, in multiples of 10.
        ((350.0, 150.0), (380, 160)),
        # Of reads alone a slice is left, for on Linux 7 each change gives or takes one.
        ((500.0, 0.0), (500, 10)),
    ],
)
def test_shortfall_below_a_slice_is_made_good_where_parts_change_anyway(
    took: tuple[float, float], parts: tuple[int, int]
) -> None:
    reads, writes = took
    pool = Pool(
        limit=500.0, unit=Unit.IOPS, carried=40.0, reads=int(reads), writes=max(10, int(writes))
    )

    after = next_pool(pool, Took(reads=reads, writes=writes, elapsed_s=0.5))

    assert (after.reads, after.writes) == parts


@given(st.floats(20.0, 5000.0), st.floats(0.0, 1.0))
def test_parts_never_go_far_beyond_the_limit(limit: float, read_ratio: float) -> None:
    pool = first_pool(limit, Unit.IOPS)
    for _ in range(30):
        pool = next_pool(pool, mixed(pool, read_ratio))

        # A fifth may be made good, and each direction is rounded by half a step or stays open.
        most = limit + max(0.2 * limit, SLICES_PER_S) + 2 * SLICES_PER_S
        assert pool.reads + pool.writes <= most
        assert min(pool.reads, pool.writes) >= 1


def test_parts_follow_independent_readers_and_writers() -> None:
    pool = first_pool(500.0, Unit.IOPS)
    for _ in range(20):
        # Readers want all, writers 50.
        took = Took(
            reads=let_through(pool.reads), writes=min(50.0, let_through(pool.writes)), elapsed_s=1
        )
        pool = next_pool(pool, took)

    assert took.reads + took.writes == pytest.approx(500.0, rel=0.03)


def test_what_an_idle_group_did_not_use_is_not_kept_for_later() -> None:
    pool = first_pool(500.0, Unit.IOPS)

    for _ in range(10):
        pool = next_pool(pool, Took(reads=30.0, writes=0.0, elapsed_s=1.0))

    assert (pool.carried, pool.reads) == (0.0, 500)


@pytest.mark.parametrize("first", ["reads", "writes"])
def test_direction_that_starts_later_gets_as_much_as_the_other(first: str) -> None:
    pool = first_pool(500.0, Unit.IOPS)
    for second in range(40):
        # From the twentieth second on both directions want all that they can get.
        is_alone = second < 20
        reads = 0.0 if is_alone and first == "writes" else let_through(pool.reads)
        writes = 0.0 if is_alone and first == "reads" else let_through(pool.writes)
        took = Took(reads=reads, writes=writes, elapsed_s=1.0)
        pool = next_pool(pool, took)

    assert took.reads == pytest.approx(250.0, rel=0.1)
    assert took.reads + took.writes == pytest.approx(500.0, rel=0.03)
