"""What a host tells of a datastore, and what it makes of the answer, between two passes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from enforcers.contract import PolicyDocument, Unit
from enforcers.exchange import DatastoreLoad, HostPart
from enforcers.following import PERIOD_S as FOLLOWED_S
from enforcers.joint_post import Post
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from tests.enforcers.fake_cgroups import MOUNT, FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import datastore, document, group
from tests.enforcers.rig import start_rig

PARENT = "/machine.slice"
FIRST, SECOND = f"{PARENT}/vm1", f"{PARENT}/vm2"
NAMES = (FIRST, SECOND)
UNEQUAL = document(group(FIRST, shares=300, reservation=200.0), group(SECOND, shares=100))
EQUAL = document(group(FIRST), group(SECOND))
DEVICE = frozenset({"8:0"})
LOAD = DatastoreLoad(
    latency_ms=5.0,
    outstanding_io=10.0,
    total_active_shares=1600.0,
    met_io=0.0,
    hosts=2,
    done_iops=1500.0,
    total_shares=1600.0,
    threshold_ms=20.0,
    is_shared=True,
)
ALONE = replace(LOAD, hosts=1, is_shared=False)


class Host:
    """Two groups on 8:0, whose counters a test moves on by half seconds."""

    def __init__(
        self,
        folder: Path,
        policy: PolicyDocument,
        *,
        measured: frozenset[str] = DEVICE,
        tracks: bool = False,
    ) -> None:
        self.cgroups = FakeCgroups(folder / "root", iocost=False)
        for name in NAMES:
            self.cgroups.add_group(name)
        config = CgroupIoConfig(
            subtrees=frozenset({PARENT}),
            devices=DEVICE,
            capacity_is_measured=measured,
            track_capacity=DEVICE if tracks else frozenset(),
        )
        self.post, self.policy = Post(), policy
        self.rig = start_rig(
            folder,
            FakeTc(),
            host_fs=self.cgroups,
            configs={"cgroup_io": config},
            post=self.post,
        )
        self.now_s = 0.0
        self._ios = dict.fromkeys(NAMES, 0)
        self._waited_us = dict.fromkeys(NAMES, 0)
        self._disk_ios = self._disk_ms = 0
        self.told: list[HostPart] = []
        self._show()
        self.run_pass()

    def run_pass(self) -> None:
        self.rig.enforcement.run(self.policy, previous=None, now_s=self.now_s)

    def period(
        self,
        *rates: int,
        waits: tuple[str, ...] = (),
        queue: float = 2.0,
        beside: int = 0,
        answer: DatastoreLoad | None = None,
        seconds: float = 4.0,
    ) -> None:
        """A while in which the groups did so much a second, and what is told is answered."""
        for _ in range(round(seconds / FOLLOWED_S)):
            self.now_s += FOLLOWED_S
            for name, rate in zip(NAMES, rates, strict=True):
                self._ios[name] += round(rate * FOLLOWED_S)
                self._waited_us[name] += round(1e6 * FOLLOWED_S) if name in waits else 0
            self._disk_ios += round((sum(rates) + beside) * FOLLOWED_S)
            self._disk_ms += round(1000 * queue * FOLLOWED_S)
            self._show()
            self.rig.enforcement.follow(clock_s=lambda: self.now_s)
            for letter in self.post.loads.fetch(0):
                self.told.append(letter.told)
                if answer is not None:
                    self.post.loads.answer(letter, answer)

    @property
    def model_iops(self) -> int | None:
        """None while iocost is off."""
        if "enable=1" not in self.cgroups.read(f"{MOUNT}/io.cost.qos"):
            return None
        words = self.cgroups.read(f"{MOUNT}/io.cost.model").split()
        return int(dict(word.split("=") for word in words[1:])["rrandiops"])

    def _show(self) -> None:
        rows = {name: (self._ios[name], self._waited_us[name]) for name in NAMES}
        everybody = (sum(self._ios.values()), sum(self._waited_us.values()))
        for name, (ios, waited_us) in {**rows, PARENT: everybody}.items():
            line = f"8:0 rbytes=0 wbytes=0 rios={ios} wios=0 cost.usage=1 cost.wait={waited_us}\n"
            self.cgroups.put(f"{MOUNT}{name}/io.stat", line)
        stat = f"{self._disk_ios} 0 0 0 0 0 0 0 0 0 {self._disk_ms} 0 0 0 0 0 0\n"
        self.cgroups.put("/sys/dev/block/8:0/stat", stat)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path, UNEQUAL)


def test_host_tells_what_its_disk_and_its_groups_counted(host: Host) -> None:
    host.period(600, 200, waits=(FIRST,), queue=8.0, beside=100, answer=LOAD, seconds=9.0)

    told = host.told[-1]
    # 8 outstanding at 900 a second are 8.9 ms.
    assert told.mean_device_latency_ms == pytest.approx(8000 / 900, rel=0.01)
    assert (told.done_iops, told.outstanding_io) == pytest.approx((900, 8), rel=0.01)
    assert (told.shares, told.reserved_iops) == (400, 200)
    # It has 1.25 for each share: the first wants more, and 200 are more than the second's 125.
    assert told.active_shares == 400
    assert told.met_iops == pytest.approx(100, rel=0.01)


def test_it_tells_each_four_seconds(host: Host) -> None:
    host.period(600, 200, answer=LOAD, seconds=40.0)

    assert 9 <= len(host.told) <= 10


def test_datastore_that_nobody_else_uses_is_told_of_once_a_minute(host: Host) -> None:
    host.period(600, 200, answer=ALONE, seconds=190.0)

    assert 3 <= len(host.told) <= 5


def test_datastore_that_somebody_joins_is_told_of_each_four_seconds(host: Host) -> None:
    host.period(600, 200, answer=ALONE, seconds=10.0)
    host.period(600, 200, answer=replace(ALONE, is_shared=True), seconds=60.0)
    before = len(host.told)

    host.period(600, 200, answer=LOAD, seconds=20.0)

    assert len(host.told) - before == 5


@pytest.mark.parametrize(
    "answer",
    [None, ALONE, replace(LOAD, hosts=1), replace(LOAD, threshold_ms=None)],
    ids=["no answer", "alone", "nobody else tells", "no threshold"],
)
def test_device_stays_as_it_is_where_nothing_is_divided(
    host: Host, answer: DatastoreLoad | None
) -> None:
    before = len(host.cgroups.writes)
    host.period(1500, 500, waits=NAMES, answer=answer, seconds=30.0)

    assert host.model_iops == 2000
    models = [text for path, text in host.cgroups.writes[before:] if "cost" in path]
    assert models == []


def test_model_becomes_the_hosts_part(host: Host) -> None:
    host.period(1500, 500, waits=NAMES, answer=LOAD, seconds=10.0)

    # 400 of 1,600 shares of 2,000.
    assert host.model_iops == 500


def test_part_is_lowered_for_a_moment_by_what_is_late(host: Host) -> None:
    host.period(1500, 500, waits=NAMES, answer=LOAD, seconds=10.0)

    host.period(380, 120, waits=NAMES, queue=20.0, seconds=0.5)
    late = host.model_iops
    host.period(380, 120, waits=NAMES, queue=1.0, seconds=0.5)

    # 20 at 500 a second are 40 ms, 30 above the calm half of 20 ms: 6 % of half a second.
    assert late == pytest.approx(470, abs=2)
    assert host.model_iops == 500


def test_what_the_host_tracks_by_itself_does_not_fight_with_its_part(tmp_path: Path) -> None:
    host = Host(tmp_path, UNEQUAL, tracks=True)
    host.period(1500, 500, waits=NAMES, answer=LOAD, seconds=10.0)

    # Requests pile up, and nobody waits: by itself it would go to 92 % of 1,200 within 3 s.
    host.period(900, 300, queue=8.0, answer=LOAD, seconds=3.5)

    assert host.model_iops == 500


def test_lost_grip_is_still_seen_where_the_device_is_tracked(tmp_path: Path) -> None:
    host = Host(tmp_path, UNEQUAL, tracks=True)
    host.period(1500, 500, waits=NAMES, answer=LOAD, seconds=10.0)

    host.period(900, 300, queue=40.0, answer=LOAD, seconds=14.0)
    result = host.rig.enforcement.run(host.policy, previous=None, now_s=host.now_s)

    assert any("shares have no effect" in item.reason for item in result.enforced)


def test_iocost_comes_on_for_equal_shares_once_the_datastore_is_divided(tmp_path: Path) -> None:
    host = Host(tmp_path, EQUAL)
    host.period(1500, 500, queue=40.0, answer=replace(LOAD, hosts=1), seconds=10.0)
    host.run_pass()
    alone = host.model_iops

    host.period(1500, 500, queue=40.0, answer=LOAD, seconds=10.0)
    host.run_pass()
    host.period(300, 100, waits=NAMES, queue=1.0, answer=LOAD, seconds=2.0)

    assert alone is None
    # 200 of 1,600 shares of 2,000.
    assert host.model_iops == 250


def test_workloads_of_a_late_datastore_want_more_though_iocost_holds_nobody(
    tmp_path: Path,
) -> None:
    host = Host(tmp_path, EQUAL)

    host.period(300, 0, queue=30.0, answer=LOAD, seconds=13.0)

    # 30 at 300 a second are 100 ms; the second does nothing.
    assert (host.told[-1].active_shares, host.told[-1].met_iops) == (100, 0)


def test_threshold_that_goes_away_gives_the_capacity_back(host: Host) -> None:
    host.period(1500, 500, waits=NAMES, answer=LOAD, seconds=10.0)

    host.period(380, 120, waits=NAMES, answer=replace(LOAD, threshold_ms=None), seconds=10.0)

    assert host.model_iops == 2000


def test_latency_that_no_holding_back_mends_is_told_once(
    host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    late = replace(LOAD, latency_ms=50.0, done_iops=100.0, capacity_iops=500.0)

    host.period(100, 0, waits=NAMES, queue=0.5, answer=late, seconds=40.0)

    told = [one for one in caplog.records if one.message.startswith("datastore late")]
    assert len(told) == 1
    # A quarter of 2,000 is divided: the reservation of 200, and 100 of 1,600 shares.
    assert host.model_iops == 231


def test_policy_with_another_capacity_begins_anew(host: Host) -> None:
    host.period(1500, 500, waits=NAMES, answer=LOAD, seconds=10.0)
    items = (group(FIRST, shares=300), group(SECOND, shares=100))
    host.policy = document(*items, resources=(datastore(capacity=1000.0),), revision=2)
    host.run_pass()
    host.told.clear()

    host.period(700, 300, waits=NAMES, answer=replace(LOAD, hosts=1), seconds=10.0)

    assert host.model_iops == 1000
    assert host.told[0].capacity_iops is None


@pytest.mark.parametrize("kind", ["not measured", "in bytes", "no iocost"])
def test_datastore_that_the_host_cannot_be_held_to_is_not_told_of(
    tmp_path: Path, kind: str
) -> None:
    spec = datastore(unit=Unit.BYTES_PER_S) if kind == "in bytes" else datastore()
    measured = frozenset[str]() if kind == "not measured" else DEVICE
    policy = document(group(FIRST, shares=300), group(SECOND), resources=(spec,))
    host = Host(tmp_path, policy, measured=measured)
    if kind == "no iocost":
        shutil.rmtree(host.cgroups.root / "sys/dev/block/8:0/mq")
        host.run_pass()

    host.period(1500, 500, answer=LOAD, seconds=10.0)

    assert host.told == []


def test_counters_that_begin_anew_are_not_told_of(host: Host) -> None:
    host.period(600, 200, answer=LOAD, seconds=5.0)
    before = len(host.told)
    host._disk_ios = host._disk_ms = 0

    host.period(600, 200, answer=LOAD, seconds=12.0)

    told = [part.done_iops for part in host.told[before:]]
    assert told
    assert told == pytest.approx([800] * len(told), rel=0.01)
