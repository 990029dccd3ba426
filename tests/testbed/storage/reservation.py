"""A reservation that the agent enforces while its neighbours come and go."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.groups import counts, make_groups
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import PLACE, make_disk

GROUPS = 8
ALL = range(GROUPS)
# Who is active, and for how many intervals of a second; the first one has the reservation.
PHASES = ((range(4), 8), (ALL, 8), (range(2), 5), (ALL[1:], 5), (ALL, 14))


def run(
    *,
    capacity_iops: float,
    reservation_iops: float,
    stated_iops: float | None = None,
    tracks_capacity: bool = False,
    rounds: int = 1,
) -> dict[str, Any]:
    """Of each interval of a second: IOPS of the first group (None: it pauses) and of all.

    `since_change_s` counts from when groups came or went, `active` is how many want I/O.
    `stated_iops` is what the policy takes the disk's capacity for; the agent may correct that if
    it `tracks_capacity`, and then says so as `corrected`.
    """
    stated = stated_iops or capacity_iops
    number = make_disk(iops=capacity_iops)
    groups = make_groups(GROUPS)
    others = (stated - reservation_iops) / (GROUPS - 1)
    wishes = [
        Wish(group=groups[0], reservation=reservation_iops, entitlement=reservation_iops),
        *(Wish(group=group, entitlement=others) for group in groups[1:]),
    ]
    intervals: list[dict[str, Any]] = []
    with agent(tracks_capacity=tracks_capacity) as service, ExitStack() as everybody:
        service.publish(*wishes, capacity_iops=stated)
        service.wait_until_enforced()
        at_work: dict[str, ExitStack] = {}
        everybody.callback(lambda: [work.close() for work in at_work.values()])
        for active, seconds in PHASES * rounds:
            _change(at_work, [groups[index] for index in active])
            measured = _measure(groups, number, seconds)
            intervals += [
                {
                    "since_change_s": second,
                    "active": len(active),
                    "first_iops": rates[groups[0]] if 0 in active else None,
                    "total_iops": sum(rates.values()),
                }
                for second, rates in enumerate(measured)
            ]
        said, corrected = service.outcomes(), service.corrected()
    return {"intervals": intervals, "outcomes": said, "corrected": corrected}


def _change(at_work: dict[str, ExitStack], active: Sequence[str]) -> None:
    """Stop who is no longer active and start who was not; the others go on."""
    for group in set(at_work) - set(active):
        at_work.pop(group).close()
    for group in active:
        if group not in at_work:
            at_work[group] = ExitStack()
            at_work[group].enter_context(running(Load(group=group, disk=PLACE)))


def _measure(groups: list[str], number: str, seconds: int) -> list[dict[str, float]]:
    """IOPS of each group in each second."""
    began = before = counts(groups, number)
    measured = []
    for second in range(seconds):
        time.sleep(max(0.0, began.at_s + second + 1 - time.monotonic()))
        now = counts(groups, number)
        measured.append(now.rates(before))
        before = now
    return measured
