"""The harm to workloads: of each compared with its normal, and of all but one together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from advisor.core.attribution.workload_series import WorkloadSeries, matrix_of
from advisor.core.dependence import Floats

ENOUGH_NORMAL_WINDOWS = 12
"""Windows outside the incident that are needed to know what is normal."""
NORMAL_PERCENTILE = 95


@dataclass(frozen=True, slots=True, kw_only=True)
class VictimHarm:
    """The median harm to one workload in the incident, in the unit of harm.

    `lost_s` is the time above the 95th percentile of its normal. `normal` and `lost_s` are None
    if too few windows outside the incident are known.
    """

    workload: str
    normal: float | None
    during: float
    lost_s: float | None


def harms(
    series: Sequence[WorkloadSeries],
    during: npt.NDArray[np.bool_],
    window_s: float,
    *,
    without: Sequence[str],
) -> tuple[VictimHarm, ...]:
    """The workloads with measured harm in the incident, by lost time; `during` is (windows)."""
    found = []
    for one in series:
        if one.harm is None or one.workload in without:
            continue
        harm = matrix_of([one.harm], len(during))[0]
        inside, outside = _known(harm[during]), _known(harm[~during])
        if len(inside) == 0:
            continue
        normal = lost_s = None
        if len(outside) >= ENOUGH_NORMAL_WINDOWS:
            normal = float(np.median(outside))
            worst = np.percentile(outside, NORMAL_PERCENTILE)
            lost_s = float(np.count_nonzero(inside > worst)) * window_s
        found.append(
            VictimHarm(
                workload=one.workload,
                normal=normal,
                during=float(np.median(inside)),
                lost_s=lost_s,
            )
        )
    return tuple(sorted(found, key=lambda one: (-(one.lost_s or 0.0), -one.during, one.workload)))


def harm_of_others(
    series: Sequence[WorkloadSeries],
    load: Floats,
    shared: Sequence[float | None] | None,
) -> list[tuple[Floats, Floats]]:
    """By workload the mean harm to all others, weighted by mean load, and their total load.

    `load` is (workloads, windows); all results are (windows). The weights are the same in all
    windows, so that a change of mix does not look like harm.
    """
    windows = load.shape[1]
    nothing: Sequence[float | None] = [None] * windows
    common = matrix_of([shared or nothing], windows)[0]
    loads = np.nan_to_num(load)
    measured = [row for row, one in enumerate(series) if one.harm is not None]
    harm = matrix_of([series[row].harm or () for row in measured], windows)
    known = np.where(np.isnan(harm), 0.0, loads[measured].mean(axis=1, keepdims=True))
    all_loads = _Others(loads)
    own_loads, weights, sums = (
        _Others(one) for one in (loads[measured], known, np.nan_to_num(harm) * known)
    )
    place_of = {row: place for place, row in enumerate(measured)}
    found = []
    for row in range(len(series)):
        place = place_of.get(row)
        others = len(measured) if place is None else len(measured) - 1
        if not others:
            found.append((common, all_loads.but(row)))
            continue
        weight, summed = weights.but(place), sums.but(place)
        mean = np.where(weight > 0, summed / np.where(weight > 0, weight, 1.0), np.nan)
        found.append((mean, own_loads.but(place)))
    return found


class _Others:
    """Sums over all rows but one, of numbers that are not negative, (rows, windows).

    Each is what precedes the row and what follows it. To take the row from the sum of all would
    leave noise, which varies where nothing else does.
    """

    def __init__(self, values: Floats) -> None:
        nothing = np.zeros((1, values.shape[1]))
        self._before = np.concatenate([nothing, np.cumsum(values, axis=0)])
        self._after = np.concatenate([np.cumsum(values[::-1], axis=0)[::-1], nothing])

    def but(self, row: int | None) -> Floats:
        """The sum without this row, (windows); that of all without one."""
        result: Floats = self._before[-1]
        if row is not None:
            result = self._before[row] + self._after[row + 1]
        return result


def _known(values: Floats) -> Floats:
    known: Floats = values[~np.isnan(values)]
    return known
