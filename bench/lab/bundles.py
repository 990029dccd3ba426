"""Runs of the laboratory as bundles, whose truth is known because it was planted.

    python -m bench.lab.bundles CALL.json... --out FOLDER

A call of the laboratory leaves its runs in `lab/` of the cache. Of each run there are two: all of
it, and its calm phase alone, in which nothing is to be found; of what is rare there is one. A
window of 2 s of a run is told as one of 10 s, at the same rates; all I/Os of a disk as reads; and
packets of an uplink as full ones.
Who lost more than a sixth of their calm rate without a change of their own is a victim.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from advisor.core.casebook.bundle import (
    KNOWN_MS,
    LAST_GAUGE,
    Bundle,
    CapturedAllocation,
    CapturedResource,
    CapturedSubject,
    Device,
    MeasuredRate,
    Track,
    Truth,
    parts_of,
    write_bundle,
)
from advisor.core.casebook.pseudonyms import EPOCH_WEEK
from advisor.core.chunk import Integers
from advisor.core.resource import ResourceKind, Unit
from advisor.core.stored_hour import WINDOW_S
from advisor.resource_kinds.registry import traits_of
from bench.lab.disk_case import DiskCase, disk_case
from bench.lab.rare_case import rare_case
from bench.lab.uplink_case import uplink_case
from ingest.core.figures import CGROUP_IO, DISK, INTERFACE, PRESSURE

HOST, DISK_NAME, DISK_NUMBER, UPLINK_NAME = "h1", "sda", "8:0", "up0"
FULL_RATIO = 0.9
"""Of the link's rate, from which an uplink is full."""
SLOW_RATIO = 2.0
"""Of the calm latency, from which a disk is slow."""
LOST_RATIO = 5 / 6
FRAME_BYTES = 1500

Run = Mapping[str, Any]


def main() -> None:
    """Write the bundles of these calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    write_bundles([run for file in asked.calls for run in json.loads(file.read_text())], asked.out)


def write_bundles(runs: Sequence[Run], folder: Path) -> None:
    """Write the bundles of each run, named by what they are of and its seed."""
    folder.mkdir(parents=True, exist_ok=True)
    for run in runs:
        for name, bundle in bundles_of(run):
            (folder / f"{name}-{run['seed']}.bundle").write_bytes(write_bundle(bundle))


def bundles_of(run: Run) -> list[tuple[str, Bundle]]:
    """The bundle of a run and that of its calm phase, each with what it is of."""
    if "plight" in run:
        return [(f"{run['plight']}-disk", _disk_bundle(run, rare_case(run["seed"]).disk))]
    is_disk = isinstance(run["calm"], list)
    kind, make = ("disk", _planted_disk) if is_disk else ("uplink", _uplink_bundle)
    none: Any = [] if is_disk else {"rates": [], "sent": []}
    return [(kind, make(run)), (f"calm-{kind}", make({**run, "crowded": none}))]


def _uplink_bundle(run: Run) -> Bundle:
    case = uplink_case(run["seed"])
    rates = np.array([*run["calm"]["rates"], *run["crowded"]["rates"]]) / 8
    sent = np.array([*run["calm"]["sent"], *run["crowded"]["sent"]]) / 8
    names = [f"p{place + 1}" for place in range(rates.shape[1])]
    carried = {
        "bytes_recv": np.column_stack([rates, np.zeros(len(sent))]) * WINDOW_S,
        "bytes_sent": np.column_stack([np.zeros(rates.shape), sent]) * WINDOW_S,
    }
    carried |= {
        "packets_recv": carried["bytes_recv"] / FRAME_BYTES,
        "packets_sent": carried["bytes_sent"] / FRAME_BYTES,
    }
    resource = _resource(
        "uplink",
        threshold=FULL_RATIO,
        capacity=case.link_bits_per_s,
        device=Device(host=HOST, name=UPLINK_NAME),
        allocations=[_allocation(case, place, "vnic", name) for place, name in enumerate(names)],
    )
    tracks = [_track(INTERFACE.name, INTERFACE.counters, [*names, UPLINK_NAME], carried)]
    calm = len(run["calm"]["rates"])
    lost = _lost(rates[:calm], rates[calm:], [at for at, _ in case.extra])
    return _bundle(run, resource, tracks, windows=len(rates), calm=calm, lost=lost)


def _planted_disk(run: Run) -> Bundle:
    return _disk_bundle(run, disk_case(run["seed"]))


def _disk_bundle(run: Run, case: DiskCase) -> Bundle:
    windows = [*run["calm"], *run["crowded"]]
    rates = np.array([one["rates"] for one in windows], dtype=np.float64)
    sizes = np.array([one["io_bytes"] for one in windows], dtype=np.float64)
    names = [f"/vm{place + 1}" for place in range(rates.shape[1])]
    done = rates * WINDOW_S
    groups = {"rios": done, "rbytes": np.nan_to_num(done * sizes)}
    latencies = [one["device"]["latency_ms"] for one in run["calm"] if one["device"]["latency_ms"]]
    resource = _resource(
        "datastore",
        threshold=SLOW_RATIO * median(latencies),
        capacity=None,
        device=Device(host=HOST, name=DISK_NAME, number=DISK_NUMBER),
        allocations=[_allocation(case, place, "cgroup", name) for place, name in enumerate(names)],
    )
    tracks = [
        _track(
            DISK.name,
            DISK.counters,
            [DISK_NAME],
            _disk_counters(windows, done.sum(axis=1)),
            gauges=[np.array([[one.get("in_flight", 0)] for one in windows])],
        ),
        _track(CGROUP_IO.name, CGROUP_IO.counters, names, groups, device=DISK_NUMBER),
    ]
    if all(one.get("some_ratio") for one in windows):
        told_us = np.array([one["some_ratio"] for one in windows]) * WINDOW_S * 1e6
        tracks.append(_track(PRESSURE.name, PRESSURE.counters, names, {"some_total": told_us}))
    calm = len(run["calm"])
    # Whom a disk keeps waiting that completes nothing, nobody has slowed.
    crowded = rates[calm:] if run["culprit"] is not None else rates[:0]
    lost = _lost(rates[:calm], crowded, [at for at, _ in case.extra])
    return _bundle(run, resource, tracks, windows=len(rates), calm=calm, lost=lost)


def _disk_counters(windows: Sequence[Run], done: Any) -> dict[str, Any]:
    """What /proc/diskstats counts in each window, as if all were reads; (windows, 1).

    Control groups count an I/O when it begins, a disk when it ends.
    """
    devices = [one["device"] for one in windows]
    done = np.where([one["io_count"] > 0 for one in devices], done, 0.0)
    latency_ms = np.array([one["latency_ms"] or 0.0 for one in devices])
    io_bytes = np.array([one["mean_io_bytes"] or 0.0 for one in devices])
    counted = {
        "reads": done,
        "read_bytes": done * io_bytes,
        "read_time": done * latency_ms,
        "io_time": np.array([one["busy_ratio"] for one in devices]) * WINDOW_S * 1000,
        "weighted_io_time": np.array([one["outstanding_io"] for one in devices]) * WINDOW_S * 1000,
    }
    return {name: values[:, np.newaxis] for name, values in counted.items()}


def _resource(
    kind: str,
    *,
    threshold: float,
    capacity: float | None,
    device: Device,
    allocations: Sequence[CapturedAllocation],
) -> CapturedResource:
    traits = traits_of(kind)
    return CapturedResource(
        name="lab",
        kind=ResourceKind(kind),
        unit=Unit(traits.units[0]),
        mode=traits.modes[0],
        window_s=WINDOW_S,
        threshold=threshold,
        activity_floor=traits.activity_floor(capacity),
        reservable_ratio=traits.reservable_ratio,
        capacity=capacity,
        devices=(device,),
        allocations=tuple(allocations),
    )


def _allocation(case: Any, place: int, kind: str, adapter: str) -> CapturedAllocation:
    return CapturedAllocation(
        workload=f"vm{place + 1}",
        kind="vm",
        tier=case.tiers[place],
        host=HOST,
        adapter_kind=kind,
        adapter=adapter,
        reservation=float(case.reservations[place]),
    )


def _track(
    kind: str,
    counters: Sequence[str],
    names: Sequence[str],
    grown: Mapping[str, Any],
    *,
    device: str = "",
    gauges: Sequence[Any] = (),
) -> Track:
    """All windows of these subjects; a counter that is not among them stood still."""
    shape = next(iter(grown.values())).shape
    parts = parts_of(np.full(shape, int(WINDOW_S * 1000), dtype=np.int64), KNOWN_MS)
    for place, counter in enumerate(counters):
        values: Integers = np.rint(grown.get(counter, np.zeros(shape))).astype(np.int64)
        parts += parts_of(values, place)
    for number, gauge in enumerate(gauges):
        parts += parts_of(np.asarray(gauge, dtype=np.int64), LAST_GAUGE - number)
    subjects = tuple(CapturedSubject(host=HOST, name=name, device=device) for name in names)
    return Track(kind=kind, subjects=subjects, parts=tuple(parts))


def _lost(calm: Any, crowded: Any, changed: Sequence[int]) -> list[int]:
    """The places of those who lost; the rates are (windows, workloads)."""
    if not len(crowded):
        return []
    return [
        place
        for place in range(calm.shape[1])
        if place not in changed and fmean(crowded[:, place]) < LOST_RATIO * fmean(calm[:, place])
    ]


def _bundle(
    run: Run,
    resource: CapturedResource,
    tracks: Sequence[Track],
    *,
    windows: int,
    calm: int,
    lost: Sequence[int],
) -> Bundle:
    names = [one.workload for one in resource.allocations]
    is_crowded = windows > calm and run.get("plight") != "hog"
    culprit = run["culprit"] if is_crowded else None
    measured = run.get("workloads", ()) if is_crowded and run.get("in_force") else ()
    return Bundle(
        resource=resource,
        since=EPOCH_WEEK,
        until=EPOCH_WEEK + windows * timedelta(seconds=WINDOW_S),
        tracks=tuple(tracks),
        truth=Truth(
            is_congested=is_crowded,
            culprit=None if culprit is None else names[culprit],
            victims=tuple(names[place] for place in lost),
            measured=tuple(
                MeasuredRate(
                    workload=one["workload"],
                    rate=one["measured"],
                    reservation=one["reservation"],
                    limit=one["limit"],
                    shares=one["shares"],
                    latency_ms=one.get("latency"),
                )
                for one in measured
            ),
            began_at=EPOCH_WEEK + calm * timedelta(seconds=WINDOW_S) if is_crowded else None,
            is_stalled=run.get("plight") == "hang",
        ),
        note=f"laboratory, seed {run['seed']}; windows of 2 s told as windows of 10 s",
    )


if __name__ == "__main__":
    main()
