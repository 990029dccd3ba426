"""What advice is expected to bring, in a line; whoever reads it has no page before them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from advisor.core.quantity import amount_text, format_rate
from advisor.models import Recommendation

MOST = 2


def expected_effect(advice: Recommendation, *, harmed: Collection[str], unit: str) -> str:
    """From what to what, of those first who are harmed; empty where nothing sure is foretold.

    It reads the stored answer leniently: another version may have written it.
    """
    answer = json.loads(advice.answer)
    said = [*_rates(answer.get("allocations", ()), harmed, unit), *_effects(answer)]
    return f"Expected if approved: {'; '.join(said[:MOST])}." if said else ""


def _rates(rows: Collection[Mapping[str, Any]], harmed: Collection[str], unit: str) -> list[str]:
    known = [
        one
        for one in rows
        if not one.get("unsure")
        and one.get("measured") is not None
        and one.get("predicted_after") is not None
    ]
    known.sort(key=lambda one: (one["workload"] not in harmed, -abs(_change(one))))
    return [_rate(one, unit) for one in known]


def _change(row: Mapping[str, Any]) -> float:
    return float(row["predicted_after"] - row["measured"])


def _rate(row: Mapping[str, Any], unit: str) -> str:
    before, after = (format_rate(row[name], unit) for name in ("measured", "predicted_after"))
    interval = row.get("interval")
    between = ""
    if interval:
        low, high = (format_rate(interval[name], unit) for name in ("low", "high"))
        between = f" ({low} to {high})"
    return f"{row['workload']} {before} → {after}{between}"


def _effects(answer: Mapping[str, Any]) -> Iterator[str]:
    for one in answer.get("effects", ()):
        before, after = (amount_text(one.get(name), one["unit"]) for name in ("before", "after"))
        if before is not None and after is not None:
            yield f"{one['quantity']} {before} → {after}"
