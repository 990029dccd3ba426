"""A host that takes its policy from the real service: the agent as `sluice enroll` sets it up.

Its groups read all the time, from before the agent's start to the guest's end. A step is one of
`begin`, `count`, `switch_iocost_off` and `kill_agent`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.testbed.guest import HOST as MACHINE
from tests.testbed.storage.groups import ROOT, Counts, folder, make_groups
from tests.testbed.storage.load import Load, Tally, keep_busy, start_counted
from tests.testbed.storage.null_disk import PLACE, make_disk

ENFORCED_DEADLINE_S = 120.0
"""In the guest's time, in which programs of the machine answer."""
WARM_S = 2.0


@dataclass(slots=True, kw_only=True)
class _Present:
    """What runs in this guest."""

    number: str = ""
    readers: Mapping[str, Tally] = field(default_factory=dict)
    agent: subprocess.Popen[bytes] | None = None


_present = _Present()


def run(*, step: str, **arguments: Any) -> Any:
    """What the step answers."""
    steps = {
        "begin": _begin,
        "count": _count,
        "switch_iocost_off": _switch_iocost_off,
        "kill_agent": _kill_agent,
    }
    return steps[step](**arguments)


def _begin(
    *,
    configuration: str,
    service_port: int,
    capacity_iops: float,
    parent: str,
    groups: int,
    seconds: float,
) -> dict[str, Any]:
    """The groups' IOPS of so many seconds without an agent; then what it made of the kernel."""
    _present.number = make_disk(iops=capacity_iops)
    names = make_groups(groups, parent=parent)
    _reach_the_service(service_port)
    # No time runs off while the agent waits for the service.
    keep_busy()
    _present.readers = {name: start_counted(Load(group=name, disk=PLACE)) for name in names}
    time.sleep(WARM_S)
    before = _count(seconds=seconds)
    argv = [sys.executable, "-m", "enforcers", "run", "--config", configuration]
    _present.agent = subprocess.Popen(argv)
    ends_s = time.monotonic() + ENFORCED_DEADLINE_S
    while None in (weights := [_own("io.weight", name) for name in names]):
        if time.monotonic() > ends_s:
            raise TimeoutError("the agent enforces nothing")
        time.sleep(0.2)
    limits = {name: _own("io.max", name) for name in names}
    return {
        "before": before,
        "weights": dict(zip(names, weights, strict=True)),
        "limits": {name: said for name, said in limits.items() if said is not None},
        "model": _line((ROOT / "io.cost.model").read_text(), _present.number),
    }


def _count(*, seconds: float) -> dict[str, float]:
    """IOPS of each group, by what its own reader saw completed."""
    before = _completed(_present.readers)
    time.sleep(seconds)
    return _completed(_present.readers).rates(before)


def _switch_iocost_off() -> str:
    """As by hand; what the control file says right after."""
    control = ROOT / "io.cost.qos"
    control.write_text(f"{_present.number} enable=0")
    return _line(control.read_text(), _present.number) or ""


def _kill_agent() -> None:
    assert _present.agent is not None
    _present.agent.kill()
    _present.agent.wait()


def _completed(readers: Mapping[str, Tally]) -> Counts:
    ios = {name: tally.ended - tally.failed for name, tally in readers.items()}
    return Counts(at_s=time.monotonic(), ios=ios)


def _reach_the_service(port: int) -> None:
    """Sluice answers on the guest's own loopback, as through a tunnel."""
    for words in ("link set eth0 up", "addr add 10.0.2.15/24 dev eth0"):
        subprocess.run(["busybox", "ip", *words.split()], check=True)
    netcat = ["busybox", "nc"]
    subprocess.Popen([*netcat, "-ll", "-p", str(port), "-e", *netcat, MACHINE, str(port)])


def _own(control: str, name: str) -> str | None:
    """What a group has of its own on the disk; None where it has nothing."""
    return _line((folder(name) / control).read_text(), _present.number)


def _line(text: str, number: str) -> str | None:
    """What a control file says of a device."""
    for line in text.splitlines():
        device, _, words = line.partition(" ")
        if device == number:
            return words
    return None
