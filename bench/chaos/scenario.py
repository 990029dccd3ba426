"""One scenario: everything of a schedule goes wrong, and then it is watched until all works."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from bench.chaos.bed import Bed
from bench.chaos.inflict import RESTARTED_AFTER_S
from bench.chaos.results import Result
from bench.chaos.schedule import Kind, Schedule
from bench.chaos.verdict import Losses, losses

WATCHED_S = 120.0
LOOKED_EACH_S = 0.3
OVERLAP_MS = 60_000
"""Batches of so long before the scenario are looked at again: they may have been lost since."""
ENDED = "sluice run, which ended by itself"
_STARTED = {Kind.RESET, Kind.POWER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """How long until all worked, None if it did not; and what came last."""

    back_s: float | None
    waits_for: str


def run(bed: Bed, schedule: Schedule, *, commit: str) -> Result:
    """What became of it."""
    since_ms = time.time_ns() // 10**6 - OVERLAP_MS
    struck = bed.machine.suffer(schedule)
    found = watch(bed, may_end=bool(_STARTED & set(schedule.kinds)))
    if found.back_s is None:
        bring_back(bed)
    return Result(
        commit=commit,
        seed=schedule.seed,
        faults=schedule.words,
        back_s=found.back_s,
        waits_for=found.waits_for,
        losses=compare(bed, since_ms=since_ms),
        struck=struck,
        meant=len(schedule.faults),
    )


def watch(bed: Bed, *, may_end: bool = False) -> Return:
    """Until everything works that has begun since this moment.

    A first start may end for what passes, and is begun again, as a unit of systemd does.
    """
    began_s, began_at = time.monotonic(), datetime.now(UTC)
    waiting: dict[str, Callable[[], bool]] = {
        "samples": lambda: bed.writer.works_since(began_s),
        "the agent": lambda: bed.agent.newest_begun_s > began_s,
        "detection": lambda: bed.product.is_judged_since(began_at, resources=bed.resources),
        "/health": bed.product.is_healthy,
    }
    last = ""
    while (past_s := time.monotonic() - began_s) < WATCHED_S:
        if not bed.product.is_running:
            if not may_end:
                return Return(back_s=None, waits_for=ENDED)
            time.sleep(RESTARTED_AFTER_S)
            bed.product.start()
        done = [what for what, is_there in waiting.items() if is_there()]
        for what in done:
            del waiting[what]
        if not waiting:
            return Return(back_s=past_s, waits_for=done[-1] if done else last)
        last = ", ".join(waiting)
        time.sleep(LOOKED_EACH_S)
    if "the agent" in waiting:
        last += f" ({bed.agent.trouble})"
    return Return(back_s=None, waits_for=last)


def bring_back(bed: Bed) -> None:
    """What a person would have had to do, so that the next scenarios can be run."""
    if bed.product.is_running:
        bed.product.stop()
    bed.product.start()
    bed.product.wait_until_ready()
    found = watch(bed)
    if found.back_s is None:
        raise RuntimeError(f"not even a new start helps; missing: {found.waits_for}")


def compare(bed: Bed, *, since_ms: int) -> Losses:
    """What was acknowledged from that time on, with what is stored."""
    # In this order: what is acknowledged meanwhile may be stored or not.
    acknowledged = bed.writer.acknowledged(since_ms=since_ms)
    rows = bed.product.stored(bed.writer.hosts, since_s=(since_ms - 1) / 1000)
    return losses(acknowledged, [row for row in rows if row.at_ms >= since_ms])
