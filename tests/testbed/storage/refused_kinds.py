"""A disk for which the kernel has no shares, under the agent with shares 3:1 and a limit."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.disk_kinds import KINDS
from tests.testbed.storage.groups import ROOT, counts, folder, make_groups
from tests.testbed.storage.load import Load, running

_IOCOST = ("io.cost.qos", "io.cost.model")


def run(*, kind: str, modules: str, limit_iops: float, seconds: float = 10.0) -> dict[str, Any]:
    """The outcome of each group, the limited one's IOPS, and io.cost.* before and meanwhile."""
    disk = KINDS[kind](Path(modules))
    number = Path("/sys/block", disk, "dev").read_text().strip()
    first, second = make_groups(2)
    found = _iocost()
    with agent(device=disk) as service:
        service.publish(
            Wish(group=first, limit=limit_iops, shares=300), Wish(group=second), capacity_iops=1000
        )
        service.wait_until_enforced()
        with running(Load(group=first, disk=Path("/dev") / disk)):
            time.sleep(4)
            before = counts([first], number)
            time.sleep(seconds)
            iops = counts([first], number).rates(before)[first]
        said, meanwhile = service.outcomes(), _iocost()
    return {
        "iops": iops,
        "number": number,
        "outcomes": said,
        "iocost": [found, meanwhile],
        "left": (folder(first) / "io.max").read_text(),
    }


def _iocost() -> dict[str, str]:
    return {name: (ROOT / name).read_text() for name in _IOCOST}
