"""Rows of storage on one host: the agent on a real kernel, in virtual time, on 2000 IOPS."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.fleet.rows import Row, at_most
from bench.testbed.bounds import as_found, at_least, within
from bench.testbed.intervals import (
    Interval,
    kept_ratio,
    overshoot_ratio,
    settled,
    total_ratio,
)
from bench.testbed.rungs import Rung, on_rung
from bench.testbed.seen_capacity import seen_capacity_rows
from tests.testbed.storage.guest import Kernel, StorageGuest
from tests.testbed.storage.low_capacity import INTERVAL_S

IOPS = 2000.0
LIMIT = 500.0
# Of these the kernel lets 70 and 110 through: whole I/Os in each slice of 100 ms.
ROUNDED = {79: 70, 118: 110}
RESERVATION = 800.0
SHARES = (300, 100, 100, 100, 100, 100, 100, 100)
MODEL_ERROR = 1.3
# 11 steps of 1 %, each of which takes 4 s, or 8 where a measurement fell short.
LOW_IOPS, RISING_S, RISEN_S = 1800.0, 88.0, 52.0
ROUNDS = 7  # of 31 settled intervals each, so that there are more than 200
TRIALS = "tests.testbed.storage"
READS = {"reads": 1.0, "writes": 0.0}
MIXED = {"70:30": 0.7}
WORKERS = (1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long things are measured."""

    seconds: float
    rounds: int


WHOLE = Effort(seconds=10.0, rounds=ROUNDS)
SHORT = Effort(seconds=4.0, rounds=1)


DISK = "disk"
"""Rows that every run has: what the disk does by itself."""
PARTS = (
    "limit",
    "mixed-limit",
    "rounded-limit",
    "counted-limit",
    "grip",
    "shares",
    "reservation",
    "wrong-model",
    "low-capacity",
    "guessed-model",
    "seen-capacity",
)


def storage_rows(kernel: Kernel, effort: Effort, parts: Sequence[str]) -> Iterator[Row]:
    """The rows of these parts on one kernel, one part after the other; boots a guest of it."""
    with (
        tempfile.TemporaryDirectory(prefix="sluice-testbed-") as folder,
        StorageGuest(kernel, Path(folder)) as guest,
    ):
        capacity, release, rows = _capacity(guest)
        measures = {
            "limit": lambda: _limit(guest, effort, READS),
            "mixed-limit": lambda: _limit(guest, effort, MIXED),
            "rounded-limit": lambda: _rounded_limit(guest, effort),
            "counted-limit": lambda: _counted_limit(guest, effort),
            "grip": lambda: _grip(guest),
            "shares": lambda: _shares(guest, effort, capacity),
            "reservation": lambda: _reservation(guest, effort, capacity),
            "wrong-model": lambda: _wrong_model(guest, effort, capacity),
            "low-capacity": lambda: _low_capacity(guest, capacity),
            "guessed-model": lambda: _guessed_model(guest),
            # Last: its disks stay on top of the one that the others make anew.
            "seen-capacity": lambda: seen_capacity_rows(guest),
        }
        yield from _of(release, DISK, rows)
        for part in PARTS:
            if part in parts:
                yield from _of(release, part, measures[part]())


def _of(release: str, part: str, rows: Sequence[Row]) -> list[Row]:
    named = (replace(row, what=f"{row.what}, Linux {release}") for row in rows)
    return on_rung(Rung.STORAGE, part, named)


def _capacity(guest: StorageGuest) -> tuple[float, str, list[Row]]:
    rows = []
    for groups in (1, 8):
        said = guest.run(f"{TRIALS}.capacity", iops=IOPS, groups=groups)
        total = sum(said["iops"])
        what = f"disk of 2000 IOPS, groups: {groups}"
        rows.append(within(what, "IOPS", wanted=IOPS, tolerance_ratio=0.03, measured=total))
    return total, said["kernel"].partition("+")[0], rows


def _limit(guest: StorageGuest, effort: Effort, loads: Mapping[str, float]) -> list[Row]:
    cases = [(name, workers) for name in loads for workers in WORKERS]
    said = guest.run(
        f"{TRIALS}.limit",
        capacity_iops=IOPS,
        limit_iops=LIMIT,
        cases=[(loads[name], workers) for name, workers in cases],
        seconds=effort.seconds,
    )
    return [
        within(
            f"limit 500, {name}, workers: {workers}",
            "IOPS",
            wanted=LIMIT,
            tolerance_ratio=0.01,
            measured=measured,
            note=_words(said, "vm1"),
        )
        for (name, workers), measured in zip(cases, said["iops"], strict=True)
    ]


def _rounded_limit(guest: StorageGuest, effort: Effort) -> list[Row]:
    """Limits that are no multiple of 10, with the agent and without."""
    said = guest.run(
        f"{TRIALS}.rounded_limit",
        capacity_iops=IOPS,
        limits_iops=list(ROUNDED),
        # The slice that the agent leaves is 1 % in 10 s.
        seconds=max(effort.seconds, 10.0),
    )
    rows = zip(ROUNDED, said["kernel"], said["agent"], strict=True)
    return [
        within(
            f"limit {limit}, reads",
            "IOPS",
            wanted=float(limit),
            tolerance_ratio=0.02,
            measured=by_agent,
            note=f"io.max {limit} without the agent: {by_kernel:.1f}",
        )
        for limit, by_kernel, by_agent in rows
    ]


def _counted_limit(guest: StorageGuest, effort: Effort) -> list[Row]:
    """One limit over two disks of a workload, and limits that count one I/O per 32 KiB."""
    # One I/O at a time takes 8 ms of a disk of 1000, so that who keeps one does 125 at most.
    disks: dict[str, list[dict[str, Any]]] = {
        "all": [{}, {}],
        "all and 125": [{}, {"outstanding": 1}],
    }
    mixed: dict[str, Any] = {"block_bytes": 65536, "read_ratio": MIXED["70:30"]}
    sizes: dict[str, dict[str, Any]] = {
        "16 KiB": {},
        "64 KiB": {"block_bytes": 65536},
        "64 KiB, 70:30": mixed,
    }
    # A slice of the kernel's, by which each disk may be off, is 1 % of both in 10 s.
    longer = replace(effort, seconds=max(effort.seconds, 10.0))
    over = _counted(guest, longer, list(disks.values()), capacity_iops=IOPS / 2, is_sum=True)
    sized = _counted(guest, effort, [[load] for load in sizes.values()], is_sized=True)
    wanted = {"16 KiB": LIMIT, "64 KiB": LIMIT / 2, "64 KiB, 70:30": LIMIT / 2}
    return [
        *(
            within(
                f"limit 500 over two disks that want {name}, their sum",
                "IOPS",
                wanted=LIMIT,
                tolerance_ratio=0.02,
                measured=sum(rates),
                note=f"{rates[0]:.0f} and {rates[1]:.0f}; {_words(over, 'vm1')}",
            )
            for name, rates in zip(disks, over["iops"], strict=True)
        ),
        *(
            within(
                f"limit 500 counted per 32 KiB, I/Os of {name}",
                "IOPS",
                wanted=wanted[name],
                tolerance_ratio=0.02,
                measured=sum(rates),
                note=_words(sized, "vm1"),
            )
            for name, rates in zip(sizes, sized["iops"], strict=True)
        ),
    ]


def _counted(
    guest: StorageGuest,
    effort: Effort,
    cases: Sequence[Sequence[dict[str, Any]]],
    *,
    capacity_iops: float = IOPS,
    **how: bool,
) -> dict[str, Any]:
    said: dict[str, Any] = guest.run(
        f"{TRIALS}.counted_limit",
        capacity_iops=capacity_iops,
        limit_iops=LIMIT,
        cases=cases,
        seconds=effort.seconds,
        **how,
    )
    return said


def _grip(guest: StorageGuest) -> list[Row]:
    """Whether the agent says of shares that they act where they do, and only there."""
    rows = []
    for stated, in_force in ((IOPS, len(SHARES)), (MODEL_ERROR * IOPS, 0)):
        said = guest.run(
            f"{TRIALS}.too_high_model",
            capacity_iops=IOPS,
            stated_iops=stated,
            shares=SHARES,
            seconds=16.0,
        )
        first, *others = said["iops"]
        outcomes = [outcome for outcome, _ in said["together"].values()]
        rows.append(
            within(
                f"shares 3:1 x 7, capacity stated as {stated:g}, said to be in force",
                "workloads",
                wanted=in_force,
                tolerance_ratio=0.0,
                measured=sum(outcome in {"applied", "unchanged"} for outcome in outcomes),
                note=f"{first * len(others) / sum(others):.2f}:1; "
                f"agent: {': '.join(said['together']['vm1'])}",
            )
        )
    return rows


def _shares(guest: StorageGuest, effort: Effort, capacity: float) -> list[Row]:
    said = guest.run(f"{TRIALS}.shares", capacity_iops=IOPS, shares=SHARES, seconds=effort.seconds)
    note = _words(said, "vm1")
    first, *rates = said["iops"]
    others = sum(rates) / len(rates)
    total = sum(said["iops"]) / capacity
    proportion = within(
        "shares 3:1 x 7 from a stock host",
        "ratio",
        wanted=3.0,
        tolerance_ratio=0.05 / 3,
        measured=first / others,
        note=note,
    )
    return [
        replace(proportion, values={"first": first / capacity, "others": others / capacity}),
        at_least("shares 3:1 x 7, total beside capacity", "ratio", 0.97, total, note),
    ]


def _reservation(guest: StorageGuest, effort: Effort, capacity: float) -> list[Row]:
    said = guest.run(
        f"{TRIALS}.reservation",
        capacity_iops=IOPS,
        reservation_iops=RESERVATION,
        rounds=effort.rounds,
    )
    intervals = _intervals(said)
    note = f"{len(settled(intervals))} intervals; {_words(said, 'vm1')}"
    what = "reservation 800 of 2000, neighbours change"
    kept = kept_ratio(intervals, RESERVATION)
    beyond = overshoot_ratio(intervals, RESERVATION, capacity)
    total = total_ratio(intervals, capacity)
    keeps = at_least(f"{what}, intervals that keep it", "ratio", 0.99, kept, note)
    return [
        replace(keeps, course=[one.first_iops for one in intervals]),
        at_most(f"{what}, overshoot", "ratio", 0.1, beyond, note),
        at_least(f"{what}, total beside capacity", "ratio", 0.97, total, note),
    ]


def _wrong_model(guest: StorageGuest, effort: Effort, capacity: float) -> list[Row]:
    said = guest.run(
        f"{TRIALS}.reservation",
        capacity_iops=IOPS,
        reservation_iops=RESERVATION,
        stated_iops=IOPS * MODEL_ERROR,
        tracks_capacity=True,
        # The last minute counts, so two rounds of 40 s are the least.
        rounds=max(2, effort.rounds // 2),
    )
    intervals = _intervals(said)
    note = _words(said, "vm1")
    what = "reservation 800, capacity stated 30 % too high"
    kept = kept_ratio(intervals[15:], RESERVATION)
    total, later = (total_ratio(part, capacity) for part in (intervals[15:60], intervals[60:]))
    return [
        at_least(f"{what}, intervals that keep it after 15 s", "ratio", 0.99, kept, note),
        at_least(f"{what}, total from 15 to 60 s", "ratio", 0.90, total, note),
        at_least(f"{what}, total after 60 s", "ratio", 0.96, later, note),
    ]


def _low_capacity(guest: StorageGuest, capacity: float) -> list[Row]:
    said = guest.run(
        f"{TRIALS}.low_capacity",
        capacity_iops=IOPS,
        stated_iops=LOW_IOPS,
        shares=SHARES,
        seconds=RISING_S + RISEN_S,
    )
    later = said["iops"][int(RISING_S / INTERVAL_S) :]
    note = _words(said, "vm1")
    what = "capacity stated 10 % too low"
    totals = [sum(rates) for rates in later]
    first = sum(rates[0] for rates in later)
    others = (sum(totals) - first) / (len(SHARES) - 1)
    return [
        at_least(
            f"{what}, total beside capacity after {RISING_S:g} s",
            "ratio",
            0.96,
            sum(totals) / len(totals) / capacity,
            note,
        ),
        at_least(f"{what}, least total in 4 s after it", "ratio", 0.94, min(totals) / capacity),
        within(
            f"{what}, shares 3:1 x 7 after it",
            "ratio",
            wanted=3.0,
            tolerance_ratio=0.05,
            measured=first / others,
        ),
    ]


def _guessed_model(guest: StorageGuest) -> list[Row]:
    said = guest.run(
        f"{TRIALS}.guessed_model", capacity_iops=IOPS, shares=SHARES, is_rotational=True
    )
    left = sum(said["iops"]) / said["without_iops"]
    model = f"the kernel took rrandiops={said['model']['rrandiops']}"
    in_force = sum(outcome in {"applied", "unchanged"} for outcome, _ in said["outcomes"].values())
    return [
        as_found("what iocost without a model leaves of a disk", "ratio", left, model),
        at_most(
            "workloads said to be in force on a guessed model",
            "workloads",
            0,
            in_force,
            _words(said, "vm1"),
        ),
    ]


def _intervals(said: dict[str, Any]) -> Sequence[Interval]:
    return [Interval(**one) for one in said["intervals"]]


def _words(said: dict[str, Any], workload: str) -> str:
    outcome, reason = said["outcomes"][workload]
    return f"agent: {outcome}: {reason}"
