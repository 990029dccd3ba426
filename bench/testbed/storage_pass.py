"""CPU of the agent's look between two passes on storage, on a tree of files with 200 groups.

The tree stands for control groups, as in tests of the agent: this needs no root and no kernel with
an io controller. What the kernel does to fill real files comes on top.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from enforcers.host_fs import HostFs
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from tests.enforcers.fake_cgroups import MOUNT, FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import datastore, document, group
from tests.enforcers.rig import Rig, start_rig

PART = "storage-pass"
WORKLOADS = 200
LOOKS = 21
IOPS = 20_000.0
_PARENT = "/machine.slice"
_NAMES = [f"{_PARENT}/vm{number}" for number in range(WORKLOADS)]
_PERIOD_S = 0.5
_ASKED = Asked(
    what="agent with 200 workloads, CPU of a pass on storage, on a tree of files",
    unit="ms",
    word="<=",
    bound=15,
)


class _Tree(FakeCgroups):
    """Once a policy is in force a write is nothing but a write, as to a real control file."""

    is_followed = False

    def write(self, host_path: str, text: str) -> None:
        if self.is_followed:
            self.writes.append((host_path, text))
            HostFs.write(self, host_path, text)
        else:
            super().write(host_path, text)


def storage_pass_rows() -> list[Row]:
    """One row: each group has a reservation, and in turn another half of them waits."""
    with TemporaryDirectory(prefix="sluice-testbed-") as folder:
        tree, rig = _enforced(Path(folder))
        before = len(tree.writes)
        times_ms = [_look_ms(tree, rig, number) for number in range(1, LOOKS + 1)]
        written = (len(tree.writes) - before) / LOOKS
    note = f"tree of files; weights written in a pass: {written:.0f}; most {max(times_ms):.1f}"
    return [replace(_ASKED.row(statistics.median(times_ms), note), part=PART)]


def _enforced(folder: Path) -> tuple[_Tree, Rig]:
    tree = _Tree(folder / "root", iocost=False)
    for name in _NAMES:
        tree.add_group(name)
    devices = frozenset({"8:0"})
    config = CgroupIoConfig(
        subtrees=frozenset({_PARENT}), devices=devices, capacity_is_measured=devices
    )
    rig = start_rig(folder, FakeTc(), host_fs=tree, configs={"cgroup_io": config})
    _show(tree, 0)
    policy = document(
        *(group(name, reservation=IOPS / 2 / WORKLOADS) for name in _NAMES),
        resources=(datastore(capacity=IOPS),),
    )
    result = rig.enforcement.run(policy, previous=None, now_s=0.0)
    if not result.is_in_force:
        raise RuntimeError(f"not enforced: {result.problems or result.enforced[0].reason}")
    # The first look of all only begins to count.
    rig.enforcement.follow(clock_s=lambda: 0.0)
    tree.is_followed = True
    return tree, rig


def _look_ms(tree: _Tree, rig: Rig, number: int) -> float:
    _show(tree, number)
    began_s = time.process_time()
    if not rig.enforcement.follow(clock_s=lambda: number * _PERIOD_S):
        raise RuntimeError("the look failed")
    return (time.process_time() - began_s) * 1e3


def _show(tree: FakeCgroups, number: int) -> None:
    """What is counted until a look: in turn the even and the odd wait, and the others do less."""
    rows = [(_ios(number, place % 2), _waited_us(number, place % 2)) for place in range(WORKLOADS)]
    for name, row in zip(_NAMES, rows, strict=True):
        _put(tree, name, *row)
    ios, waited_us = zip(*rows, strict=True)
    _put(tree, _PARENT, sum(ios), sum(waited_us))


def _waited_us(number: int, side: int) -> int:
    return (number + side) // 2 * 500_000


def _ios(number: int, side: int) -> int:
    turns = (number + side) // 2
    return turns * 80 + (number - turns) * 20


def _put(tree: FakeCgroups, name: str, ios: int, waited_us: int) -> None:
    line = f"8:0 rbytes=0 wbytes=0 rios={ios} wios=0 cost.usage=1 cost.wait={waited_us}\n"
    tree.put(f"{MOUNT}{name}/io.stat", line)
