"""Two groups with one mean far below their limit, of which one reads in bursts that meet it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from enforcers.contract import ComplianceReport
from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.aio import Queue
from tests.testbed.storage.groups import counts, folder, make_groups
from tests.testbed.storage.null_disk import PLACE, make_disk

BLOCK_BYTES = 16384
WINDOW_S = 10.0


def run(
    *, capacity_iops: float, limit_iops: float, mean_iops: int, windows: int, report_s: float
) -> dict[str, Any]:
    """By group its IOPS in windows of 10 s, and what each report of the agent says of it."""
    number = make_disk(iops=capacity_iops)
    groups = make_groups(2)
    bursty, steady = groups
    rates: dict[str, list[float]] = {group: [] for group in groups}
    with agent(report_s=report_s) as service:
        service.publish(
            *(Wish(group=group, limit=limit_iops) for group in groups),
            capacity_iops=capacity_iops,
        )
        service.wait_until_enforced()
        already = len(service.reports)
        with (
            _reading(bursty, ios=mean_iops, every_s=1.0),
            _reading(steady, ios=1, every_s=1.0 / mean_iops),
        ):
            for _ in range(windows):
                before = counts(groups, number)
                time.sleep(WINDOW_S)
                for group, rate in counts(groups, number).rates(before).items():
                    rates[group].append(rate)
        reports = service.reports[already:]
    return {
        name: {"rates": rates[group], "reports": [_said(report, group) for report in reports]}
        for name, group in (("bursty", bursty), ("steady", steady))
    }


def _said(report: ComplianceReport, group: str) -> list[float | None]:
    """Rate, limit, looks and full looks."""
    name = group.rpartition("/")[2]
    (item,) = [one for one in report.allocations if one.workload == name]
    found, applied = item.measured, item.applied
    if found is None or applied is None:
        return [None] * 4
    return [found.rate, applied.limit, found.short_looks, found.full_looks]


@contextmanager
def _reading(group: str, *, ios: int, every_s: float) -> Iterator[None]:
    """A process of the group that begins so many reads at once, again and again."""
    process = os.fork()
    if not process:
        try:
            (folder(group) / "cgroup.procs").write_text("0")
            _read(ios, every_s)
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _read(ios: int, every_s: float) -> None:
    disk = os.open(PLACE, os.O_RDWR | os.O_DIRECT)
    queue = Queue(disk, depth=ios, block_bytes=BLOCK_BYTES)
    for place in range(ios):
        queue.prepare(place, place * BLOCK_BYTES, is_read=True)
    next_s = time.monotonic()
    while True:
        queue.submit(range(ios))
        left = ios
        while left:
            left -= len(queue.ended())
        # Who was late does not make up for it: that would be a burst.
        next_s = max(next_s + every_s, time.monotonic())
        time.sleep(max(0.0, next_s - time.monotonic()))
