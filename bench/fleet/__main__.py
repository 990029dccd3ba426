"""`python -m bench.fleet`: what is asked of a fleet, with what is measured beside it.

Everything runs on one private server. The fleet is 2,000 workloads on 20 datastores and 20 uplinks
with 30 days of history, 25 hours of it as windows, the last 3 hours congested.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import traceback
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
DECIDED = (250, 2_000)
"""Workloads of the fleets on which decisions are made."""
PARTS = {
    "walks": [
        row
        for name, most in (("detection", 12), ("advice", 10), ("what-if", 14))
        for row in (
            (f"files on the way through {name}", "files", f"<= {most}"),
            (f"climbs on the way through {name}", "climbs", "<= 0"),
        )
    ],
    "window": [("one congested window judged and stored, CPU", "s", "< 0.1")],
    "advice": [
        (f"advice on a datastore{how}, {measure}", unit, asked)
        for how in ("", " with an empty cache", ", new")
        for measure, unit, asked in (
            ("CPU beside a scan of a day of its rows", "ratio", "<= 1"),
            ("queries", "queries", "<= 12"),
        )
    ],
    "natural": [
        ("search of 6 h for starts and stops, CPU beside a scan of its rows", "ratio", "<= 1"),
        ("search of 6 h for starts and stops, queries", "queries", "<= 20"),
    ],
    "full-days": [
        ("a new day of 2000 workloads foretold, CPU", "s", "<= 60"),
        ("a month of 2000 workloads foretold, CPU", "s", "<= 600"),
        ("a new day of an uplink foretold, queries", "queries", "<= 25"),
    ],
    "size-terms": [
        ("size term of a datastore of 2000 workloads learnt, CPU", "s", "<= 5"),
        ("size term of a datastore learnt, queries", "queries", "<= 12"),
    ],
    "reports": [
        ("report of a week of 2000 workloads", "s", "< 10"),
        ("report of a week of 2000 workloads, as CSV", "MB", "< 5"),
        ("report of a week of 2000 workloads, most memory of Python", "MB", "< 300"),
    ],
    "pause": [("windows never judged after a pause", "windows", "<= 0")],
    "month": [("a month of 300 workloads judged after an import", "s", "< 300")],
    "idle": [
        ("1000 idle disks, CPU", "cores", "< 0.05"),
        ("states stored of an idle disk", "rows a day", "<= 24"),
    ],
    "footprint": [("database after 30 days of 300 workloads at 10 s", "GB", "<= 3")],
    "readings": [
        ("samples through a function, CPU beside the statement alone", "ratio", "<= 1.1")
    ],
    "pages": [("pages, p95 of 20 calls", "ms", "< 100")],
    "lists": [("lists of 10000 workloads, p95 of 20 calls", "ms", "< 100")],
    "placement": [("placement inputs, slope", "exponent", "<= 1.1"), ("plan", "s", "< 5")],
    "slope": [
        ("slope of CPU per window, calm", "exponent", "<= 1.1"),
        ("slope of CPU per window, congested", "exponent", "<= 1.1"),
    ],
    "decisions": [
        (f"{what}, of {DECIDED[1]} workloads", "exponent", "<= 1.1")
        for what in ("policy file applied", "rollout")
    ],
    "live": [
        ("evaluation lag, p99", "s", "< 15"),
        ("windows never judged in live running", "windows", "<= 0"),
    ],
    "leaving": [
        ("export, growth of memory", "MB", "<= 64"),
        ("deletion, its longest part", "s", "< 30"),
        ("deletion, another's longest write meanwhile", "s", "< 1"),
    ],
}
"""Each part with what is asked of it, should it not be measured.

Walks come first, because they need windows that nobody has judged; live running and leaving are
last, because they change the fleet.
"""


def main() -> None:
    """Print the table; with --ci fail on a slope, and on nothing else."""
    options = _options()
    judged = _ci_rows(options) if options.ci else _all_rows(options)
    rows = [*judged, *_left_out(except_for="slope")] if options.ci else judged
    print(f"load {os.getloadavg()[0]:.1f} at the end\n\n{as_table(rows)}")
    if options.json:
        options.json.write_text(json.dumps(as_json(rows), indent=1) + "\n")
    if options.ci:
        raise SystemExit(not all(row.holds for row in judged))


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
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART",
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

        return slope_rows(CI_SIZES, print, last_too=True)


def _left_out(*, except_for: str) -> list[Row]:
    """The rows of all other parts, which a run of one part does not measure."""
    rows = [row for name in PARTS if name != except_for for row in _unmeasured(name, "left out")]
    return [*rows, *_without_measure()]


def _all_rows(options: argparse.Namespace) -> list[Row]:
    shape = FleetShape(workloads=options.workloads)
    timescaledb = options.database == "timescale"
    rows: list[Row] = []
    with staged_fleet(shape, MONTH, timescaledb=timescaledb) as stage:
        parts = _parts(stage, options)
        for name in PARTS:
            if name in options.parts:
                rows += _measured(stage, name, parts[name])
            else:
                rows += _unmeasured(name, "left out")
    return [*rows, *_without_measure()]


def _measured(stage: Stage, name: str, measure: Callable[[], list[Row]]) -> list[Row]:
    """The rows of a part; one that fails costs its own rows only."""
    begin = time.monotonic()
    try:
        rows = measure()
    except Exception as error:  # noqa: BLE001  the other parts took half an hour
        traceback.print_exc()
        rows = _unmeasured(name, f"failed: {type(error).__name__}: {error}"[:100])
    stage.say(f"{name}, in {time.monotonic() - begin:.0f} s:\n{as_table(rows)}\n")
    return rows


def _unmeasured(name: str, why: str) -> list[Row]:
    return [not_measured(*asked, why) for asked in PARTS[name]]


def _parts(stage: Stage, options: argparse.Namespace) -> dict[str, Callable[[], list[Row]]]:
    """Each part by name."""
    from bench.fleet.advice import advice_rows
    from bench.fleet.decisions import decision_rows
    from bench.fleet.footprint import footprint_rows
    from bench.fleet.full_days import full_day_rows
    from bench.fleet.idle import idle_rows
    from bench.fleet.judging import month_rows, pause_rows, slope_rows, window_rows
    from bench.fleet.leaving import leaving_rows
    from bench.fleet.live import live_rows
    from bench.fleet.natural import natural_rows
    from bench.fleet.placement import placement_rows
    from bench.fleet.readings import reading_rows
    from bench.fleet.reports import report_rows
    from bench.fleet.size_terms import size_term_rows
    from bench.fleet.walks import walk_rows
    from bench.pages import LISTED, list_rows, page_rows

    kill_worker = options.minutes >= KILL_FROM_MINUTES
    return {
        "walks": lambda: walk_rows(stage),
        "window": lambda: window_rows(stage),
        "advice": lambda: advice_rows(stage),
        "natural": lambda: natural_rows(stage),
        "full-days": lambda: full_day_rows(stage),
        "size-terms": lambda: size_term_rows(stage),
        "reports": lambda: report_rows(stage),
        "pause": lambda: pause_rows(stage),
        "month": lambda: month_rows(SMALL_FLEET, stage.say),
        "placement": lambda: placement_rows(stage),
        "readings": lambda: reading_rows(stage),
        "pages": lambda: page_rows(stage),
        "lists": lambda: list_rows(LISTED, stage.say),
        "slope": lambda: slope_rows(options.sizes, stage.say),
        "idle": lambda: idle_rows(IDLE_DISKS, stage.say),
        "footprint": lambda: footprint_rows(SMALL_FLEET),
        "decisions": lambda: decision_rows(DECIDED, stage.say),
        "leaving": lambda: leaving_rows(stage),
        "live": lambda: live_rows(stage, minutes=options.minutes, kill_worker=kill_worker),
    }


def _without_measure() -> list[Row]:
    """What is asked and no part of this benchmark measures."""
    return [not_measured("late samples: same end state as in time", "", "equal", "tests hold it")]


if __name__ == "__main__":
    main()
