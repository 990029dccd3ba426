"""What a QEMU counts of each disk of its guest, as its monitor says when it is allowed to ask."""

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from enforcers.errors import MonitorError
from enforcers.qmp import Order, converse
from enforcers.reader.host_tree import HostTree
from enforcers.reader.latency_histogram import Histogram
from enforcers.reader.line import head, integers
from enforcers.reader.processes import RunningGuest, workload_of

LIMIT_S = 0.3
"""So long a monitor may take."""
MOST_S = 2.0
"""So long all of a pass may take: those that are left are asked in the next one."""
REST_PASSES = 30
"""A monitor that did not answer is left alone for so many passes."""

COUNTERS = (
    "rd_operations",
    "wr_operations",
    "flush_operations",
    "rd_bytes",
    "wr_bytes",
    "rd_total_time_ns",
    "wr_total_time_ns",
    "flush_total_time_ns",
)
_HISTOGRAMS = {
    "rd": "rd_latency_histogram",
    "wr": "wr_latency_histogram",
    "flush": "flush_latency_histogram",
}
_QUANTILES = {"p50": 0.5, "p99": 0.99}
_PERIPHERAL = re.compile(r"/machine/peripheral(?:-anon)?/([^/]+)")


class GuestDisks:
    """Asks the monitors of the guests in turn, and remembers histograms between two looks."""

    def __init__(self, *, limit_s: float = LIMIT_S, most_s: float = MOST_S) -> None:
        self._limit_s = limit_s
        self._most_s = most_s
        self._pass = 0
        self._last_pid = 0
        self._rests_until: dict[str, int] = {}
        self._histograms: dict[tuple[str, str, str], Histogram] = {}

    def lines(self, host: str, guests: Sequence[RunningGuest], tree: HostTree) -> list[str]:
        """A line for each disk of each guest that answers; who does not is noted in the tree."""
        self._pass += 1
        until_s = time.monotonic() + self._most_s
        # Who was left out comes first the next time.
        ordered = sorted(guests, key=lambda one: (one.pid <= self._last_pid, one.pid))
        found: list[str] = []
        for running in ordered:
            if time.monotonic() > until_s:
                break
            found += self._of_guest(host, running, tree)
            self._last_pid = running.pid
        present = {workload_of(one).key for one in guests}
        self._histograms = {key: one for key, one in self._histograms.items() if key[0] in present}
        return found

    def _of_guest(self, host: str, running: RunningGuest, tree: HostTree) -> list[str]:
        workload = workload_of(running).key
        for monitor in running.guest.monitors:
            if self._rests_until.get(monitor, 0) > self._pass:
                continue
            try:
                answer = _query_blockstats(tree.place(monitor), limit_s=self._limit_s)
            except MonitorError as error:
                tree.note(monitor, str(error))
                self._rests_until[monitor] = self._pass + REST_PASSES
                continue
            return [line for one in answer for line in self._of_disk(host, workload, one)]
        return []

    def _of_disk(self, host: str, workload: str, one: dict[str, Any]) -> Iterator[str]:
        disk, stats = disk_name(one), one.get("stats")
        if disk is None or not isinstance(stats, dict):
            return
        counters = {name: stats[name] for name in COUNTERS if type(stats.get(name)) is int}
        fields = integers(counters)
        for name, value in self._latencies(workload, disk, stats):
            fields += f",{name}={value!r}"
        if counters and fields:
            yield f"{head('qemu_block', host, workload=workload, disk=disk)} {fields}"

    def _latencies(
        self, workload: str, disk: str, stats: dict[str, Any]
    ) -> Iterator[tuple[str, float]]:
        """Quantiles of what completed since the look before, in ms."""
        for kind, name in _HISTOGRAMS.items():
            now = Histogram.of(stats.get(name))
            if now is None:
                continue
            key = (workload, disk, kind)
            before = self._histograms.get(key)
            self._histograms[key] = now
            grown = None if before is None else now.since(before)
            for spelled, ratio in _QUANTILES.items() if grown else ():
                if grown and (ns := grown.quantile_ns(ratio)) is not None:
                    yield f"{kind}_latency_{spelled}_ms", ns / 1e6


def _query_blockstats(path: str, *, limit_s: float) -> list[dict[str, Any]]:
    """The answer to `query-blockstats`, which changes nothing. Raises MonitorError."""
    (found,) = converse(path, [Order(command="query-blockstats")], limit_s=limit_s)
    if not isinstance(found, list):
        raise MonitorError("answered what is no list of disks")
    return [one for one in found if isinstance(one, dict)]


def disk_name(one: dict[str, Any]) -> str | None:
    """The disk's name as the command line says it; None of what no device of the guest has."""
    device, place = one.get("device"), one.get("qdev")
    found = _PERIPHERAL.match(place) if isinstance(place, str) else None
    if found:
        return found[1]
    for name in (place, device):
        if isinstance(name, str) and name and "/" not in name:
            return name.removeprefix("drive-")
    return None
