"""A budget of false alarms as it is written in commands."""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBudget:
    """What was stated; None takes a budget away."""

    alarms_per_week: float | None


SHARED = "shared"
"""Instead of a budget of its own."""


def budget_option(text: str) -> StatedBudget:
    """A number, or none."""
    if text == "none":
        return StatedBudget(alarms_per_week=None)
    try:
        return StatedBudget(alarms_per_week=float(text))
    except ValueError:
        raise ArgumentTypeError(f'"{text}" is neither a number nor none') from None


def own_budget_option(text: str) -> StatedBudget | str:
    """A number, none or shared."""
    return SHARED if text == SHARED else budget_option(text)
