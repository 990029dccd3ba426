"""By which power of its size the cost of something grows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bench.fleet.rows import Row, at_most

SLOPE_ASKED = 1.10


def log_log_slope(cost_by_size: Mapping[int, float]) -> float | None:
    """The exponent of the power law that fits best: 1 is linear, 2 quadratic.

    None for fewer than two sizes, or for a cost that is too small to be measured.
    """
    if len(cost_by_size) < 2 or min(cost_by_size.values()) <= 0:
        return None
    sizes = np.log(np.array(list(cost_by_size), dtype=float))
    costs = np.log(np.array(list(cost_by_size.values())))
    slope, _ = np.polyfit(sizes, costs, 1)
    return float(slope)


def slope_row(name: str, cpu_s_by_size: Mapping[int, float]) -> Row:
    """The exponent of these costs."""
    note = ", ".join(f"{size}: {1000 * cpu_s:.0f} ms" for size, cpu_s in cpu_s_by_size.items())
    ends = f"{min(cpu_s_by_size)} to {max(cpu_s_by_size)} workloads"
    what = f"slope of CPU per window, {ends}, {name}"
    return at_most(what, "exponent", SLOPE_ASKED, log_log_slope(cpu_s_by_size), note)
