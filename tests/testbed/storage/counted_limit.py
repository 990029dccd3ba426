"""A limit over two disks of one workload, or one that counts by size, which the agent enforces."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from enforcers.contract import IoCount, LimitScope
from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.groups import counts, make_groups
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import PLACE, make_disk


def run(
    *,
    capacity_iops: float,
    limit_iops: float,
    cases: list[list[dict[str, Any]]],
    is_sum: bool = False,
    is_sized: bool = False,
    warm_s: float = 4.0,
    seconds: float = 10.0,
) -> dict[str, Any]:
    """IOPS of each group in each case, which has for each group what its load is.

    `is_sum`: the groups are the disks of one workload, and the limit is that of all. `is_sized`:
    it counts one I/O per 32 KiB.
    """
    number = make_disk(iops=capacity_iops)
    groups = make_groups(len(cases[0]))
    wishes = [
        Wish(
            group=group,
            workload="db",
            limit=limit_iops,
            limit_scope=LimitScope.POOLED if is_sum else LimitScope.PER_VDISK,
            io_count=IoCount.PER_32_KIB if is_sized else IoCount.PLAIN,
        )
        for group in groups
    ]
    with agent() as service:
        service.publish(*wishes, capacity_iops=capacity_iops)
        service.wait_until_enforced()
        rates = [_measured(groups, number, case, warm_s, seconds) for case in cases]
        said = service.outcomes()
    return {"iops": rates, "outcomes": {"vm1": said["db"]}}


def _measured(
    groups: Sequence[str],
    number: str,
    case: Sequence[dict[str, Any]],
    warm_s: float,
    seconds: float,
) -> list[float]:
    loads = [Load(group=group, disk=PLACE, **own) for group, own in zip(groups, case, strict=True)]
    with running(*loads):
        time.sleep(warm_s)
        before = counts(groups, number)
        time.sleep(seconds)
        rates = counts(groups, number).rates(before)
    return [rates[group] for group in groups]
