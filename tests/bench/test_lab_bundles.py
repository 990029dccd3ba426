"""Runs of the laboratory as bundles: what was measured, and who was planted."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from advisor.core.casebook.bundle import LAST_GAUGE, Bundle, Truth, matrix_of, read_bundle
from bench.lab.bundles import write_bundles
from bench.lab.disk_case import disk_case
from bench.lab.rare_case import PLIGHTS, rare_case
from bench.lab.uplink_case import uplink_case

SEED = 2
WINDOWS = 4
GRANTED = {"reservation": 0.0, "limit": None, "shares": 1000}


def uplink_run() -> dict[str, Any]:
    """All but the culprit fall to a half; who gets another load as well is no victim."""
    case = uplink_case(SEED)
    calm = [1e6] * len(case.loads)
    crowded = [2e6 if place == case.culprit else 0.5e6 for place in range(len(calm))]
    return {
        "seed": SEED,
        "culprit": case.culprit,
        "calm": {"rates": [calm] * WINDOWS, "sent": [sum(calm)] * WINDOWS},
        "crowded": {"rates": [crowded] * WINDOWS, "sent": [sum(crowded)] * WINDOWS},
        "in_force": True,
        "workloads": [{"workload": "vm1", "measured": 0.8e6, **GRANTED}],
    }


def disk_run() -> dict[str, Any]:
    case = disk_case(SEED)
    device = {
        "latency_ms": 5.0, "io_count": 100, "mean_io_bytes": 4096.0,
        "outstanding_io": 2.0, "busy_ratio": 0.5,
    }  # fmt: skip
    calm = {
        "rates": [50.0] * len(case.loads),
        "io_bytes": [4096.0, *[None] * (len(case.loads) - 1)],
    }
    crowded = {**calm, "rates": [20.0] * len(case.loads), "device": {**device, "latency_ms": 40.0}}
    return {
        "seed": SEED,
        "culprit": case.culprit,
        "calm": [{**calm, "device": device}] * WINDOWS,
        "crowded": [crowded] * WINDOWS,
        "in_force": False,
        "workloads": [{"workload": "vm1", "measured": 30.0, **GRANTED}],
    }


def written(run: dict[str, Any], folder: Path) -> dict[str, Bundle]:
    write_bundles([run], folder)
    return {file.stem: read_bundle(file.read_bytes()) for file in folder.iterdir()}


def grown(bundle: Bundle, kind: str, counter: int) -> Any:
    (track,) = (one for one in bundle.tracks if one.kind == kind)
    windows = round((bundle.until - bundle.since).total_seconds() / 10)
    return matrix_of(track, counter, windows)


def test_uplink_has_its_rates_and_its_truth(tmp_path: Path) -> None:
    case = uplink_case(SEED)
    found = written(uplink_run(), tmp_path)

    bundle, calm = found[f"uplink-{SEED}"], found[f"calm-uplink-{SEED}"]

    received = grown(bundle, "interface", 1)
    assert received[0, 0] == 1e6 / 8 * 10
    assert received[-1, case.culprit] == 2e6 / 8 * 10
    assert bundle.truth is not None
    assert bundle.truth.culprit == f"vm{case.culprit + 1}"
    changed = {place for place, _ in case.extra}
    lost = [f"vm{place + 1}" for place in range(len(case.loads)) if place not in changed]
    assert list(bundle.truth.victims) == lost
    assert [(one.rate, one.shares) for one in bundle.truth.measured] == [(0.8e6, 1000)]
    assert bundle.truth.began_at == bundle.since + WINDOWS * timedelta(seconds=10)
    assert calm.truth is not None
    assert calm.truth == Truth(is_congested=False, culprit=None, victims=())
    assert calm.until < bundle.until


def test_disk_has_its_latency_and_measures_nothing_that_was_not_in_force(tmp_path: Path) -> None:
    bundle = written(disk_run(), tmp_path)[f"disk-{SEED}"]

    reads, waited_ms = grown(bundle, "disk", 0), grown(bundle, "disk", 4)
    assert (waited_ms / reads)[[0, -1], 0] == pytest.approx([5.0, 40.0])
    assert (grown(bundle, "cgroup", 0)[0] == 500).all()
    assert (
        grown(bundle, "cgroup", 2)[0]
        == np.array([500 * 4096, *[0] * (len(disk_case(SEED).loads) - 1)])
    ).all()
    assert bundle.resource.threshold == 10.0
    assert bundle.truth is not None
    assert bundle.truth.measured == ()


def rare_run(plight: str) -> dict[str, Any]:
    """A disk that is calm, and then completes nothing, goes on, or is crowded."""
    seed = PLIGHTS.index(plight)
    case = rare_case(seed)
    after = {"hang": 0.0, "hog": 50.0, "ring": 20.0}[plight]
    device = {
        "latency_ms": 5.0, "io_count": 100, "mean_io_bytes": 4096.0,
        "outstanding_io": 2.0, "busy_ratio": 0.5,
    }  # fmt: skip
    count = len(case.disk.loads)
    calm = {
        "rates": [50.0] * count, "io_bytes": [4096.0] * count, "device": device,
        "some_ratio": [0.25] * count, "in_flight": 1,
    }  # fmt: skip
    hung = {**device, "latency_ms": None, "io_count": 0, "mean_io_bytes": None, "busy_ratio": 1.0}
    planted = {**calm, "rates": [after] * count}
    if plight == "hang":
        # Control groups count what begins.
        planted |= {"rates": [0.5] * count, "device": hung, "in_flight": 7}
    return {
        "seed": seed, "plight": plight, "culprit": case.culprit,
        "calm": [calm] * WINDOWS, "crowded": [planted] * WINDOWS,
    }  # fmt: skip


def test_a_disk_that_hangs_completes_nothing_and_has_no_culprit(tmp_path: Path) -> None:
    (bundle,) = written(rare_run("hang"), tmp_path).values()

    completed = grown(bundle, "disk", 0)
    assert (completed[:WINDOWS] > 0).all()
    assert (completed[WINDOWS:] == 0).all()
    assert (grown(bundle, "disk", 6)[WINDOWS:] == 10_000).all()
    assert (grown(bundle, "disk", LAST_GAUGE)[WINDOWS:] == 7).all()
    assert bundle.truth is not None
    assert bundle.truth.is_stalled
    assert bundle.truth.is_congested
    assert (bundle.truth.culprit, bundle.truth.victims) == (None, ())


def test_a_steady_hog_is_no_congestion(tmp_path: Path) -> None:
    (bundle,) = written(rare_run("hog"), tmp_path).values()

    assert bundle.truth == Truth(is_congested=False, culprit=None, victims=())


def test_pressure_of_a_window_is_told_as_of_a_longer_one(tmp_path: Path) -> None:
    (bundle,) = written(rare_run("ring"), tmp_path).values()

    assert (grown(bundle, "pressure", 0) == 2_500_000).all()
    assert bundle.truth is not None
    assert bundle.truth.culprit == f"vm{(rare_case(2).culprit or 0) + 1}"
