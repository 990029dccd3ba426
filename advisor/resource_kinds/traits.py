"""The traits of a kind of resource: everything that differs between kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.core.allocation import ReservationMode
from advisor.core.attribution.measure import Measure
from advisor.core.detection.nic_signals import NicJudgement
from advisor.core.detection.reading import Reading
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.quantity import significant
from advisor.core.resource import Unit
from advisor.resource_kinds.reader import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The nouns for a resource of the kind.

    `alone` is the noun if one host alone uses it; None if that makes no difference.
    """

    area: str
    noun: str
    plural: str
    alone: str | None = None

    def of(self, host_count: int) -> str:
        """The noun for a resource that this many hosts reach."""
        return self.alone if self.alone is not None and host_count == 1 else self.noun


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The value that is compared with the threshold; it is shown times `per_unit`."""

    noun: str
    unit: str
    per_unit: float = 1.0

    def text(self, value: float) -> str:
        """The value with its unit; a percentage is written whole."""
        if self.unit == "%":
            return f"{value * self.per_unit:.0f}%"
        return f"{significant(value * self.per_unit)} {self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPlan:
    """One chart of the page; `form` is line or stack."""

    key: str
    title: str
    form: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTraits:
    """One kind of resource; the first of `units` and of `modes` is the default.

    - `reservable_ratio`: the fraction of line rate or capacity that can be reserved.
    - `threshold_modes`: the allowed sources of its threshold.
    - `host_part`: from the capacity, the part for the host's own traffic; None keeps none.
    - `activity_floor`: from the capacity (None if unknown), the rate below which nothing is
      congested, in the default unit.
    - `one_device`: why only one device reaches it; empty if many hosts may.
    - `has_windows`: whether hosts hold windows of requests on it, and tell each other of them
    - `found_by_identity`: whether it is found by what its devices say of themselves, and not
      by their names alone.
    - `facts`: the columns of a resource that only this kind has.
    - `device_pattern`: devices of this name are discovered from samples of `reader`;
      `payload_ratio` of a discovered device's link speed is its capacity, None if it has no link.
    - `adapter`: by which workloads are distinguished; `adapter_option` is its option.
    - `load_unit`: the unit of its measured load, whatever the unit of its allocations.
    - `fixed_capacity`: whether it delivers its stated capacity under any load; of others what was
      delivered while congested counts.
    - `costs_by_size`: whether the size of an I/O tells what it costs.
    - `shows_queues`: whether agents see the queue of each workload on it.
    - `needs_capacity`: whether its level is known only with a capacity.
    - `counts_before_limit`: whether rates are counted before our limits act on them.
    - `hides_load`: whether it can have load that none of our hosts measures.
    - `carries_others`: whether other resources are reached through it.
    - `latency_gap`: why it has no latency of its own; empty if it has.
    - `judge_signals`: the conclusion from an incident's windows, None if only latency counts.
    - `harms_all`: whether its level is the harm to all; else each workload has its own shortfall.
    """

    name: str
    words: Words
    level: Level
    measure: Measure
    units: tuple[Unit, ...]
    modes: tuple[ReservationMode, ...]
    threshold: float
    threshold_modes: tuple[ThresholdMode, ...]
    activity_floor: Callable[[float | None], float]
    reader: Reader[Any]
    charts: tuple[ChartPlan, ...]
    adapter: str
    adapter_option: str
    load_unit: Unit
    device_pattern: re.Pattern[str]
    payload_ratio: float | None = None
    reservable_ratio: float = 0.75
    host_part: Callable[[float], float] | None = None
    one_device: str = ""
    found_by_identity: bool = False
    has_windows: bool = False
    facts: frozenset[str] = frozenset()
    fixed_capacity: bool = False
    costs_by_size: bool = False
    shows_queues: bool = False
    needs_capacity: bool = False
    counts_before_limit: bool = False
    hides_load: bool = False
    carries_others: bool = False
    latency_gap: str = ""
    harms_all: bool = False
    judge_signals: Callable[[Sequence[Reading]], NicJudgement] | None = None
