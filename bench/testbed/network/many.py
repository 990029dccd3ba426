"""200 workloads: how soon a policy is in force, and how long old and new rates are mixed.

It is measured by `python -m bench.enforce`.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.enforce import CHANGE_ASKED_S, FIRST_ASKED_S, MIXED_ASKED_S
from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from bench.testbed.network.part import ROUNDS, Effort, Part

WORKLOADS = 200
# Of what may never be longer the longest counts, of the others the middle one.
_MIXED = Asked(
    what="200 workloads, change of every limit, old and new together",
    unit="s",
    word="<=",
    bound=MIXED_ASKED_S,
)
_ASKED = (
    Asked(what="200 workloads, first policy", unit="s", word="<=", bound=FIRST_ASKED_S),
    Asked(what="200 workloads, change of every limit", unit="s", word="<=", bound=CHANGE_ASKED_S),
    _MIXED,
)


def _measure(effort: Effort) -> list[Row]:
    del effort
    rounds = [_round() for _ in range(ROUNDS)]
    rows: list[Row] = []
    for asked, found in zip(_ASKED, zip(*rounds, strict=True), strict=True):
        times_s = [row.measured for row in found if row.measured is not None]
        shown = " / ".join(f"{took_s:.3f}" for took_s in times_s)
        measured_s = max(times_s) if asked is _MIXED else statistics.median(times_s)
        rows.append(asked.row(measured_s, f"{shown}; {found[-1].note}"))
    return rows


def _round() -> list[Row]:
    with TemporaryDirectory(prefix="sluice-testbed-") as folder:
        file = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "bench.enforce", "--workloads", str(WORKLOADS)]
        subprocess.run([*command, "--json", str(file)], check=True, capture_output=True, text=True)
        return [Row(**one) for one in json.loads(file.read_text())][: len(_ASKED)]


MANY = Part(name="many", asked=_ASKED, measure=_measure)
