"""One run of the laboratory on a disk: calm, then an incident, then the policy that is advised.

    python -m bench.lab.disk_run SEED --phase 60 --out FILE

A guest in virtual time, whose disk has a true capacity: what is measured does not depend on other
work of this machine. The figures are those that Telegraf reads of a disk and of control groups;
the advice is the product's own, and the agent enforces it. Needs root and what
`make testbed-programs` obtains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from advisor.advice.policy.decide.policy_answer import Recommendation
from advisor.core.demand.latency import LEAST_PERCENTILE, SeenLatency
from advisor.core.detection.observed import readings_of
from advisor.core.observation import DatastoreObservation, HostLatency
from advisor.core.resource import Tier
from advisor.resource_kinds.datastore import ACTIVITY_FLOOR_IOPS
from bench.lab.advised import (
    WINDOW_S,
    advice_on,
    allocations_of,
    observed,
    predicted,
    window_end,
    without_advice,
    write_run,
)
from bench.lab.disk_case import DiskCase, disk_case
from tests.testbed.storage.guest import KERNELS, StorageGuest

SETTLE_S = 6.0
"""Of each phase so much is left out, as of those of an uplink."""
SLOW_RATIO = 2.0
"""The threshold of latency, beside the median of the calm windows."""
KIND = "datastore"
GUEST = "bench.lab.disk_guest"
CLOCK = ("-icount", "shift=0,sleep=off")
"""The guest's processor does an instruction in 1 ns: what loads compute must not hold them up."""
IN_FORCE = {"applied", "unchanged"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What was seen in a window: of each workload I/Os per second, bytes of an I/O and latency.

    Nobody but the laboratory knows the latencies of workloads.
    """

    rates: tuple[float, ...]
    io_bytes: tuple[float | None, ...]
    latency_s: tuple[float | None, ...]
    device: HostLatency
    some_ratio: tuple[float, ...] = ()
    """The part of the time in which some task of a workload waited for I/O (io.pressure)."""
    in_flight: int = 0
    """I/Os that the disk has not completed at the end."""


def main() -> None:
    """Write what was predicted and measured of each workload."""
    write_run(__doc__, lambda seed, phase_s: run(disk_case(seed), phase_s=phase_s))


def run(case: DiskCase, *, phase_s: float) -> dict[str, Any]:
    """One case from the calm phase to the measured effect."""
    with (
        TemporaryDirectory(prefix="sluice-lab-") as folder,
        StorageGuest(KERNELS[0], Path(folder), clock=CLOCK) as guest,
    ):
        count = len(case.loads)
        guest.run(GUEST, step="build", iops=case.iops, queue_depth=case.queue_depth, count=count)
        calm = watched(guest, list(enumerate(case.loads)), phase_s)
        crowded = watched(guest, case.extra, phase_s)
        advice = advice_of(case, calm, crowded)
        found: dict[str, Any] = {
            "seed": case.seed,
            "culprit": case.culprit,
            "capacity": case.iops,
            "calm": [asdict(one) for one in calm],
            "crowded": [asdict(one) for one in crowded],
        }
        if not isinstance(advice, Recommendation):
            return found | without_advice(advice)
        said = _enforced(guest, advice, phase_s)
        after = _window(said["before"], said["after"])
        kinds = [load["kind"] for load in case.loads]
        took_ms = [None if one is None else one * 1000 for one in after.latency_s]
        found |= predicted(advice, kinds, after.rates, took_ms)
        outcomes = [outcome for outcome, _ in said["outcomes"].values()]
        return found | {
            "in_force": set(outcomes) <= IN_FORCE and _acts(advice, said),
            "outcomes": said["outcomes"],
        }


def _acts(advice: Recommendation, said: Mapping[str, Any]) -> bool:
    """Whether the kernel was told anything: of shares that are all alike the agent tells nothing.

    Then each workload goes on as before, whatever is due to it.
    """
    return bool(said["iocost"]) or any(row.limit is not None for row in advice.allocations)


def watched(
    guest: StorageGuest,
    loads: Sequence[tuple[int, Mapping[str, Any]]],
    phase_s: float,
    *,
    settle_s: float = SETTLE_S,
) -> list[Window]:
    """The windows of a phase that begins with these loads; the first seconds are left out."""
    counters = guest.run(
        GUEST,
        step="watch",
        loads=loads,
        settle_s=settle_s,
        window_s=WINDOW_S,
        windows=int((phase_s - settle_s) / WINDOW_S),
    )
    return [_window(before, after) for before, after in pairwise(counters)]


def _window(before: Mapping[str, Any], after: Mapping[str, Any]) -> Window:
    """The figures between two looks at the kernel's counters."""
    took_s = after["at_s"] - before["at_s"]
    groups = [
        [late - early for early, late in zip(old, new, strict=True)]
        for old, new in zip(before["groups"], after["groups"], strict=True)
    ]
    done = [
        (new[0] - old[0], new[1] - old[1])
        for old, new in zip(before["done"], after["done"], strict=True)
    ]
    disk = [new - old for old, new in zip(before["device"], after["device"], strict=True)]
    # Documentation/block/stat.rst: reads, merged, their sectors and ms; writes the same; those in
    # flight, ms at work, and ms at work times those in flight.
    ios, sectors, waited_ms = disk[0] + disk[4], disk[2] + disk[6], disk[3] + disk[7]
    return Window(
        rates=tuple((reads + writes) / took_s for reads, writes, *_ in groups),
        io_bytes=tuple(
            sum(size) / (reads + writes) if reads + writes else None
            for reads, writes, *size in groups
        ),
        latency_s=tuple(seconds / ios if ios else None for ios, seconds in done),
        device=HostLatency(
            host="h1",
            latency_ms=waited_ms / ios if ios else None,
            io_count=ios,
            mean_io_bytes=sectors * 512 / ios if ios else None,
            outstanding_io=disk[10] / took_s / 1000,
            busy_ratio=min(disk[9] / took_s / 1000, 1.0),
        ),
        some_ratio=tuple(
            (late - early) / 1e6 / took_s
            for early, late in zip(before["waited_us"], after["waited_us"], strict=True)
        ),
        in_flight=after["device"][8],
    )


def advice_of(case: DiskCase, calm: Sequence[Window], crowded: Sequence[Window]) -> object:
    """The product's advice on these windows."""
    allocations = allocations_of(
        np.array([one.rates for one in calm]),
        np.array([one.rates for one in crowded]),
        tiers=[Tier(tier) for tier in case.tiers],
        reservations=case.reservations,
        io_bytes=[_mean_io_bytes(crowded, place) for place in range(len(case.loads))],
    )
    observations = [
        DatastoreObservation(
            at=window_end(number),
            window_s=WINDOW_S,
            hosts=(window.device,),
            allocations=observed(allocations, window.rates, window.io_bytes),
        )
        for number, window in enumerate((*calm, *crowded))
    ]
    usual_ms = median(one.value or 0.0 for one in readings_of(observations[: len(calm)]))
    return advice_on(
        KIND,
        observations,
        allocations,
        threshold=SLOW_RATIO * usual_ms,
        activity_floor=ACTIVITY_FLOOR_IOPS,
        capacity=None,
        latency=SeenLatency(
            calm_ms=_mean_ms(calm), congested_ms=_mean_ms(crowded), least_ms=_least_ms(calm)
        ),
    )


def _mean_ms(windows: Sequence[Window]) -> float:
    """What the device's I/Os took."""
    ios = sum(one.device.io_count for one in windows)
    took_ms = sum((one.device.latency_ms or 0.0) * one.device.io_count for one in windows)
    return took_ms / ios if ios else 0.0


def _least_ms(windows: Sequence[Window]) -> float:
    found = [ms for one in windows if (ms := one.device.latency_ms) is not None]
    return float(np.percentile(found, LEAST_PERCENTILE)) if found else 0.0


def _mean_io_bytes(windows: Sequence[Window], place: int) -> float | None:
    ios = sum(one.rates[place] for one in windows)
    whole = sum(one.rates[place] * (one.io_bytes[place] or 0.0) for one in windows)
    return whole / ios if ios else None


def _enforced(guest: StorageGuest, advice: Recommendation, phase_s: float) -> dict[str, Any]:
    said: dict[str, Any] = guest.run(
        GUEST,
        step="enforce",
        wishes=[
            {
                "reservation": row.reservation,
                "limit": row.limit,
                "shares": row.shares,
                "entitlement": row.entitlement,
            }
            for row in advice.allocations
        ],
        capacity_iops=advice.evidence.capacity,
        settle_s=SETTLE_S,
        measure_s=phase_s - SETTLE_S,
    )
    return said


if __name__ == "__main__":
    main()
