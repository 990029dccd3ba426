"""A pass over control files of a real kernel, of which one system call after the other fails."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from enforcers.contract import PolicyDocument
from enforcers.host_fs import HostFs
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import datastore, document, group
from tests.enforcers.rig import Rig, start_rig
from tests.testbed.failing_pass import Host, Kernel, failing_pass, other_calls
from tests.testbed.storage.groups import ROOT, folder, make_groups
from tests.testbed.storage.null_disk import make_disk

_IOCOST = ("io.cost.qos", "io.cost.model")


def run(*, call: str, fault: str) -> dict[str, Any]:
    """Of each such call, from the first to the last, what was there after it went wrong.

    Both policies have limits and unequal shares, so that io.max, io.weight and io.cost.* differ.
    """
    number = make_disk(iops=2000)
    groups = make_groups(2)
    old = _policy(number, groups, revision=1, limits=(500.0, 400.0), shares=300, capacity=2000.0)
    new = _policy(number, groups, revision=2, limits=(300.0, 200.0), shares=200, capacity=1900.0)
    found: list[dict[str, Any]] = []
    others = other_calls(_host(number, groups), old)
    while True:
        host = _host(number, groups)
        one = failing_pass(host, old, new, call=call, fault=fault, at=len(found) + 1)
        if one is None:
            return {"calls": found, "other_calls": others}
        found.append(one)


def _policy(
    number: str,
    groups: list[str],
    *,
    revision: int,
    limits: tuple[float, float],
    shares: int,
    capacity: float,
) -> PolicyDocument:
    first, second = groups
    return document(
        group(first, limit=limits[0], shares=shares),
        group(second, limit=limits[1]),
        revision=revision,
        resources=(datastore(device=number, capacity=capacity),),
    )


def _host(number: str, groups: list[str]) -> Host:
    state = Path(mkdtemp(prefix="agent-"))
    devices = frozenset({number})
    config = CgroupIoConfig(
        subtrees=frozenset({"/machine.slice"}), devices=devices, capacity_is_measured=devices
    )

    def start() -> Rig:
        return start_rig(state, FakeTc(), host_fs=HostFs(), configs={"cgroup_io": config})

    return Host(state=state, start=start, kernel=lambda: _kernel(number, groups))


def _kernel(number: str, groups: list[str]) -> Kernel:
    """What each control file says of the disk; of iocost that is off nothing."""
    shown = {name: _line(ROOT / name, number) for name in _IOCOST}
    if "enable=1" not in shown["io.cost.qos"]:
        shown = dict.fromkeys(shown, "")
    for name in groups:
        for control in ("io.max", "io.weight"):
            shown[f"{name} {control}"] = _line(folder(name) / control, number)
    return shown


def _line(place: Path, number: str) -> str:
    lines = place.read_text().splitlines()
    return next((line for line in lines if line.startswith(f"{number} ")), "")
