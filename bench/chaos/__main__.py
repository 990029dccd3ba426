"""`python -m bench.chaos`: everything that can fail fails, and the product comes back (root).

A seed makes a scenario: processes are killed in pairs and triples or stopped, parts no longer
hear each other, the disk is full, slow, fails or loses its power, memory ends, the clock jumps.
Meanwhile collectors write and an agent exchanges. What is asked: no acknowledged point is lost, no
batch is there in half or twice, and 30 s after the last fault samples are stored, detection is
newer than the fault, the agent is answered and /health passes, without a person.

A line of each scenario goes to a table with the commit, and is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.chaos import scenario, summary
from bench.chaos.bed import Bed, bed
from bench.chaos.results import Result, append, left_to_run, read
from bench.chaos.schedule import schedule
from bench.chaos.verdict import Losses
from bench.fleet.rows import as_json, as_table

CI_SEEDS = range(1, 13)
REST_S = 75.0
"""After a minute of work the supervisor's pauses begin anew."""
_APART = "SLUICE_CHAOS_APART"
_NEEDED = ("unshare", "nft", "ip", "losetup", "mkfs.ext4", "cc")
_FOLDER = Path(os.environ.get("SLUICE_CACHE_DIR") or Path.home() / ".cache/sluice") / "chaos"


def main() -> None:
    """Run the seeds that are left; status 1 if anything does not hold."""
    options = _options()
    _go_apart()
    commit = _commit()
    seeds = list(CI_SEEDS if options.ci else options.seeds)
    before = read(options.table)
    left = seeds if options.ci or options.again else left_to_run(seeds, before, commit)
    print(f"commit {commit}: {len(left)} of {len(seeds)} scenarios are left", flush=True)
    began_s = time.monotonic()
    at_the_end = [summary.row_of_end(run_all(left, commit, options.table))] if left else []
    new = read(options.table)[len(before) :]
    known = [] if options.ci or options.again else before
    lines = [one for one in (*known, *new) if one.commit == commit and one.seed in set(seeds)]
    rows = [*summary.rows(lines), *at_the_end]
    minutes = (time.monotonic() - began_s) / 60
    print(f"\n{minutes:.1f} minutes, load {os.getloadavg()[0]:.1f} at the end\n\n{as_table(rows)}")
    if options.json:
        options.json.write_text(json.dumps(as_json(rows), indent=1) + "\n")
    raise SystemExit(not all(row.holds for row in rows))


def run_all(seeds: list[int], commit: str, table: Path) -> Losses:
    """One after the other on one product; who is late once has a second, quiet turn.

    Gives what became of everything that was acknowledged, looked at once more in the end.
    """
    folder = Path(tempfile.mkdtemp(prefix="sluice-chaos-", dir="/tmp"))
    folder.chmod(0o711)
    try:
        with bed(folder, _say) as whole:
            for seed in seeds:
                if not _run_one(whole, seed, commit, table).holds:
                    _keep_logs(folder, seed)
                    time.sleep(REST_S)
                    _run_one(whole, seed, commit, table)
            _say(f"{whole.writer.sent_again} batches were sent again")
            return scenario.compare(whole, since_ms=0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_one(whole: Bed, seed: int, commit: str, table: Path) -> Result:
    result = scenario.run(whole, schedule(seed), commit=commit)
    append(table, result)
    back = "not back" if result.back_s is None else f"back after {result.back_s:.1f} s"
    wrong = "" if result.holds else f"  DOES NOT HOLD: {result.losses}"
    _say(f"{seed}: {back} ({result.waits_for}); {result.faults}{wrong}")
    return result


def _keep_logs(folder: Path, seed: int) -> None:
    kept = _FOLDER / f"seed-{seed}"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder / "d/s/log", kept, dirs_exist_ok=True)
    shutil.copy2(folder / "run.log", kept)


def _say(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {words}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=__doc__)
    parser.add_argument("--seeds", type=_seeds, default=range(1, 201), metavar="A-B")
    parser.add_argument("--ci", action="store_true", help="seeds 1 to 12, which have every kind")
    parser.add_argument("--again", action="store_true", help="also those that are in the table")
    parser.add_argument("--table", type=Path, default=_FOLDER / "results.tsv", metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _go_apart() -> None:
    """Into a mount and a network namespace of our own, so that nobody else's are touched."""
    if os.environ.get(_APART):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    if os.geteuid() != 0 or missing or not Path("/dev/fuse").exists():
        sys.exit(f"chaos needs root, /dev/fuse, and the programs {', '.join(_NEEDED)}")
    os.environ[_APART] = "1"
    argv = ["unshare", "--mount", "--net", "--propagation", "private"]
    os.execvp(argv[0], [*argv, sys.executable, "-m", "bench.chaos", *sys.argv[1:]])


def _commit() -> str:
    """Short, with a plus where files differ from it."""
    argv = ["git", "describe", "--always", "--exclude=*", "--abbrev=10", "--dirty=+"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
