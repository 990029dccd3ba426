"""Whatever fails, and wherever the agent is killed: the state is the old or the new one, the
kernel can be put back, and the next agent goes on."""

import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from errno import EBUSY, EINVAL, ENODEV, ENOSPC, errorcode
from pathlib import Path

import pytest

from enforcers.atomic_file import remove_unfinished
from enforcers.clocks import Moment
from enforcers.errors import StateError
from enforcers.lease import begin
from enforcers.ledger import Ledger
from enforcers.policy_store import HeldPolicy, PolicyStore
from enforcers.recovery import recover
from tests.enforcers.fake_tc import Killed
from tests.enforcers.faults import (
    Fault,
    FaultyCgroups,
    FaultyTc,
    Refusals,
    Steps,
    faulty_disk,
)
from tests.enforcers.policies import KEY, NOON, document, group, vnic
from tests.enforcers.rig import Rig, start_rig

pytestmark = pytest.mark.slow

MOMENT = Moment(now=NOON, boot_id="boot-1", boot_s=100.0)
LEASE = begin(NOON + timedelta(minutes=15), MOMENT)
A, B = "/machine.slice/a", "/machine.slice/b"
FOUND = {A: "8:0 rbps=max wbps=max riops=900 wiops=max\n", B: ""}
OLD = HeldPolicy(document=document(vnic(1, 75e6), group(A, limit=500.0)), lease=LEASE)
NEW = HeldPolicy(
    document=document(
        vnic(1, 10e6), vnic(2), group(A, limit=300.0), group(B, limit=200.0), revision=2
    ),
    lease=LEASE,
)


@dataclass(slots=True)
class Host:
    """A kernel and a disk that outlive the agent."""

    folder: Path
    tc: FaultyTc
    cgroups: FaultyCgroups

    def enforce(self, policy: HeldPolicy) -> bool:
        """A new agent finds what was left and enforces a policy; whether all went well."""
        rig = self._rig()
        store = self.store()
        previous = store.enforced.document if store.enforced else None
        is_well = True
        for work in (
            lambda: recover(
                rig.mechanisms, rig.ledger, rig.locks, was_in_force=store.may_have_been_in_force
            ),
            lambda: store.keep_latest(policy),
        ):
            try:
                work()
            except StateError:
                is_well = False
        result = rig.enforcement.run(policy.document, previous=previous, now_s=0.0)
        if not result.has_failed:
            try:
                store.keep_enforced(policy)
            except StateError:
                is_well = False
        rig.locks.close()
        return is_well and not result.has_failed

    def restore(self) -> None:
        rig = self._rig()
        recover(
            rig.mechanisms, rig.ledger, rig.locks, was_in_force=self.store().may_have_been_in_force
        )
        problems = rig.enforcement.run(None, previous=None, now_s=0.0).problems
        rig.locks.close()
        assert problems == ()

    def store(self) -> PolicyStore:
        return PolicyStore(self.folder / "policy.json", key=KEY, moment=MOMENT)

    def ledger(self) -> Ledger:
        return Ledger(self.folder / "ledger.json", boot_id="boot-1")

    def kernel(self) -> tuple[str, ...]:
        """All that the agent may change."""
        limits = [self.cgroups.text(name, "io.max") for name in (A, B)]
        return (self.tc.text("up0"), *limits)

    def set_steps(self, steps: Steps | Refusals | None) -> None:
        self.tc.steps = self.cgroups.steps = steps

    def _rig(self) -> Rig:
        return start_rig(self.folder, self.tc, host_fs=self.cgroups)


def new_host(folder: Path) -> Host:
    folder.mkdir()
    cgroups = FaultyCgroups(folder / "root", iocost=False)
    for name, found in FOUND.items():
        cgroups.add_group(name, io_max=found)
    return Host(folder, FaultyTc("up0", "p1", "p2"), cgroups)


def runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, first: HeldPolicy | None
) -> Iterator[tuple[Host, tuple[str, ...]]]:
    """For each step of enforcing NEW a host where it went wrong, and its kernel at first."""
    at = 0
    while True:
        at += 1
        host = new_host(folder / f"{at}")
        found = host.kernel()
        if first is not None:
            assert host.enforce(first)
        steps = Steps(fault, at)
        host.set_steps(steps)
        with faulty_disk(monkeypatch, steps), suppress(Killed):
            host.enforce(NEW)
        host.set_steps(None)
        if not steps.was_reached:
            # Fewer would mean that the steps are no longer seen.
            assert at > 30
            return
        yield host, found


@pytest.fixture
def enforced(tmp_path: Path) -> tuple[str, ...]:
    """The kernel once NEW is in force."""
    host = new_host(tmp_path / "whole")
    assert host.enforce(NEW)
    return host.kernel()[1:]


@pytest.mark.parametrize("first", [None, OLD], ids=["the first policy", "a further one"])
@pytest.mark.parametrize("fault", Fault, ids=str)
def test_state_is_the_old_or_the_new_one_and_the_kernel_can_be_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, first: HeldPolicy | None
) -> None:
    for host, found in runs(tmp_path, monkeypatch, fault, first):
        latest = host.store().latest
        lost = host.ledger().lost
        host.restore()

        assert latest in (first, NEW)
        assert lost is None
        assert host.kernel() == found
        assert host.ledger().entries() == ()


@pytest.mark.parametrize("fault", [Fault.FULL_DISK, Fault.KILL_HALFWAY], ids=str)
def test_next_agent_goes_on_wherever_the_last_one_ended(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    enforced: tuple[str, ...],
    fault: Fault,
) -> None:
    for host, found in runs(tmp_path, monkeypatch, fault, OLD):
        is_well = host.enforce(NEW)
        limits, tree = host.kernel()[1:], host.kernel()[0]
        host.restore()

        assert is_well
        assert limits == enforced
        assert "rate 10Mbit" in tree
        assert host.kernel() == found


def by_device(host: Host) -> dict[str, object]:
    """What the kernel has on each device, without the numbers that it gives filters."""
    tree, *limits = host.kernel()
    return {"up0": re.sub(r"fh \S+|order \d+", "", tree), "8:0": limits}


@pytest.mark.parametrize("first", [None, OLD], ids=["the first policy", "a further one"])
@pytest.mark.parametrize("number", [EBUSY, EINVAL, ENOSPC, ENODEV], ids=errorcode.get)
def test_device_is_as_before_and_the_other_as_wanted_whichever_change_the_kernel_refuses(
    tmp_path: Path, number: int, first: HeldPolicy | None
) -> None:
    def host_before(name: str) -> Host:
        host = new_host(tmp_path / name)
        assert first is None or host.enforce(first)
        return host

    whole = host_before("whole")
    assert whole.enforce(NEW)
    wanted = by_device(whole)
    refused: set[str] = set()
    for at in itertools.count(1):
        host = host_before(f"{at}")
        before = by_device(host)
        refusals = Refusals(number, at)
        host.set_steps(refusals)
        is_well = host.enforce(NEW)
        host.set_steps(None)
        if not refusals.was_reached:
            break
        after = by_device(host)
        (device,) = [name for name in wanted if after[name] != wanted[name]]
        refused.add(device)

        assert not is_well
        assert after[device] == before[device]
        assert host.enforce(NEW)
        assert by_device(host) == wanted

    assert refused == {"up0", "8:0"}


def test_what_a_killed_agent_had_begun_to_write_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = 0
    for host, _ in runs(tmp_path, monkeypatch, Fault.KILL_HALFWAY, OLD):
        left += len(list(host.folder.glob(".*")))

        remove_unfinished(host.folder)

        assert list(host.folder.glob(".*")) == []
        assert host.store().latest is not None
    assert left
