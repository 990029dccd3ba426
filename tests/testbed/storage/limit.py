"""A limit that the agent enforces, and what a group of several workers gets under it."""

from __future__ import annotations

import time
from typing import Any

from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.groups import counts, folder, make_groups
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import PLACE, make_disk


def run(
    *,
    capacity_iops: float,
    limit_iops: float,
    cases: list[tuple[float, int]],
    warm_s: float = 4.0,
    seconds: float = 10.0,
) -> dict[str, Any]:
    """IOPS in each case, which is a ratio of reads and a number of workers.

    `found` and `left` are the group's io.max before the agent came and after it went.
    """
    number = make_disk(iops=capacity_iops)
    (group,) = make_groups(1)
    control = folder(group) / "io.max"
    found, measured = control.read_text(), []
    with agent() as service:
        service.publish(Wish(group=group, limit=limit_iops), capacity_iops=capacity_iops)
        service.wait_until_enforced()
        for read_ratio, workers in cases:
            load = Load(group=group, disk=PLACE, workers=workers, read_ratio=read_ratio)
            with running(load):
                time.sleep(warm_s)
                before = counts([group], number)
                time.sleep(seconds)
                measured.append(counts([group], number).rates(before)[group])
        said = service.outcomes()
    return {"iops": measured, "outcomes": said, "found": found, "left": control.read_text()}
