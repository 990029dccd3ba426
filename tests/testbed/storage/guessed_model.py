"""What the kernel does with a disk when iocost is switched on and nobody gave it a model.

It takes a model by what it thinks the disk is: see ioc_autop_idx in block/blk-iocost.c.
"""

from __future__ import annotations

import time
from typing import Any

from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.groups import ROOT, counts, make_groups
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import PLACE, QUEUE, make_disk


def run(
    *, capacity_iops: float, shares: list[int], is_rotational: bool, seconds: float = 6.0
) -> dict[str, Any]:
    """IOPS of all groups without iocost, and of each with it; the model that the kernel took.

    A virtual machine's disk says that it is rotational, whatever is behind it. The agent is told
    to leave iocost as it is, and has shares to enforce.
    """
    number = make_disk(iops=capacity_iops)
    (QUEUE / "rotational").write_text(str(int(is_rotational)))
    groups = make_groups(len(shares))
    wishes = [Wish(group=group, shares=own) for group, own in zip(groups, shares, strict=True)]
    try:
        with running(*(Load(group=group, disk=PLACE) for group in groups)):
            without = _rates(groups, number, seconds)
            (ROOT / "io.cost.qos").write_text(f"{number} enable=1")
            with agent(keeps_iocost=True) as service:
                service.publish(*wishes, capacity_iops=capacity_iops)
                service.wait_until_enforced()
                guessed = _rates(groups, number, seconds)
                said = service.outcomes()
            model = (ROOT / "io.cost.model").read_text()
    finally:
        (ROOT / "io.cost.qos").write_text(f"{number} enable=0")
    return {
        "without_iops": sum(without),
        "iops": guessed,
        "model": _of(model, number),
        "outcomes": said,
    }


def _rates(groups: list[str], number: str, seconds: float) -> list[float]:
    time.sleep(3)
    before = counts(groups, number)
    time.sleep(seconds)
    return list(counts(groups, number).rates(before).values())


def _of(text: str, number: str) -> dict[str, str]:
    line = next(line for line in text.splitlines() if line.startswith(f"{number} "))
    return dict(word.split("=", 1) for word in line.split()[1:])
