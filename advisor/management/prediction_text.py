"""The accuracy of predictions, as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accounts.table import table
from advisor.core.quantity import format_rate
from advisor.models import PredictionScore, Recommendation
from advisor.queries.calibration import CalibrationSummary, OriginAccuracy
from advisor.queries.recommendations import why_not_scored

EFFECT_GAP = "it was scored before effects were kept"


def prediction_text(row: Recommendation) -> str:
    """Predicted against measured for one recommendation that became a policy."""
    found = PredictionScore.objects.filter(recommendation=row).first()
    if found is None:
        return f"Predicted against measured: not scored; {why_not_scored(row)}"
    unit = row.resource.unit
    rates = [
        {
            "workload": rate["workload"],
            "host": rate["host"],
            "predicted": format_rate(rate["predicted"], unit),
            "measured": format_rate(rate["measured"], unit),
            "in all windows": _in_all(rate, unit),
            "effect": _effect(rate, unit),
        }
        for rate in found.rates
    ]
    verdict = "held" if found.held else "did not hold"
    errors = f"{found.worst_error_ratio:.0%} of the capacity, bias {found.bias_ratio:+.0%}"
    told = f"it {verdict}; worst error {errors}; {found.loads_text}"
    shown = table(rates, list(rates[0])) if rates else ""
    return f"Predicted against measured: {told}\n{shown}"


def _in_all(rate: Mapping[str, Any], unit: str) -> str:
    """What was measured over all windows, whatever the load was."""
    found = rate.get("measured_in_all")
    return "" if found is None else format_rate(found, unit)


def _effect(rate: Mapping[str, Any], unit: str) -> str:
    """What the policy did, beside workloads that no policy touched; or why it is not known."""
    found = rate.get("effect")
    if found is None:
        return f"unknown: {rate.get('effect_gap') or EFFECT_GAP}"
    mean, low, high = (_signed(found[name], unit) for name in ("mean", "low", "high"))
    return f"{mean} ({low} to {high}, {found['donors']} others)"


def _signed(change: float, unit: str) -> str:
    return f"{'-' if change < 0 else '+'}{format_rate(abs(change), unit)}"


def calibration_text(found: CalibrationSummary) -> str:
    """All scored predictions in one line."""
    coverage = ""
    if found.coverage is not None:
        inside, level = found.coverage.inside_ratio, found.coverage.level
        coverage = f", intervals covered {inside:.0%} of the rates, {level:.0%} were meant"
    compared = ""
    if found.compared_ratio is not None:
        compared = f", by {found.compared_ratio:.0%} of the windows, which had the load told"
    unscored = f"; {found.unscored} more are not scored" if found.unscored else ""
    return (
        f"{found.held} of {found.count} predictions held: bias {found.bias_ratio:+.0%}, mean "
        f"error {found.error_ratio:.0%} of the capacity{coverage}{compared}{unscored}"
    )


def accuracy_text(rows: Sequence[OriginAccuracy]) -> str:
    """A row for each origin and kind of resource."""
    shown = [
        {
            "measured after": one.origin,
            "on": one.kinds,
            "rates": one.coverage.count,
            "within the range told": f"{one.coverage.inside_ratio:.0%}",
            "meant": f"{one.coverage.level:.0%}",
            "bias": f"{one.bias_ratio:+.0%}",
            "CRPS": f"{one.crps_ratio:.0%}",
            "windows with the load told": f"{one.compared_ratio:.0%}",
            "within the range there": f"{one.as_told.inside_ratio:.0%}",
        }
        for one in rows
    ]
    return table(shown, list(shown[0])) if shown else ""
