"""`python -m bench.fleet`: what is asked of a fleet, with what is measured beside it.

Everything runs on one private server. The fleet is 2,000 workloads on 20 datastores and 20 uplinks
with 30 days of history, 25 hours of it as windows, the last 3 hours congested.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bench.fleet.rows import Row, as_json, as_table, not_measured
from bench.fleet.shape import MONTH, FleetShape
from bench.fleet.staged import own_server, staged_fleet

if TYPE_CHECKING:
    from bench.fleet.stage import Stage

SIZES = (100, 1_000, 10_000)
CI_SIZES = (10, 100, 1_000)
KILL_FROM_MINUTES = 60.0
IDLE_DISKS = 1_000
SMALL_FLEET = 300
PARTS = ("window", "advice", "pause", "idle", "footprint", "pages", "placement", "slope", "live")
"""In this order: live running is last, because it changes the fleet."""


def main() -> None:
    """Print the table; with --ci fail on a slope, and on nothing else."""
    options = _options()
    rows = _ci_rows(options) if options.ci else _all_rows(options)
    print(f"load {os.getloadavg()[0]:.1f} at the end\n\n{as_table(rows)}")
    if options.json:
        options.json.write_text(json.dumps(as_json(rows), indent=1) + "\n")
    if options.ci:
        raise SystemExit(not all(row.holds for row in rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet", description=__doc__)
    parser.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        help="of live running; from 60 on a worker is killed in the middle",
    )
    parser.add_argument("--database", choices=("plain", "timescale"), default="plain")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--workloads", type=int, default=2_000, help="of the fleet")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART",
                        help=f"what is measured, of {', '.join(PARTS)}")  # fmt: skip
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="for the slope")
    parser.add_argument(
        "--ci",
        action="store_true",
        help="only the slope from 10 to 1,000; status 1 if it is steep",
    )
    return parser.parse_args()


def _ci_rows(options: argparse.Namespace) -> list[Row]:
    with own_server(timescaledb=options.database == "timescale"):
        # The models can be imported once there are settings.
        from bench.fleet.judging import slope_rows

        return slope_rows(CI_SIZES, print)


def _all_rows(options: argparse.Namespace) -> list[Row]:
    shape = FleetShape(workloads=options.workloads)
    timescaledb = options.database == "timescale"
    with staged_fleet(shape, MONTH, timescaledb=timescaledb) as stage:
        parts = _parts(stage, options)
        rows: list[Row] = []
        for name in PARTS:
            begin = time.monotonic()
            if name in options.parts:
                found = parts[name]()
                stage.say(f"{name}, in {time.monotonic() - begin:.0f} s:\n{as_table(found)}")
                rows += found
            else:
                rows.append(not_measured(name, "", "", "left out"))
    return [*rows, *_unmeasured()]


def _parts(stage: Stage, options: argparse.Namespace) -> dict[str, Callable[[], list[Row]]]:
    """Each part by name."""
    from bench.fleet.advice import advice_rows
    from bench.fleet.footprint import footprint_rows
    from bench.fleet.idle import idle_rows
    from bench.fleet.judging import pause_rows, slope_rows, window_rows
    from bench.fleet.live import live_rows
    from bench.fleet.placement import placement_rows
    from bench.pages import page_rows

    kill_worker = options.minutes >= KILL_FROM_MINUTES
    return {
        "window": lambda: window_rows(stage),
        "advice": lambda: advice_rows(stage),
        "pause": lambda: pause_rows(stage),
        "placement": lambda: placement_rows(stage),
        "pages": lambda: page_rows(stage),
        "slope": lambda: slope_rows(options.sizes, stage.say),
        "idle": lambda: idle_rows(IDLE_DISKS, stage.say),
        "footprint": lambda: footprint_rows(SMALL_FLEET),
        "live": lambda: live_rows(stage, minutes=options.minutes, kill_worker=kill_worker),
    }


def _unmeasured() -> list[Row]:
    """What is asked and no part of this benchmark measures."""
    return [
        not_measured("late samples: same end state as in time", "", "equal", "no measure of it"),
        not_measured("files that a reader of detection opens", "rooms", "<= 12", "read by people"),
        not_measured("files that a reader of advice opens", "rooms", "<= 10", "read by people"),
        not_measured("files that a reader of what-if opens", "rooms", "<= 14", "read by people"),
    ]


if __name__ == "__main__":
    main()
