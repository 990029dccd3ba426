"""How long all replayed experiments take, as `sluice replay --all` plays them.

    .venv/bin/python -m bench.replay [--json FILE]

CPU of each process is counted too: it says what the wall time would be on cores that do nothing
else.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

from advisor.lab.replay.player import NAMES, PROCESSES, play

ASKED_S = 60.0

Row = dict[str, object]


def rows() -> list[Row]:
    """What was measured beside what is asked."""
    cpu_before_s, began = _cpu_s(), time.perf_counter()
    play(NAMES)
    wall_s, cpu_s = time.perf_counter() - began, _cpu_s() - cpu_before_s
    what = f"all {len(NAMES)} experiments, {PROCESSES} processes"
    return [
        {
            "what": what, "unit": "s", "asked": f"< {ASKED_S:g}",
            "measured": round(wall_s, 1), "holds": wall_s < ASKED_S,
        },
        {
            "what": f"{what}, CPU of each", "unit": "CPU s", "asked": "-",
            "measured": round(cpu_s / PROCESSES, 1), "holds": True,
        },
    ]  # fmt: skip


def _cpu_s() -> float:
    """CPU of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print; `--json` also writes the rows to a file."""
    parser = argparse.ArgumentParser(description="time of all replayed experiments")
    parser.add_argument("--json", type=Path, metavar="FILE")
    file: Path | None = parser.parse_args().json
    found = rows()
    for row in found:
        holds = "holds" if row["holds"] else "does not hold"
        print(f"{row['what']}: {row['measured']} {row['unit']}, {row['asked']}: {holds}")
    if file:
        file.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
