"""What the detector would have stored of the calm past."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from advisor.core.detection.congestion import CongestionState, StatePoint
from advisor.history.level_store import save_points
from advisor.models import Resource
from bench.fleet.copy_rows import Integers
from bench.fleet.shape import FleetShape, History
from bench.fleet.traffic import (
    CAPACITY_BITS_PER_S,
    FULL_RATIO,
    THRESHOLD_MS,
    Floats,
    Growth,
)


class PastStates:
    """A state per resource and step, as long as the fleet is calm."""

    def __init__(self, shape: FleetShape, history: History) -> None:
        self._history = history
        self._groups = shape.groups
        self._ends: list[Integers] = []
        self._values: list[tuple[Floats, Floats]] = []
        self._loads: list[tuple[Floats, Floats]] = []

    def note(self, ends_s: Integers, grown: Growth) -> None:
        """Remember the levels of datastores and of uplinks in these steps."""
        self._ends.append(ends_s)
        self._values.append((grown.latency_ms, grown.sent_bits_per_s / CAPACITY_BITS_PER_S))
        self._loads.append((grown.iops, grown.sent_bits_per_s))

    def write(self) -> None:
        """Store them."""
        ends_s = np.concatenate(self._ends)
        calm = ends_s <= self._history.calm_until.timestamp()
        times = [datetime.fromtimestamp(one, UTC) for one in ends_s[calm]]
        since = self._history.first_at
        for kind, name, threshold in ((0, "store", THRESHOLD_MS), (1, "uplink", FULL_RATIO)):
            values = np.concatenate([one[kind] for one in self._values])[calm]
            loads = np.concatenate([one[kind] for one in self._loads])[calm]
            keys = {row.name: row for row in Resource.objects.all()}
            save_points(
                {
                    keys[f"{name}-{group:03}"]: [
                        _calm(at, since, value, threshold, load)
                        for at, value, load in zip(
                            times, values[:, group].tolist(), loads[:, group].tolist(), strict=True
                        )
                    ]
                    for group in range(self._groups)
                }
            )


def _calm(
    at: datetime, since: datetime, value: float, threshold: float, load: float
) -> StatePoint:
    return StatePoint(
        at=at, since=since, state=CongestionState.CLEAR, value=value, threshold=threshold,
        load=load, reason="",
    )  # fmt: skip
