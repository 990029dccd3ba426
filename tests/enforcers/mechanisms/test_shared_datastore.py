"""Two hosts with the real mechanism on one datastore: models, weights and counters are files.

The datastore does 2,000 IOPS, 128 I/Os are outstanding, and the threshold is 20 ms. The kernel
of each host lets through what its model says, by its weights.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enforcers.contract import Allocation, Outcome, PolicyDocument, ResourceSpec
from enforcers.exchange import KEPT_PERIODS, PERIOD_S, HostPart, pooled
from enforcers.following import PERIOD_S as FOLLOWED_S
from enforcers.joint_post import Post
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from tests.enforcers.fake_cgroups import MOUNT, FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.fluid_rates import RateHost, SharedDatastore, Workload
from tests.enforcers.policies import datastore, document, group
from tests.enforcers.rig import start_rig

PARENT = "/machine.slice"
POLL_S = 10.0
DEVICE = frozenset({"8:0"})
UNHELD_IOPS = 1e6
THRESHOLD_MS = 20.0


class Service:
    """What the service answers: the sums over hosts that told something in three periods."""

    def __init__(self) -> None:
        self.is_away = False
        self.now_s = 0.0
        self.heard: dict[str, tuple[float, HostPart]] = {}

    def exchange(self, host: str, post: Post) -> None:
        for letter in post.loads.fetch(0):
            if self.is_away:
                continue
            self.heard[host] = (self.now_s, letter.told)
            kept_s = KEPT_PERIODS * PERIOD_S
            fresh = [part for at, part in self.heard.values() if self.now_s - at < kept_s]
            load = replace(pooled(fresh), threshold_ms=THRESHOLD_MS, is_shared=True)
            post.loads.answer(letter, load)


class KernelHost(RateHost):
    """A host whose kernel is files, and whose agent makes passes and follows."""

    def __init__(
        self,
        folder: Path,
        name: str,
        shares: list[int],
        service: Service,
        *,
        outstanding: float = 8.0,
        spec: ResourceSpec | None = None,
        tracks: bool = False,
    ) -> None:
        super().__init__(name, [Workload(100, outstanding) for _ in shares])
        self.service, self.folder = service, folder
        self.groups = [f"{PARENT}/{name}{number}" for number in range(len(shares))]
        self.cgroups = FakeCgroups(folder / "root", iocost=False)
        for each in self.groups:
            self.cgroups.add_group(each)
        self.config = CgroupIoConfig(
            subtrees=frozenset({PARENT}),
            devices=DEVICE,
            capacity_is_measured=DEVICE,
            track_capacity=DEVICE if tracks else frozenset(),
        )
        items = [group(each, shares=one) for each, one in zip(self.groups, shares, strict=True)]
        self.policy = self._policy(items, spec or datastore())
        self.outcomes: set[Outcome] = set()
        self.now_s = self.passed_s = 0.0
        self.iops = UNHELD_IOPS
        self.show()
        self.start()

    def start(self) -> None:
        """A new agent, which knows what the one before it has written."""
        self.post = Post()
        self.rig = start_rig(
            self.folder,
            FakeTc(),
            host_fs=self.cgroups,
            configs={"cgroup_io": self.config},
            post=self.post,
        )
        self.run_pass()
        self.take_settings()

    @property
    def budget(self) -> float:
        return self.iops

    @property
    def is_on(self) -> bool:
        return "enable=1" in self.cgroups.read(f"{MOUNT}/io.cost.qos")

    def follow(self) -> None:
        self.now_s += FOLLOWED_S
        self.show()
        self.rig.enforcement.follow(clock_s=lambda: self.now_s)
        self.service.exchange(self.name, self.post)
        if self.now_s >= self.passed_s + POLL_S:
            self.passed_s = self.now_s
            self.run_pass()
        self.take_settings()

    def run_pass(self) -> None:
        result = self.rig.enforcement.run(self.policy, previous=None, now_s=self.now_s)
        self.outcomes = {item.outcome for item in result.enforced}

    def show(self) -> None:
        rows = [(int(each.total), int(1e6 * each.waited_s)) for each in self.workloads]
        everybody = (sum(row[0] for row in rows), sum(row[1] for row in rows))
        for name, (ios, waited_us) in zip([*self.groups, PARENT], [*rows, everybody], strict=True):
            wait = f" cost.usage=1 cost.wait={waited_us}" if self.is_on else ""
            line = f"8:0 rbytes=0 wbytes=0 rios={ios} wios=0{wait}\n"
            self.cgroups.put(f"{MOUNT}{name}/io.stat", line)
        done, queued_ms = int(self.served), int(1000 * self.waited)
        stat = f"{done} 0 0 0 0 0 0 0 0 0 {queued_ms} 0 0 0 0 0 0\n"
        self.cgroups.put("/sys/dev/block/8:0/stat", stat)

    def take_settings(self) -> None:
        self.iops = UNHELD_IOPS
        if self.is_on:
            words = self.cgroups.read(f"{MOUNT}/io.cost.model").split()
            self.iops = float(dict(word.split("=") for word in words[1:])["rrandiops"])
        for name, each in zip(self.groups, self.workloads, strict=True):
            words = self.cgroups.text(name, "io.weight").split()
            each.shares = float(words[words.index("8:0") + 1]) if "8:0" in words else 100.0

    @staticmethod
    def _policy(items: list[Allocation], spec: ResourceSpec) -> PolicyDocument:
        return document(*items, resources=(spec,))


class KernelDatastore(SharedDatastore):
    """The hosts' agents count and tell by themselves."""

    def __init__(self, hosts: list[KernelHost], service: Service) -> None:
        super().__init__(list(hosts))
        self.service = service

    def _step(self) -> None:
        self.service.now_s = self.now_s
        super()._step()

    def _exchange(self, host: RateHost) -> None:
        """By the thread of the agent, whose part the test has in `KernelHost.follow`."""


def two(folder: Path, few: list[int], many: list[int], **change: object) -> KernelDatastore:
    service = Service()
    hosts = [
        KernelHost(folder / name, name, shares, service, **change)  # type: ignore[arg-type]  # (of a test)
        for name, shares in (("few", few), ("many", many))
    ]
    # The second one's agent began 1.5 s before.
    for _ in range(3):
        hosts[1].follow()
    return KernelDatastore(hosts, service)


def kernel(datastore: KernelDatastore, place: int) -> KernelHost:
    host = datastore.hosts[place]
    assert isinstance(host, KernelHost)
    return host


def per_workload(datastore: KernelDatastore, over_s: float = 20.0) -> list[float]:
    return [rate for rates in datastore.rates(over_s).values() for rate in rates]


@pytest.fixture
def equal(tmp_path: Path) -> KernelDatastore:
    """Four and twelve equal workloads: no host by itself has anything to divide."""
    return two(tmp_path, [100] * 4, [100] * 12)


def test_equal_workloads_get_the_same_on_whatever_host(equal: KernelDatastore) -> None:
    # A pass comes each ten seconds, and only then is iocost switched on.
    equal.run(POLL_S + 20)

    settled_s = equal.now_s
    rates = per_workload(equal)

    assert rates == pytest.approx([sum(rates) / 16] * 16, rel=0.05)
    assert sum(rates) >= 0.9 * 2000
    assert max(equal.latency_since(settled_s)) <= 1.25 * THRESHOLD_MS
    assert kernel(equal, 0).outcomes <= {Outcome.APPLIED, Outcome.UNCHANGED}


@pytest.mark.parametrize("tracks", [False, True], ids=["untracked", "tracked"])
@pytest.mark.parametrize("stated", [2000.0, 2600.0])
def test_tiers_hold_over_hosts_whatever_each_tracks_by_itself(
    tmp_path: Path, stated: float, tracks: bool
) -> None:
    spec = datastore(capacity=stated)
    shared = two(tmp_path, [400, 200], [200, 100, 100], outstanding=26, spec=spec, tracks=tracks)
    shared.run(30)
    settled_s = shared.now_s

    rates = per_workload(shared, over_s=40.0)

    each = [rate / shares for rate, shares in zip(rates, [400, 200, 200, 100, 100], strict=True)]
    assert each == pytest.approx([sum(rates) / 1000] * 5, rel=0.05)
    assert sum(rates) >= 0.9 * 2000
    assert max(shared.latency_since(settled_s)) <= 1.25 * THRESHOLD_MS


def test_passes_take_the_hosts_part_for_their_own_doing(equal: KernelDatastore) -> None:
    equal.run(100)
    few = kernel(equal, 0)
    before = len(few.cgroups.writes)

    few.run_pass()

    assert few.iops == pytest.approx(500, rel=0.1)
    assert few.cgroups.writes[before:] == []
    assert few.outcomes == {Outcome.UNCHANGED}


def test_iocost_comes_back_as_it_was_found_when_the_policy_ends(equal: KernelDatastore) -> None:
    equal.run(30)
    few = kernel(equal, 0)
    assert few.is_on

    few.rig.enforcement.run(None, previous=None, now_s=few.now_s)

    assert not few.is_on
    assert "ctrl=auto" in few.cgroups.read(f"{MOUNT}/io.cost.model")


def test_without_any_answer_a_host_is_left_as_it_is(equal: KernelDatastore) -> None:
    equal.service.is_away = True
    equal.run(30)

    assert [kernel(equal, place).is_on for place in (0, 1)] == [False, False]


def test_service_that_goes_away_leaves_the_latency_held(equal: KernelDatastore) -> None:
    equal.run(80)
    equal.service.is_away = True
    equal.run(60)
    late_s = equal.now_s
    rates = per_workload(equal)

    assert max(equal.latency_since(late_s)) <= 1.25 * THRESHOLD_MS
    assert rates == pytest.approx([sum(rates) / 16] * 16, rel=0.1)


def test_clock_that_stands_still_for_a_minute_and_goes_on_is_survived(
    equal: KernelDatastore,
) -> None:
    equal.run(60)
    # A host that slept: its agent finds itself a minute later.
    kernel(equal, 0).now_s += 60
    equal.run(20)

    rates = per_workload(equal)
    assert rates == pytest.approx([sum(rates) / 16] * 16, rel=0.05)


@pytest.mark.parametrize("shares", [[100] * 4, [400, 200, 100, 100]], ids=["equal", "tiers"])
def test_agent_that_starts_again_keeps_the_hosts_part_until_it_hears_the_others(
    tmp_path: Path, shares: list[int]
) -> None:
    shared = two(tmp_path, shares, [100] * 12)
    shared.run(80)
    few, started_s = kernel(shared, 0), shared.now_s
    part = few.iops

    few.start()
    at_once = few.iops
    shared.run(2)
    unheard = few.iops
    shared.run(20)
    rates = per_workload(shared)

    assert part < 0.5 * 2000
    assert at_once == pytest.approx(part, rel=0.001)
    assert unheard == pytest.approx(part, rel=0.001)
    assert max(shared.latency_since(started_s)) <= 1.25 * THRESHOLD_MS
    due = [2000 * one / sum([*shares, *[100] * 12]) for one in [*shares, *[100] * 12]]
    assert rates == pytest.approx(due, rel=0.07)


def test_agent_that_ends_and_keeps_the_policy_leaves_the_part_by_shares(tmp_path: Path) -> None:
    shared = two(tmp_path, [100] * 4, [100] * 12)
    shared.run(80)
    few = kernel(shared, 0)
    for workload in few.workloads:
        workload.most_iops = 0.0
    shared.run(20)
    idle = few.iops

    few.rig.enforcement.leave()
    few.take_settings()

    # 4 of 16 workloads, all alike, of 2,000.
    assert idle < 100
    assert few.iops == pytest.approx(500, rel=0.01)


def test_agent_that_starts_again_without_the_service_goes_by_the_policy(
    equal: KernelDatastore,
) -> None:
    equal.run(80)
    few = kernel(equal, 0)
    equal.service.is_away = True

    few.start()
    equal.run((KEPT_PERIODS + 2) * PERIOD_S + POLL_S)

    # Its workloads have equal shares: nothing is to be divided.
    assert not few.is_on
