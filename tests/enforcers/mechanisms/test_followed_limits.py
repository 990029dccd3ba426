"""Between two passes: a limit over several disks, one that counts by size, and one that fails."""

from collections.abc import Callable
from pathlib import Path

import pytest

from enforcers.contract import Allocation, IoCount, LimitScope, Outcome
from enforcers.mechanism import Counters
from enforcers.mechanisms.cgroup_io import io_text
from tests.enforcers.fake_cgroups import MOUNT, FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import document, group
from tests.enforcers.rig import Rig, start_rig

A, B = "/machine.slice/a", "/machine.slice/b"
KIB = 1024


class Host:
    """Two groups whose counters go on by half seconds, as far as their io.max lets them."""

    def __init__(self, folder: Path, *limited: Allocation) -> None:
        self.cgroups = FakeCgroups(folder / "root", iocost=False)
        for name in (A, B):
            self.cgroups.add_group(name)
        self.rig: Rig = start_rig(folder, FakeTc(), host_fs=self.cgroups)
        self.policy = document(*limited)
        self.now_s = 0.0
        self._done = {name: [0.0, 0.0, 0.0, 0.0] for name in (A, B)}
        self.run_pass()

    def run_pass(self) -> dict[str, tuple[Outcome, str]]:
        result = self.rig.enforcement.run(self.policy, previous=None, now_s=self.now_s)
        return {
            one.allocation.selector.value: (one.outcome, one.reason) for one in result.enforced
        }

    def parts(self, name: str) -> tuple[int, int]:
        values = io_text.parse_io_max(self.cgroups.text(name, "io.max"), "8:0")
        return int(values["riops"]), int(values["wiops"])

    def run(
        self,
        seconds: float,
        wanted: dict[str, tuple[float, float]],
        *,
        block_bytes: int = 4 * KIB,
        heeds: Callable[[float, int], float] = min,
    ) -> dict[str, float]:
        """I/Os per second of each group that wants so many reads and writes per second."""
        before = {name: sum(done[:2]) for name, done in self._done.items()}
        for _ in range(round(seconds * 2)):
            self.now_s += 0.5
            for name, rates in wanted.items():
                done = self._done[name]
                for way, (want, part) in enumerate(zip(rates, self.parts(name), strict=True)):
                    ios = heeds(want, part) / 2
                    done[way] += ios
                    done[2 + way] += ios * block_bytes
                self._show(name)
            self.rig.enforcement.follow(clock_s=lambda: self.now_s)
        return {name: (sum(self._done[name][:2]) - before[name]) / seconds for name in before}

    def look(self, name: str, reads: float) -> None:
        """A short look in which the group reads so much."""
        self.rig.enforcement.look(clock_s=lambda: self.now_s)
        self.now_s += 0.1
        self._done[name][0] += reads
        self._show(name)
        self.rig.enforcement.look(clock_s=lambda: self.now_s)
        # Another look begins at another time.
        self.now_s += 1.0

    def counters(self, name: str) -> Counters:
        """What a pass reads of the group."""
        result = self.rig.enforcement.run(self.policy, previous=None, now_s=self.now_s)
        (found,) = [one for one in result.enforced if one.allocation.selector.value == name]
        assert found.seen.counters is not None
        return found.seen.counters

    def _show(self, name: str) -> None:
        rios, wios, rbytes, wbytes = map(int, self._done[name])
        line = f"8:0 rbytes={rbytes} wbytes={wbytes} rios={rios} wios={wios}\n"
        self.cgroups.put(f"{MOUNT}{name}/io.stat", line)


def disk(name: str, **change: object) -> Allocation:
    """A disk of db, whose disks have 500 together."""
    terms = {"workload": "db", "limit": 500.0, "limit_scope": LimitScope.POOLED}
    return group(name, **{**terms, **change})


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ({A: (2000.0, 0.0), B: (2000.0, 0.0)}, {A: 250.0, B: 250.0}),
        ({A: (2000.0, 0.0), B: (100.0, 0.0)}, {A: 400.0, B: 100.0}),
        ({A: (2000.0, 2000.0), B: (0.0, 100.0)}, {A: 400.0, B: 100.0}),
        ({A: (0.0, 2000.0), B: (0.0, 0.0)}, {A: 500.0, B: 0.0}),
    ],
    ids=["even", "uneven", "both directions", "one is idle"],
)
def test_limit_over_two_disks_is_divided_by_what_they_want(
    tmp_path: Path, wanted: dict[str, tuple[float, float]], got: dict[str, float]
) -> None:
    host = Host(tmp_path, disk(A), disk(B))
    host.run(10, wanted)

    rates = host.run(20, wanted)

    assert rates == pytest.approx(got, rel=0.03, abs=1)
    assert sum(rates.values()) == pytest.approx(500.0, rel=0.01)


def test_pass_takes_the_parts_of_a_sum_for_its_own(tmp_path: Path) -> None:
    host = Host(tmp_path, disk(A), disk(B))
    host.run(5, {A: (2000.0, 0.0), B: (100.0, 0.0)})
    parts = [host.parts(name) for name in (A, B)]

    outcomes = host.run_pass()

    assert {outcome for outcome, _ in outcomes.values()} == {Outcome.UNCHANGED}
    assert [host.parts(name) for name in (A, B)] == parts
    host.rig.enforcement.run(None, previous=None, now_s=host.now_s)
    assert {host.cgroups.text(name, "io.max") for name in (A, B)} == {""}


def test_disk_that_is_left_has_the_whole_limit(tmp_path: Path) -> None:
    host = Host(tmp_path, disk(A), disk(B))
    host.run(5, {A: (2000.0, 0.0), B: (2000.0, 0.0)})

    host.cgroups.remove_group(B)
    host.run_pass()
    host.run(5, {A: (2000.0, 0.0)})

    assert host.run(10, {A: (2000.0, 0.0)})[A] == pytest.approx(500.0, rel=0.01)


@pytest.mark.parametrize(
    ("block_kib", "iops"),
    [(4, 500.0), (32, 500.0), (64, 250.0), (48, 500 / 1.5), (512, 31.25), (1024, 15.6)],
)
def test_limit_that_counts_by_32_kib_lets_fewer_large_ones_through(
    tmp_path: Path, block_kib: int, iops: float
) -> None:
    counted = group(A, limit=500.0, io_count=IoCount.PER_32_KIB)
    host = Host(tmp_path, counted, group(B))
    size = {"block_bytes": block_kib * KIB}
    host.run(10, {A: (2000.0, 0.0)}, **size)

    assert host.run(20, {A: (2000.0, 0.0)}, **size)[A] == pytest.approx(iops, rel=0.03)


def test_limit_in_plain_ios_counts_no_sizes(tmp_path: Path) -> None:
    host = Host(tmp_path, group(A, limit=500.0), group(B))
    host.run(10, {A: (2000.0, 0.0)}, block_bytes=64 * KIB)

    rates = host.run(10, {A: (2000.0, 0.0)}, block_bytes=64 * KIB)

    assert rates[A] == pytest.approx(500.0, rel=0.01)


def test_limit_that_does_not_hold_is_ineffective_until_it_does(tmp_path: Path) -> None:
    host = Host(tmp_path, group(A, limit=500.0), group(B))

    host.run(2.5, {A: (700.0, 0.0)}, heeds=lambda want, _: want)
    at_first = host.run_pass()[A]
    host.run(4, {A: (700.0, 0.0)}, heeds=lambda want, _: want)
    outcome, reason = host.run_pass()[A]
    host.run(4, {A: (700.0, 0.0)})
    again = host.run_pass()[A]

    assert at_first[0] is Outcome.UNCHANGED
    assert outcome is Outcome.INEFFECTIVE
    assert "700 iops were measured, and it is 500" in reason
    assert again[0] is Outcome.UNCHANGED


def test_short_looks_reach_the_report_and_go_on_over_passes(tmp_path: Path) -> None:
    host = Host(tmp_path, group(A, limit=500.0))
    host.run(2, {A: (400.0, 0.0)})

    # All that 500 a second allow in 100 ms, and what was left of them before; and a sixth of it.
    host.look(A, 60)
    first = host.counters(A)
    host.run(0.5, {A: (10.0, 0.0)})
    host.look(A, 10)
    second = host.counters(A)

    assert (first.short_looks, first.full_looks) == (1, 1)
    assert (second.short_looks, second.full_looks) == (2, 1)


def test_group_without_a_limit_is_not_looked_at(tmp_path: Path) -> None:
    host = Host(tmp_path, group(A, limit=500.0), group(B))
    host.run(2, {A: (0.0, 0.0)})

    host.look(B, 49)

    assert host.counters(B).short_looks is None
    assert host.counters(A).short_looks == 1
