"""Shares that the agent enforces among groups that all want more than there is."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.groups import counts, make_groups
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import PLACE, make_disk


def run(
    *,
    capacity_iops: float,
    shares: list[int],
    outstanding: list[int] | None = None,
    divides: bool = False,
    warm_s: float = 5.0,
    seconds: float = 10.0,
) -> dict[str, Any]:
    """IOPS of each group, in the order of the shares, on a host where nobody set up anything.

    `outstanding` is how many I/Os each keeps in flight.
    """
    number = make_disk(iops=capacity_iops)
    groups = make_groups(len(shares))
    wishes = [Wish(group=group, shares=own) for group, own in zip(groups, shares, strict=True)]
    loads = [Load(group=group, disk=PLACE) for group in groups]
    if outstanding is not None:
        loads = [
            replace(load, outstanding=own) for load, own in zip(loads, outstanding, strict=True)
        ]
    with agent() as service:
        service.publish(*wishes, capacity_iops=capacity_iops, divides=divides)
        service.wait_until_enforced()
        with running(*loads):
            time.sleep(warm_s)
            before = counts(groups, number)
            time.sleep(seconds)
            rates = counts(groups, number).rates(before)
        said = service.outcomes()
    return {"iops": [rates[group] for group in groups], "outcomes": said}
