"""Score detectors on the Numenta Anomaly Benchmark: hits and false alarms.

    .venv/bin/python -m bench.nab [--choose] [--method NAME] [--series] [--keep NOTE]

The data are those of https://github.com/numenta/NAB, cloned to `SLUICE_NAB` or `nab` in the cache;
without them nothing is run. `--choose` looks at the other folders, by which parameters are chosen.
`--keep` adds what was scored to `bench/nab/scores.jsonl`, with the date and what was changed.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime

from bench.nab.methods import METHODS
from bench.nab.score import missed_by, scored_by
from bench.nab.scores import SCORES
from bench.nab.series import place, scored, to_choose_by


def main() -> None:
    """Print a line per method."""
    parser = argparse.ArgumentParser(description="score detectors on NAB")
    parser.add_argument("--choose", action="store_true", help="the folders to choose by")
    parser.add_argument("--keep", metavar="NOTE", help=f"add to {SCORES.name}")
    parser.add_argument("--method", action="append", choices=[*METHODS], dest="methods")
    parser.add_argument(
        "--series", action="store_true", help="of each series too, with what is missed"
    )
    asked = parser.parse_args()
    root = place()
    if not (root / "labels").is_dir():
        print(f"not run: no NAB in {root}; git clone https://github.com/numenta/NAB {root}")
        return
    series = to_choose_by(root) if asked.choose else scored(root)
    for name in asked.methods or METHODS:
        found = scored_by(METHODS[name], series)
        print(
            f"{name:35} {found.hits} of {found.windows} windows (chance {found.chance:.1f}), "
            f"{found.false_alarms} false alarms in {found.days:.0f} days, "
            f"{found.false_per_day:.2f} a day, "
            f"in alarm {found.alarmed_days / found.days:.1%} of the time",
            flush=True,
        )
        for one in series if asked.series else ():
            print(f"  {one.name}: {scored_by(METHODS[name], [one]).false_alarms} false alarms")
            for low, high in missed_by(METHODS[name], one):
                print(f"    missed: {_utc(low)} to {_utc(high)}")
        if asked.keep:
            row = {
                "method": name,
                "at": f"{datetime.now(UTC):%Y-%m-%d}",
                "note": asked.keep,
                "hits": found.hits,
                "windows": found.windows,
                "chance": round(found.chance, 1),
                "false_alarms": found.false_alarms,
                "days": round(found.days, 1),
                "alarmed_ratio": round(found.alarmed_days / found.days, 4),
            }
            with SCORES.open("a") as file:
                file.write(json.dumps(row) + "\n")


def _utc(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


main()
