"""Rows that `sluice trust` and `make lab` printed on real kernels, as tables.

Neither can be run for a page, so their rows are kept as they were written, without their seeds:

    sluice trust --json > bench/lab/casebook_rows.json
    make lab ARGS="--kind uplink --json bench/lab/call_rows.json"
    make lab ARGS="--kind disk --all --json bench/lab/disk_call_rows.json"
"""

from __future__ import annotations

import json
from pathlib import Path

from bench.evaluation.table import table

FOLDER = Path(__file__).parents[1] / "lab"
CASEBOOK, CALL = FOLDER / "casebook_rows.json", FOLDER / "call_rows.json"
DISK_CALLS = FOLDER / "disk_call_rows.json"


def kept_rows(file: Path) -> str:
    """All of them, whether or not they hold."""
    rows = json.loads(file.read_text())
    return table(
        ["what", "of how many", "asked", "measured", "holds"],
        [
            [
                row["what"],
                row["note"].partition("; seeds")[0],
                row["asked"],
                "not measured" if row["measured"] is None else f"{row['measured']:.3g}",
                "yes" if row["holds"] else "no",
            ]
            for row in rows
        ],
    )
