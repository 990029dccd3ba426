"""One limit for reads and writes: a simulated kernel that rounds as blk-throttle does."""

from math import sqrt
from random import Random

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

CAPACITY = 2000.0
"""Of the disk, I/Os per second."""


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


def by_chance(limit: float, read_ratio: float, workers: int, seconds: int) -> list[float]:
    """The I/Os in each ten seconds of workers that wait for each of theirs, a read by chance."""
    random, pool, got = Random(f"{read_ratio} {workers}"), first_pool(limit, Unit.IOPS), []
    waiting = [random.random() < read_ratio for _ in range(workers)]
    left, done, slices = {True: 0.0, False: 0.0}, {True: 0, False: 0}, 5
    for number in range(seconds * SLICES_PER_S):
        for is_read, part in ((True, pool.reads), (False, pool.writes)):
            left[is_read] = left[is_read] % 1 + part / SLICES_PER_S
        before = sum(done.values())
        while any(left[one] >= 1 for one in waiting):
            for place, one in enumerate(waiting):
                if left[one] >= 1 and sum(done.values()) - before < CAPACITY / SLICES_PER_S:
                    left[one] -= 1
                    done[one] += 1
                    waiting[place] = random.random() < read_ratio
            if sum(done.values()) - before >= CAPACITY / SLICES_PER_S:
                break
        got.append(sum(done.values()) - before)
        if number % slices == slices - 1:
            elapsed_s = slices / SLICES_PER_S
            took = Took(
                reads=done[True] / elapsed_s, writes=done[False] / elapsed_s, elapsed_s=elapsed_s
            )
            pool, done = next_pool(pool, took), {True: 0, False: 0}
            before = 0
    window = 10 * SLICES_PER_S
    return [sum(got[at : at + window]) / 10 for at in range(50, len(got) - window, window)]


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
@pytest.mark.parametrize("read_ratio", [0.95, 0.7, 0.5])
def test_a_mix_by_chance_gets_the_limit(read_ratio: float, workers: int) -> None:
    """A direction that has no more than its usual part holds the other one up."""
    windows = by_chance(500.0, read_ratio, workers, seconds=305)

    assert sum(windows) / len(windows) == pytest.approx(500.0, rel=0.004)
    assert sum(abs(rate - 500.0) <= 5.0 for rate in windows) >= 0.9 * len(windows)


def test_another_mix_is_followed_at_once() -> None:
    pool = first_pool(500.0, Unit.IOPS)
    for _ in range(20):
        pool = next_pool(pool, mixed(pool, 0.7))

    pool = next_pool(pool, mixed(pool, 0.2))

    assert pool.reads < 0.35 * (pool.reads + pool.writes)


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
        # Short by 40 of a slice's 50: 70 % and 30 % of 540 and room for chance, 2 deviations of 20
        # reads a second (the root of 0.7 x 0.3 x 250 I/Os, twice a second), in multiples of 10.
        ((350.0, 150.0), (410, 190)),
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


@pytest.mark.parametrize(
    ("limit", "cost", "carried", "writes"),
    [
        # Two slices of 50, which two changes bring on Linux 7; the kernel holds 500 by itself.
        (500.0, 1.0, -99.0, 500),
        (500.0, 1.0, -108.0, 490),
        (500.0, 2.0, -99.0, 250),
        # 118 lies between 110 and 120, one of which is to be written: beyond a slice it changes.
        (118.0, 1.0, -11.0, 120),
        (118.0, 1.0, -16.0, 110),
        # So does a third of 500, of I/Os that count three times, between 160 and 170.
        (500.0, 3.0, -40.0, 170),
        (500.0, 3.0, -70.0, 160),
    ],
)
def test_what_two_changes_bring_is_not_made_good_where_the_limit_holds_by_itself(
    limit: float, cost: float, carried: float, writes: int
) -> None:
    part = int(limit / cost)
    pool = Pool(limit=limit, unit=Unit.IOPS, carried=carried, reads=10, writes=part, mix=0.0)

    after = next_pool(pool, Took(reads=0.0, writes=limit, elapsed_s=0.5, write_cost=cost))

    assert after.writes == writes


@given(st.floats(20.0, 5000.0), st.floats(0.0, 1.0))
def test_parts_never_go_far_beyond_the_limit(limit: float, read_ratio: float) -> None:
    pool = first_pool(limit, Unit.IOPS)
    for _ in range(30):
        pool = next_pool(pool, mixed(pool, read_ratio))

        # A third may be made good, each direction has two deviations of chance in a second (at
        # most the root of the I/Os) and is rounded by half a step or stays open.
        most = 1.3 * limit + 2.6 * sqrt(limit) + 3 * SLICES_PER_S
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
