"""`python -m bench.lab`: predictions of policy advice beside what real kernels did then.

Seeds come from the clock and are printed, so that nobody tuned for them; `--seeds` repeats
runs. The last calls are kept in the cache, and `--all` counts those of the last five together.
Status 1 if of some kind no run came to its end; figures may be what they are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.fleet.kept_cluster import cache_dir
from bench.fleet.rows import Row, as_json, as_table, not_measured
from bench.lab.bundles import write_bundles
from bench.lab.score import (
    in_force,
    latency_predictions,
    latency_rows,
    let_through_row,
    predictions,
    rows,
)
from bench.testbed.network.rows import missing_for_networks
from tests.testbed.programs import missing_for_guests

ROOT = Path(__file__).resolve().parents[2]
KEPT_CALLS = 5
FEWEST_RUNS = 12
PHASE_S = 72.0
"""33 windows; advice needs 30 of an incident."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of resource, the module of one run, and what keeps it from this machine.

    `at_once` runs go side by side: those on uplinks mostly wait, those on disks compute.
    Without predictions nothing is scored here, but by `sluice trust`.
    """

    name: str
    module: str
    missing: Callable[[], str | None]
    at_once: int
    has_latency: bool = False
    has_predictions: bool = True


KINDS = (
    Kind(name="uplink", module="bench.lab.uplink_run", missing=missing_for_networks, at_once=4),
    Kind(
        name="disk",
        module="bench.lab.disk_run",
        missing=missing_for_guests,
        at_once=2,
        has_latency=True,
    ),
    Kind(
        name="rare",
        module="bench.lab.rare_run",
        missing=missing_for_guests,
        at_once=2,
        has_predictions=False,
    ),
)


def main() -> None:
    """Print the table."""
    options = _options()
    table: list[Row] = []
    crashed = []
    for kind in KINDS:
        if kind.name in options.kind:
            found = _table(kind, options)
            crashed += [] if found else [kind.name]
            table += found
    print(f"\n{as_table(table)}")
    if options.json:
        options.json.write_text(json.dumps(as_json(table), indent=1) + "\n")
    if crashed:
        sys.exit(f"no run came to its end: {', '.join(crashed)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.lab", description=__doc__)
    names = [kind.name for kind in KINDS]
    parser.add_argument("--kind", nargs="+", choices=names, default=names)
    parser.add_argument("--runs", type=int, default=FEWEST_RUNS, help="runs of each kind")
    parser.add_argument("--phase", type=float, default=PHASE_S, help="seconds of each phase")
    parser.add_argument(
        "--bundles", type=Path, metavar="FOLDER", help="write the runs for sluice trust as well"
    )
    parser.add_argument("--seeds", type=int, nargs="+", metavar="SEED", help="repeat these runs")
    parser.add_argument("--all", action="store_true", help="count the runs of the last five calls")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def _table(kind: Kind, options: argparse.Namespace) -> list[Row]:
    """The rows of a kind; none if all its runs failed."""
    why = kind.missing()
    if why is not None:
        return [not_measured(f"{kind.name}: all rows", "ratio", "all", why)]
    seeds = options.seeds or _new_seeds(options.runs)
    print(f"{kind.name}, seeds: {' '.join(map(str, seeds))}", flush=True)
    runs = _run_all(kind, seeds, phase_s=options.phase)
    if not runs:
        return []
    if options.bundles:
        write_bundles(runs, options.bundles)
    if not options.seeds:
        _keep(kind, runs)
    if not kind.has_predictions:
        return [_played(kind, runs, of=len(seeds))]
    counted = _kept(kind) if options.all else runs
    scored = in_force(counted)
    failed = len(seeds) - len(runs)
    found = [_met(kind, counted, scored, failed=failed), *rows(kind.name, predictions(scored))]
    if kind.has_latency:
        found += latency_rows(kind.name, latency_predictions(scored))
        found.append(let_through_row(kind.name, scored))
    return found


def _new_seeds(count: int) -> list[int]:
    begin = time.time_ns() // 1_000_000 % 10**9
    return [begin + number for number in range(count)]


def _run_all(kind: Kind, seeds: Sequence[int], *, phase_s: float) -> list[dict[str, Any]]:
    """Each run in a process of its own, some side by side; one that fails says so and is left."""
    found = []
    with TemporaryDirectory(prefix="sluice-lab-") as folder:
        for begin in range(0, len(seeds), kind.at_once):
            part = seeds[begin : begin + kind.at_once]
            processes = [(seed, _started(kind, seed, phase_s, Path(folder))) for seed in part]
            for seed, process in processes:
                if process.wait() == 0:
                    run = json.loads(_file(seed, Path(folder)).read_text())
                    found.append(run)
                    print(f"{seed}: {run['advice'] or run['why']}", flush=True)
                else:
                    print(f"{seed}: the run failed", flush=True)
    return found


def _started(kind: Kind, seed: int, phase_s: float, folder: Path) -> subprocess.Popen[bytes]:
    module = [sys.executable, "-m", kind.module, str(seed)]
    asked = ["--phase", str(phase_s), "--out", str(_file(seed, folder))]
    return subprocess.Popen([*module, *asked], cwd=ROOT)


def _file(seed: int, folder: Path) -> Path:
    return folder / f"{seed}.json"


def _met(
    kind: Kind, runs: Sequence[dict[str, Any]], scored: Sequence[dict[str, Any]], *, failed: int
) -> Row:
    """How many planted incidents were answered with advice that came into force."""
    advised = sum(run["advice"] is not None for run in runs)
    return Row(
        what=f"{kind.name}: runs with advice in force",
        unit="runs",
        asked=f">= {FEWEST_RUNS}",
        measured=float(len(scored)),
        holds=len(scored) >= FEWEST_RUNS,
        note=f"of {len(runs) + failed}, {advised} with advice, {failed} failed; "
        f"seeds {' '.join(str(run['seed']) for run in runs)}",
    )


def _played(kind: Kind, runs: Sequence[dict[str, Any]], *, of: int) -> Row:
    """How many runs came to their end; what is found in them is told by their bundles."""
    return Row(
        what=f"{kind.name}: runs for sluice trust",
        unit="runs",
        asked=f">= {of}",
        measured=float(len(runs)),
        holds=len(runs) == of,
        note=", ".join(f"{run['seed']} {run['plight']}" for run in runs),
    )


def _calls() -> Path:
    folder = cache_dir() / "lab"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _keep(kind: Kind, runs: Sequence[dict[str, Any]]) -> None:
    """Keep the runs of this call, and those of the four before it."""
    (_calls() / f"{kind.name}-{time.time_ns()}.json").write_text(json.dumps(runs) + "\n")
    for old in sorted(_calls().glob(f"{kind.name}-*.json"))[:-KEPT_CALLS]:
        old.unlink()


def _kept(kind: Kind) -> list[dict[str, Any]]:
    return [
        run
        for file in sorted(_calls().glob(f"{kind.name}-*.json"))
        for run in json.loads(file.read_text())
    ]


if __name__ == "__main__":
    main()
