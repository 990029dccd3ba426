"""The load of each workload on a resource and the harm to it, window by window."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.core.dependence import Floats
from advisor.core.number_checks import check_amount

LARGEST = 1e150
"""Larger loads and latencies are refused, so that sums of squares stay finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSeries:
    """One workload over the windows of a study; None is a window without a measurement.

    `load` is device time per second (on an uplink bits per second), in one unit for all.
    `harm` is its latency in ms, or its shortfall; None means that it was not measured.
    `entitlement` is only compared among workloads: the solver's result, or shares.
    """

    workload: str
    load: tuple[float | None, ...]
    harm: tuple[float | None, ...] | None = None
    entitlement: float = 1.0

    def __post_init__(self) -> None:
        check_amount(f"entitlement of {self.workload}", self.entitlement)
        for name, column in (("load", self.load), ("harm", self.harm or ())):
            if not _are_amounts([value for value in column if value is not None]):
                self._refuse(name, column)

    def _refuse(self, name: str, column: Sequence[float | None]) -> None:
        for index, value in enumerate(column):
            if value is not None and not 0 <= value <= LARGEST:
                raise ValueError(
                    f"{name} {index} of {self.workload} is {value!r}; "
                    f"it must be a number from 0 to {LARGEST:g}"
                )


def _are_amounts(values: Sequence[float]) -> bool:
    # The sum tells of NaN, which the least and the largest may pass over.
    return not values or (min(values) >= 0 and max(values) <= LARGEST and sum(values) >= 0)


def matrix_of(rows: Sequence[Sequence[float | None]], windows: int) -> Floats:
    """The rows as an array (rows, windows), NaN for None."""
    return np.array(rows, dtype=np.float64).reshape(len(rows), windows)
