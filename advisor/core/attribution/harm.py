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
    index: int,
    series: Sequence[WorkloadSeries],
    load: Floats,
    shared: Sequence[float | None] | None,
) -> tuple[Floats, Floats]:
    """Mean harm to all workloads but one, weighted by mean load, and their total load.

    `load` is (workloads, windows); both results are (windows). The weights are the same in all
    windows, so that a change of mix does not look like harm.
    """
    windows = load.shape[1]
    others = [row for row in range(len(series)) if row != index]
    measured = [row for row in others if series[row].harm is not None]
    control = np.nansum(load[others], axis=0)
    if not measured:
        nothing: Sequence[float | None] = [None] * windows
        return matrix_of([shared or nothing], windows)[0], control
    harm = matrix_of([series[row].harm or () for row in measured], windows)
    weight = np.nan_to_num(load[measured]).mean(axis=1, keepdims=True)
    known = np.where(np.isnan(harm), 0.0, weight)
    total = known.sum(axis=0)
    summed = (np.nan_to_num(harm) * known).sum(axis=0)
    mean = np.where(total > 0, summed / np.where(total > 0, total, 1.0), np.nan)
    return mean, np.nansum(load[measured], axis=0)


def _known(values: Floats) -> Floats:
    known: Floats = values[~np.isnan(values)]
    return known
