"""What a guest does in a run on a disk; each call of `run` is a step, asked for by the host.

Loads go on between the steps, and end with the guest. The agent comes with the policy: until then
it would do nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.lab.disk_case import PIECE_BYTES
from bench.lab.disk_load import Book, start
from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.disk_kinds import hang, scsi_disk
from tests.testbed.storage.groups import ROOT, folder, make_groups, stat
from tests.testbed.storage.null_disk import NAME, make_disk

REPORT_S = 5.0
KEYS = ("rios", "wios", "rbytes", "wbytes")


@dataclass
class _Run:
    """What is there from the first step to the last."""

    disk: str
    number: str
    groups: list[str]
    books: list[list[Book]]

    def begin(self, place: int, load: Mapping[str, Any]) -> None:
        book = Book()
        self.books[place].append(book)
        start(load, group=self.groups[place], disk=Path("/dev", self.disk), book=book)


_runs: list[_Run] = []


def run(*, step: str, **asked: Any) -> Any:
    """The answer of a step."""
    steps: Mapping[str, Callable[..., Any]] = {
        "build": _build,
        "watch": _watch,
        "hang": _hang,
        "enforce": _enforce,
    }
    return steps[step](**asked)


def _build(*, iops: float, queue_depth: int, count: int, modules: str | None = None) -> None:
    """With the folder of `modules` of the kernel the disk is one that can hang."""
    if modules is None:
        disk, number = NAME, make_disk(iops=iops, queue_depth=queue_depth)
    else:
        disk, number = scsi_disk(Path(modules), iops=iops, queue_depth=queue_depth)
    queue = Path("/sys/block", disk, "queue")
    (queue / "max_sectors_kb").write_text(str(PIECE_BYTES // 1024))
    # By default mq-deadline lets two writes at once into the queue of a disk that has one place.
    (queue / "iosched" / "async_depth").write_text((queue / "nr_requests").read_text())
    groups = make_groups(count)
    _runs.append(_Run(disk=disk, number=number, groups=groups, books=[[] for _ in groups]))


def _hang() -> None:
    (one,) = _runs
    hang(one.disk)


def _watch(
    *,
    loads: Sequence[tuple[int, Mapping[str, Any]]],
    settle_s: float,
    window_s: float,
    windows: int,
) -> list[dict[str, Any]]:
    """Counters at the borders of windows, after these loads have begun and settled."""
    (one,) = _runs
    for place, load in loads:
        one.begin(place, load)
    time.sleep(settle_s)
    began_s = time.monotonic()
    found = []
    for window in range(windows + 1):
        time.sleep(max(began_s + window * window_s - time.monotonic(), 0.0))
        found.append(_counters(one))
    return found


def _counters(one: _Run) -> dict[str, Any]:
    groups = [stat(group, one.number) for group in one.groups]
    books = [[book.read() for book in own] for own in one.books]
    device = Path("/sys/block", one.disk, "stat").read_text().split()
    return {
        "at_s": time.monotonic(),
        "groups": [[group.get(key, 0) for key in KEYS] for group in groups],
        "done": [[sum(read[part] for read in own) for part in (0, 1)] for own in books],
        "device": [int(word) for word in device],
        "waited_us": [_waited_us(group) for group in one.groups],
    }


def _waited_us(group: str) -> int:
    """How long some task of the group has waited for I/O: `total` of the line `some`."""
    line = (folder(group) / "io.pressure").read_text().splitlines()[0]
    return int(line.rpartition("total=")[2])


def _enforce(
    *, wishes: Sequence[Mapping[str, Any]], capacity_iops: float, settle_s: float, measure_s: float
) -> dict[str, Any]:
    """Counters before and after, under a policy that the agent keeps in force."""
    (one,) = _runs
    asked = [Wish(group=group, **wish) for group, wish in zip(one.groups, wishes, strict=True)]
    with agent(report_s=REPORT_S) as service:
        service.publish(*asked, capacity_iops=capacity_iops, divides=True)
        service.wait_until_enforced()
        time.sleep(settle_s)
        before = _counters(one)
        time.sleep(measure_s)
        after = _counters(one)
        # What is said next is of all the time that was measured.
        service.reports.clear()
        service.wait_until_enforced()
        outcomes = service.outcomes()
        is_on = _iocost_is_on(one.number)
    return {"before": before, "after": after, "outcomes": outcomes, "iocost": is_on}


def _iocost_is_on(number: str) -> bool:
    lines = (ROOT / "io.cost.qos").read_text().splitlines()
    return any(line.startswith(f"{number} enable=1") for line in lines)
