"""What was scored, in order, as a table: what was changed afterwards is another row."""

from __future__ import annotations

import json
from pathlib import Path

from bench.evaluation.table import table

SCORES = Path(__file__).parent / "scores.jsonl"


def kept_scores() -> str:
    """The table, as Markdown."""
    rows = [json.loads(line) for line in SCORES.read_text().splitlines()]
    return table(
        ["method", "scored", "hits", "by chance", "false alarms", "a day", "in alarm"],
        [
            [
                row["method"],
                f"{row['at']}, {row['note']}",
                f"{row['hits']} of {row['windows']}",
                f"{row['chance']:.1f}",
                f"{row['false_alarms']} in {row['days']:.0f} days",
                f"{row['false_alarms'] / row['days']:.2f}",
                "" if row["alarmed_ratio"] is None else f"{100 * row['alarmed_ratio']:.1f} %",
            ]
            for row in rows
        ],
    )
