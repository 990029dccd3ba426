"""Shares on a disk of which the policy states less than it can do, and the agent finds out."""

from __future__ import annotations

import time
from typing import Any

from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.groups import counts, make_groups
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import PLACE, make_disk

INTERVAL_S = 4.0


def run(
    *, capacity_iops: float, stated_iops: float, shares: list[int], seconds: float
) -> dict[str, Any]:
    """IOPS of each group in each interval of 4 s, in the order of the shares."""
    number = make_disk(iops=capacity_iops)
    groups = make_groups(len(shares))
    wishes = [Wish(group=group, shares=own) for group, own in zip(groups, shares, strict=True)]
    intervals = []
    with agent(tracks_capacity=True) as service:
        service.publish(*wishes, capacity_iops=stated_iops)
        service.wait_until_enforced()
        with running(*(Load(group=group, disk=PLACE) for group in groups)):
            before = counts(groups, number)
            ends_s = before.at_s + seconds
            while before.at_s < ends_s:
                time.sleep(INTERVAL_S)
                now = counts(groups, number)
                rates = now.rates(before)
                intervals.append([rates[group] for group in groups])
                before = now
        said = service.outcomes()
    return {"iops": intervals, "outcomes": said}
