"""A host that takes its policy from the real service: the agent as `sluice enroll` sets it up."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from tests.testbed.guest import HOST as MACHINE
from tests.testbed.storage.groups import ROOT, folder, make_groups
from tests.testbed.storage.null_disk import make_disk

ENFORCED_DEADLINE_S = 90.0
"""In the machine's time, on which programs of a busy machine wait."""


def run(
    *, configuration: str, service_port: int, capacity_iops: float, parent: str, groups: int
) -> dict[str, Any]:
    """What the kernel has once each group has a weight: the weights, and iocost's model.

    The agent goes on, so that the service has its reports.
    """
    number = make_disk(iops=capacity_iops)
    names = make_groups(groups, parent=parent)
    _reach_the_service(service_port)
    subprocess.Popen([sys.executable, "-m", "enforcers", "run", "--config", configuration])
    ends_s = time.monotonic() + ENFORCED_DEADLINE_S
    while None in (weights := [_weight(name, number) for name in names]):
        if time.monotonic() > ends_s:
            raise TimeoutError("the agent enforces nothing")
        time.sleep(0.2)
    model = _line((ROOT / "io.cost.model").read_text(), number)
    return {"weights": dict(zip(names, weights, strict=True)), "model": model}


def _reach_the_service(port: int) -> None:
    """Sluice answers on the guest's own loopback, as through a tunnel."""
    for words in ("link set eth0 up", "addr add 10.0.2.15/24 dev eth0"):
        subprocess.run(["busybox", "ip", *words.split()], check=True)
    netcat = ["busybox", "nc"]
    subprocess.Popen([*netcat, "-ll", "-p", str(port), "-e", *netcat, MACHINE, str(port)])


def _weight(name: str, number: str) -> int | None:
    """The weight of a group on the disk; None where it has none of its own."""
    line = _line((folder(name) / "io.weight").read_text(), number)
    return None if line is None else int(line)


def _line(text: str, number: str) -> str | None:
    """What a control file says of a device."""
    for line in text.splitlines():
        device, _, words = line.partition(" ")
        if device == number:
            return words
    return None
