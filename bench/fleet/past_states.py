"""What the detector would have stored of the calm past, in the product's present form."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from django.db import connection

from advisor.models import Resource, State
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
            keys = dict(Resource.objects.values_list("name", "pk"))
            with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
                for group in range(self._groups):
                    key = keys[f"{name}-{group:03}"]
                    pairs = zip(times, values[:, group], loads[:, group], strict=True)
                    for at, value, load in pairs:
                        row = (key, at, since, State.CLEAR, value, threshold, load, "", "[]")
                        copy.write_row(row)


_COPY = (
    "COPY advisor_statepoint (resource_id, at, since, state, value, threshold, load, reason,"
    " signals) FROM STDIN"
)
