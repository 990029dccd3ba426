"""Shares on a disk of which the policy states more than it can do, and nobody corrects it."""

from __future__ import annotations

import time
from typing import Any

from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.groups import counts, make_groups
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import PLACE, make_disk


def run(
    *, capacity_iops: float, stated_iops: float, shares: list[int], seconds: float
) -> dict[str, Any]:
    """IOPS of each group in the last 4 s, and what the agent says of it then.

    After so many seconds without a break of all groups, and then of the first alone.
    """
    number = make_disk(iops=capacity_iops)
    groups = make_groups(len(shares))
    wishes = [Wish(group=group, shares=own) for group, own in zip(groups, shares, strict=True)]
    with agent() as service:
        service.publish(*wishes, capacity_iops=stated_iops)
        service.wait_until_enforced()
        with running(Load(group=groups[0], disk=PLACE)):
            with running(*(Load(group=group, disk=PLACE) for group in groups[1:])):
                time.sleep(seconds - 4)
                before = counts(groups, number)
                time.sleep(4)
                rates = counts(groups, number).rates(before)
                together = service.outcomes()
            time.sleep(4)
            alone = service.outcomes()
    return {"iops": [rates[group] for group in groups], "together": together, "alone": alone}
