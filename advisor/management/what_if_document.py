"""The answer of a what-if for programs."""

from __future__ import annotations

from typing import Any

from advisor.core.canonical import to_plain
from advisor.core.forecast.prediction_interval import Interval
from advisor.core.forecast.what_if import WhatIf, WhatIfInputs, WhatIfRow


def what_if_document(inputs: WhatIfInputs, found: WhatIf) -> dict[str, Any]:
    """Every workload now and then, in the unit of the resource."""
    return {
        "resource": inputs.resource,
        "unit": inputs.unit.value,
        "capacity": inputs.capacity_after,
        "capacity_source": inputs.capacity_source,
        "began_at": inputs.began_at,
        "ended_at": inputs.ended_at,
        "windows": found.windows,
        "congested_windows": found.congested_windows,
        "idle_ratio_before": found.idle_ratio_before,
        "idle_ratio_after": found.idle_ratio_after,
        "refused": list(found.refused),
        "reason": found.refusal or found.gap,
        "pools": [to_plain(pool) for pool in inputs.pools_after],
        "workloads": [_plain(row) for row in found.rows],
    }


def _plain(row: WhatIfRow) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "workload": row.workload,
        "host": row.host,
        "change": row.change.value,
        "now": row.now,
        "then": row.then,
        "entitlement_before": row.entitlement_before,
        "entitlement_after": row.entitlement_after,
    }
    for name in ("shares", "reservation", "limit"):
        plain[f"{name}_before"] = getattr(row.before, name)
        plain[f"{name}_after"] = getattr(row.after, name)
    for name, past in (("past", row.past), ("contended", row.contended)):
        keys = ("rate", "throttled_min", "unmet_min")
        plain[name] = past and {
            f"{key}_{when}": getattr(past, f"{key}_{when}")
            for key in keys
            for when in ("before", "after")
        }
    latency = row.latency
    plain["latency"] = {
        "p95_before_ms": latency.p95_before_ms,
        "p95_after_ms": latency.p95_after_ms,
        "starved_min_before": latency.starved_min_before,
        "starved_min_after": latency.starved_min_after,
        "interval_ms": _ends(row.latency_interval),
        "reason": latency.gap,
    }
    plain["then_interval"] = _ends(row.then_interval)
    plain["interval_reason"] = row.interval_gap
    return plain


def _ends(interval: Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {"low": interval.low, "high": interval.high, "level": interval.level}
