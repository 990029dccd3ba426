"""What judging a window costs, how that grows with the fleet, and what is never judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import transaction

from bench.fleet import product
from bench.fleet.databases import another_database, keep_still
from bench.fleet.fill import fill
from bench.fleet.inventory import hear_hosts
from bench.fleet.rows import Row, at_most, below
from bench.fleet.shape import BRIEF, END, FleetShape, History
from bench.fleet.slope import slope_row
from bench.fleet.stage import JUDGED, WINDOW, Stage, find_stage, judge_all

CPU_S_ASKED = {2_000: 0.1, 10_000: 0.4}

MONTH_ASKED_S = 300.0
MONTH_S = 30 * 86400
HOURS = History(fine_s=8 * 3600, congested_s=3600)
"""A third of a day with a congested hour, so that what a start costs is not counted often."""


def window_rows(stage: Stage) -> list[Row]:
    """One congested window of the whole fleet, judged and stored."""
    cost = stage.judge_windows(END)
    count = stage.shape.workloads
    return [_window_row(count, cost.cpu_s, f"{cost.queries} queries, {cost.wall_s:.2f} s")]


def _window_row(workloads: int, cpu_s: float, note: str) -> Row:
    asked = CPU_S_ASKED.get(workloads, 0.1)
    return below(
        f"one congested window of {workloads} workloads judged and stored, CPU",
        "s",
        asked,
        cpu_s,
        note,
    )


def slope_rows(
    sizes: Sequence[int], say: Callable[[str], None], *, last_too: bool = False
) -> list[Row]:
    """The exponents by which the CPU of a window grows with the workloads.

    With `last_too` also those between the two largest sizes alone: in small fleets what each look
    costs anyway hides how the rest grows.
    """
    calm: dict[int, float] = {}
    congested: dict[int, float] = {}
    for size in sizes:
        calm[size], congested[size] = _calm_and_congested(size, say)
        say(f"{size} workloads: calm {calm[size]:.3f} s, congested {congested[size]:.3f} s of CPU")
    rows = []
    for name, costs in (("calm", calm), ("congested", congested)):
        rows.append(slope_row(name, costs))
        if last_too:
            rows.append(slope_row(name, {size: costs[size] for size in sorted(sizes)[-2:]}))
    largest = max(sizes)
    if largest > max(CPU_S_ASKED, default=0) / 2:
        rows.append(_window_row(largest, congested[largest], "20 minutes of history"))
    return rows


def _calm_and_congested(size: int, say: Callable[[str], None]) -> tuple[float, float]:
    """CPU seconds of a calm and of a congested window of a fleet of this size."""
    with another_database(f"fleet_{size}"):
        fill(FleetShape(workloads=size), BRIEF)
        keep_still()
        stage = find_stage(FleetShape(workloads=size), BRIEF, say)
        found = []
        for until in (BRIEF.calm_until, END):
            first = until - JUDGED
            for resource in stage.resources:
                # Those of the calm past are stored already.
                product.forget_windows(resource, since=first)
            stage.judge(stage.resources, first)
            found.append(stage.judge_windows(until).cpu_s)
        return found[0], found[1]


def month_rows(workloads: int, say: Callable[[str], None]) -> list[Row]:
    """A month of a small fleet that was imported, from the time of a few hours of it."""
    shape = FleetShape(workloads=workloads)
    with another_database("fleet_month"):
        fill(shape, HOURS)
        keep_still()
        stage = find_stage(shape, HOURS, say)
        cost = judge_all(stage)
        judged = sum(
            len(product.judged_windows(one.pk, since=HOURS.first_at, until=END))
            for one in stage.resources
        )
    share = MONTH_S / HOURS.fine_s
    asked = len(stage.resources) * (HOURS.fine_s // int(WINDOW.total_seconds()))
    note = (
        f"{HOURS.fine_s / 3600:g} h took {cost.wall_s:.1f} s ({cost.cpu_s:.1f} s of CPU), "
        f"{asked - judged} of {asked} windows were not judged; times {share:g}"
    )
    what = f"a month of {workloads} workloads judged after an import, one process"
    return [below(what, "s", MONTH_ASKED_S, cost.wall_s * share, note)]


def pause_rows(stage: Stage) -> list[Row]:
    """The windows without a state after nobody has judged during the congestion."""
    resource, since = stage.stores[-1], stage.history.calm_until
    with transaction.atomic():
        product.forget_windows(resource, since=since)
        product.judge_from([resource], since)
        hear_hosts(stage.organisation, END)
        product.judge([resource], END)
        judged = product.judged_windows(resource.pk, since=since, until=END)
        transaction.set_rollback(True)
    windows = stage.history.congested_s // int(WINDOW.total_seconds())
    what = f"windows never judged after a pause of {stage.history.congested_s / 3600:g} h"
    return [at_most(what, "windows", 0, windows - len(judged), f"of {windows}")]
