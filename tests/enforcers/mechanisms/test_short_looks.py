"""Short looks find a limit that is used up for parts of seconds, and nothing else."""

import random
from collections.abc import Iterable, Mapping

import pytest

from enforcers.mechanisms.cgroup_io.counts import Count
from enforcers.mechanisms.cgroup_io.short_looks import ShortLooks, Sight
from enforcers.mechanisms.cgroup_io.standing import Looks

GROUP = "/vm1"
PARTS = {GROUP: (500, 500)}


def sight(at_s: float, reads: float, *, bytes_an_io: int | None = None) -> Mapping[str, Sight]:
    """A group that has read so much; a limit in bytes counts those."""
    ios = Count(at_s=at_s, reads=int(reads), writes=0, waited_us=None)
    if bytes_an_io is None:
        return {GROUP: Sight(counted=ios, ios=ios)}
    counted = Count(at_s=at_s, reads=int(reads) * bytes_an_io, writes=0, waited_us=None)
    return {GROUP: Sight(counted=counted, ios=ios)}


def found(reads: Iterable[float], *, look_s: float = 0.1, **kind: int) -> Looks | None:
    """What looks say in which a group reads so much, ten seconds apart."""
    looks, done = ShortLooks(), 0.0
    for place, grown in enumerate(reads):
        looks.take(sight(10.0 * place, done, **kind), PARTS)
        done += grown
        looks.take(sight(10.0 * place + look_s, done, **kind), PARTS)
    return looks.found.get(GROUP)


def test_look_that_finds_all_of_a_slice_is_full() -> None:
    # 500 a second are 50 in a slice of 100 ms.
    assert found([50, 45, 44, 10, 0]) == Looks(count=5, full=2)


def test_few_ios_are_never_all_of_a_limit() -> None:
    looks = ShortLooks()
    looks.take(sight(0.0, 0), {GROUP: (100, 100)})
    looks.take(sight(0.1, 10), {GROUP: (100, 100)})

    assert looks.found == {GROUP: Looks(count=1, full=0)}


@pytest.mark.parametrize(("ios", "full"), [(20, 1), (1, 0)], ids=["many", "one large"])
def test_limit_in_bytes_is_used_up_by_many_ios(ios: int, full: int) -> None:
    looks, parts = ShortLooks(), {GROUP: (10_000_000, 10_000_000)}
    looks.take(sight(0.0, 0, bytes_an_io=1_000_000 // ios), parts)
    looks.take(sight(0.1, ios, bytes_an_io=1_000_000 // ios), parts)

    assert looks.found[GROUP].full == full


@pytest.mark.parametrize("look_s", [0.02, 0.2])
def test_what_was_not_seen_for_a_slice_is_no_look(look_s: float) -> None:
    assert found([50, 50], look_s=look_s) is None


def test_counters_that_begin_anew_are_no_look() -> None:
    assert found([-20]) is None


def test_look_that_lost_its_end_does_not_confuse_the_next_one() -> None:
    looks = ShortLooks()
    for at_s, reads in ((0.0, 0), (10.0, 3000), (10.1, 3050)):
        looks.take(sight(at_s, reads), PARTS)

    assert looks.found == {GROUP: Looks(count=1, full=1)}


def test_group_that_is_under_no_limit_any_more_is_left_out() -> None:
    looks = ShortLooks()
    looks.take(sight(0.0, 0), PARTS)
    looks.take({}, {})

    assert looks.found == {}


def test_uneven_load_of_half_the_limit_hardly_ever_looks_full() -> None:
    chance = random.Random(1)
    # 25 in the mean of a slice of 50, each at a moment of chance.
    said = found([sum(chance.random() < 0.05 for _ in range(500)) for _ in range(2000)])

    assert said is not None
    assert said.count == 2000
    assert said.full <= 2
