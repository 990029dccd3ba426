"""`python -m bench.lab`: predictions of policy advice beside what real kernels did then.

Seeds come from the clock and are printed, so that nobody tuned for them; `--seeds` repeats
runs. The last calls are kept in the cache, and `--all` counts those of the last five together.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.fleet.kept_cluster import cache_dir
from bench.fleet.rows import Row, as_json, as_table, not_measured
from bench.lab.score import predictions, rows
from bench.testbed.network.rows import missing_for_networks

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE = 4
"""Runs side by side: each needs little, and most of their time they wait."""
KEPT_CALLS = 5
UPLINK = "uplink"


def main() -> None:
    """Print the table."""
    options = _options()
    seeds = options.seeds or _new_seeds(options.uplinks)
    print(f"seeds: {' '.join(map(str, seeds))}", flush=True)
    why = missing_for_networks()
    if why is not None:
        table: list[Row] = [not_measured("uplink: all rows", "ratio", "all", why)]
    else:
        runs = _run_all(seeds, phase_s=options.phase)
        if not options.seeds:
            _keep(runs)
        counted = _kept() if options.all else runs
        table = [*_met(counted), *rows(UPLINK, predictions(counted))]
    print(f"\n{as_table(table)}")
    if options.json:
        options.json.write_text(json.dumps(as_json(table), indent=1) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.lab", description=__doc__)
    parser.add_argument("--uplinks", type=int, default=12, help="runs on uplinks")
    parser.add_argument("--phase", type=float, default=60.0, help="seconds of each of the phases")
    parser.add_argument("--seeds", type=int, nargs="+", metavar="SEED", help="repeat these runs")
    parser.add_argument("--all", action="store_true", help="count the runs of the last five calls")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def _new_seeds(count: int) -> list[int]:
    begin = time.time_ns() // 1_000_000 % 10**9
    return [begin + number for number in range(count)]


def _run_all(seeds: Sequence[int], *, phase_s: float) -> list[dict[str, Any]]:
    """Each run in a process of its own, some side by side; one that fails says so and is left."""
    found = []
    with TemporaryDirectory(prefix="sluice-lab-") as folder:
        for begin in range(0, len(seeds), AT_ONCE):
            part = seeds[begin : begin + AT_ONCE]
            processes = [(seed, _started(seed, phase_s, Path(folder))) for seed in part]
            for seed, process in processes:
                if process.wait() == 0:
                    run = json.loads(_file(seed, Path(folder)).read_text())
                    found.append(run)
                    print(f"{seed}: {run['advice'] or run['why']}", flush=True)
                else:
                    print(f"{seed}: the run failed", flush=True)
    return found


def _started(seed: int, phase_s: float, folder: Path) -> subprocess.Popen[bytes]:
    module = [sys.executable, "-m", "bench.lab.uplink_run", str(seed)]
    asked = ["--phase", str(phase_s), "--out", str(_file(seed, folder))]
    return subprocess.Popen([*module, *asked], cwd=ROOT)


def _file(seed: int, folder: Path) -> Path:
    return folder / f"{seed}.json"


def _met(runs: Sequence[dict[str, Any]]) -> list[Row]:
    """How many planted incidents were answered with advice."""
    advised = sum(run["advice"] is not None for run in runs)
    note = f"of {len(runs)}; seeds {' '.join(str(run['seed']) for run in runs)}"
    return [
        Row(
            what=f"{UPLINK}: runs with advice",
            unit="runs",
            asked=">= 12",
            measured=float(advised),
            holds=advised >= 12,
            note=note,
        )
    ]


def _calls() -> Path:
    folder = cache_dir() / "lab"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _keep(runs: Sequence[dict[str, Any]]) -> None:
    """Keep the runs of this call, and those of the four before it."""
    (_calls() / f"{time.time_ns()}.json").write_text(json.dumps(runs) + "\n")
    for old in sorted(_calls().glob("*.json"))[:-KEPT_CALLS]:
        old.unlink()


def _kept() -> list[dict[str, Any]]:
    return [
        run for file in sorted(_calls().glob("*.json")) for run in json.loads(file.read_text())
    ]


if __name__ == "__main__":
    main()
