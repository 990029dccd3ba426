"""Rates that were told as sure, and what was measured of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from advisor.core.forecast.prediction_interval import Interval
from advisor.models import NaturalScore, PredictionScore


def outcomes_of(rows: Iterable[PredictionScore | NaturalScore]) -> list[tuple[Interval, float]]:
    """Each rate that was told as sure: its range, and what was measured."""
    return [outcome_of(rate) for row in rows for rate in sure_rates(row)]


def sure_rates(row: PredictionScore | NaturalScore) -> Iterator[Mapping[str, Any]]:
    """Those of a score that were promised, not only suspected."""
    return (rate for rate in row.rates if rate.get("interval") and not rate.get("unsure"))


def outcome_of(rate: Mapping[str, Any]) -> tuple[Interval, float]:
    """The range that was told for a rate, and what was measured."""
    return Interval(**rate["interval"]), float(rate["measured"])
