"""How settings of vCenter, and ours, are written."""

from __future__ import annotations

from advisor.core.quantity import format_rate
from advisor.core.resource import Unit
from advisor.decisions.vcenter.decide.proposal import Stated
from ingest.core.vcenter.inventory import Controls


def controls_text(controls: Controls, unit: Unit) -> str:
    """What vCenter states, without what is not limited or reserved."""
    parts = [f"shares {controls.level} ({controls.shares})"]
    return ", ".join([*parts, *_rates(controls.limit, controls.reservation, unit)])


def stated_text(stated: Stated, unit: Unit) -> str:
    """What we state."""
    parts = ["shares of the tier" if stated.shares is None else f"shares {stated.shares}"]
    return ", ".join([*parts, *_rates(stated.limit, stated.reservation, unit)])


def _rates(limit: float | None, reservation: float, unit: Unit) -> list[str]:
    rates = [] if limit is None else [f"limit {format_rate(limit, unit)}"]
    return [*rates, *([f"reservation {format_rate(reservation, unit)}"] if reservation else [])]
