"""Whether the casebook keeps what is promised of it.

    sluice trust --json > rows.json
    python -m bench.lab.promises rows.json

Prints all rows. Status 1 if congestion or a stall is missed, a workload that did nothing is named,
or the culprit is named less often than it was. Figures of predictions may be what they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROMISES: Mapping[str, tuple[float, float]] = {
    "congestion found": (1.0, 1.0),
    "stalls found as such": (1.0, 1.0),
    "workloads that did nothing and are named": (0.0, 0.0),
    # 33 of 33 in the casebook of 2026-12-01.
    "culprit named first": (0.95, 1.0),
}
"""The least and the most that may be measured, by row."""


def broken(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each promise that these rows do not keep; one that is not there is not kept."""
    measured = {row["what"]: row["measured"] for row in rows}
    return [
        f"{what}: {measured.get(what)} is not within {least:g} to {most:g}"
        for what, (least, most) in PROMISES.items()
        if not _is_within(measured.get(what), least, most)
    ]


def _is_within(measured: float | None, least: float, most: float) -> bool:
    return measured is not None and least <= measured <= most


def main() -> None:
    """Print the rows, and what they break."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    rows = json.loads(parser.parse_args().rows.read_text())
    for row in rows:
        measured = "not measured" if row["measured"] is None else f"{row['measured']:.3g}"
        holds = "holds" if row["holds"] else "does not hold"
        print(f"{row['what']}: {measured} of {row['asked']}, {holds} ({row['note']})")
    found = broken(rows)
    for line in found:
        print(f"broken: {line}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
