"""A limit that is no multiple of 10, by the kernel alone and by the agent."""

from __future__ import annotations

import time

from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.groups import counts, folder, make_groups
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import PLACE, make_disk


def run(
    *, capacity_iops: float, limits_iops: list[int], warm_s: float = 4.0, seconds: float = 10.0
) -> dict[str, list[float]]:
    """IOPS of reads under each limit, by whom it is set."""
    number = make_disk(iops=capacity_iops)
    (group,) = make_groups(1)
    load = Load(group=group, disk=PLACE)

    def measured() -> float:
        with running(load):
            time.sleep(warm_s)
            before = counts([group], number)
            time.sleep(seconds)
            return counts([group], number).rates(before)[group]

    control, by_kernel, by_agent = folder(group) / "io.max", [], []
    for limit in limits_iops:
        control.write_text(f"{number} riops={limit} wiops={limit}")
        by_kernel.append(measured())
    control.write_text(f"{number} riops=max wiops=max")
    with agent() as service:
        for limit in limits_iops:
            service.publish(Wish(group=group, limit=limit), capacity_iops=capacity_iops)
            service.wait_until_enforced()
            by_agent.append(measured())
    return {"kernel": by_kernel, "agent": by_agent}
