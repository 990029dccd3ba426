"""The past of a resource as input of advice, what-if and simulation: capacity and demands.

Under contention a demand is unknown and counts as unlimited, so a simulated rate can be many times
what an allocation ever took. A bound limits it to the known maximum, or to the measured rate if
that was higher.
Latency is simulated without bounds, because it depends on how fast an allocation is served.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import inf
from statistics import fmean
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from advisor.core.canonical import to_plain
from advisor.core.forecast.prediction_interval import Outcome
from advisor.core.number_checks import check_amount, check_aware, check_positive
from advisor.core.standing import wanted
from advisor.core.waterfill import Booleans, Floats

Integers = npt.NDArray[np.int64]
Row = tuple[float | None, ...]
"""One number per allocation, in the order of the allocations; None means not measured."""
Table = Floats | Sequence[Sequence[float | None]]
"""Numbers (windows, allocations); NaN or None means not measured."""

Bounds = Sequence[float | None]
"""The known maximum demand of each allocation, None if unknown; empty means no bounds."""

HEADROOM = 1.05
ENOUGH_CALM_WINDOWS = 30

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryWindow:
    """One past window: the capacity, and the demand of each workload.

    `demands` are in the order of the workloads; None means more than it got, by an unknown amount.
    """

    at: datetime
    window_s: float
    capacity: float
    demands: tuple[float | None, ...]

    def __post_init__(self) -> None:
        check_aware("at", self.at)
        check_positive("window_s", self.window_s)
        check_amount("capacity", self.capacity)
        for value in self.demands:
            check_amount("demand", value)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Windows:
    """Past windows as columns: their ends, lengths and capacities, each (windows).

    `demands` are (windows, allocations); infinite means more than it got, by an unknown amount.
    """

    at_us: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    window_s: Floats = field(default_factory=lambda: np.zeros(0))
    capacity: Floats = field(default_factory=lambda: np.zeros(0))
    demands: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def __len__(self) -> int:
        return len(self.at_us)

    @property
    def ends(self) -> list[datetime]:
        """(windows)."""
        return [_EPOCH + timedelta(microseconds=at_us) for at_us in self.at_us.tolist()]

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        """The first and the last end of at least one window."""
        first_us, last_us = int(self.at_us.min()), int(self.at_us.max())
        return _EPOCH + first_us * _MICROSECOND, _EPOCH + last_us * _MICROSECOND

    def chosen(self, which: Booleans) -> Windows:
        """Those of the windows, (windows)."""
        return Windows(
            at_us=self.at_us[which],
            window_s=self.window_s[which],
            capacity=self.capacity[which],
            demands=self.demands[which],
        )

    def rows(self) -> tuple[HistoryWindow, ...]:
        """Each by itself, in order."""
        return tuple(
            HistoryWindow(at=at, window_s=window_s, capacity=capacity, demands=_known(row))
            for at, window_s, capacity, row in zip(
                self.ends,
                self.window_s.tolist(),
                self.capacity.tolist(),
                self.demands.tolist(),
                strict=True,
            )
        )


def windows_of(rows: Sequence[HistoryWindow]) -> Windows:
    """The windows as columns. ValueError if they differ in the number of demands."""
    if len({len(row.demands) for row in rows}) > 1:
        raise ValueError("every window must have one demand per allocation")
    demands = [[inf if one is None else one for one in row.demands] for row in rows]
    return Windows(
        at_us=np.array([(row.at - _EPOCH) // _MICROSECOND for row in rows], dtype=np.int64),
        window_s=np.array([row.window_s for row in rows], dtype=np.float64),
        capacity=np.array([row.capacity for row in rows], dtype=np.float64),
        demands=np.array(demands, dtype=np.float64).reshape(len(rows), -1 if rows else 0),
    )


def _known(row: Sequence[float]) -> Row:
    """The numbers; None is one that is infinite or NaN."""
    return tuple(None if value == inf or value != value else value for value in row)


def windows_between(
    ends_us: Integers,
    rate: Floats,
    backlogged: Floats,
    *,
    window_s: float,
    capacity: float,
    congested: Booleans,
) -> Windows:
    """Past windows in order; an allocation that is absent from a window has no demand.

    `rate` and `backlogged` (1, 0 or NaN) are (windows, allocations); NaN is absent. In `congested`
    windows the capacity is what was delivered, and an allocation that kept up may have wanted
    more. In the others every demand was met.
    """
    known = np.where(np.isnan(rate), 0.0, rate)
    delivered = known.sum(axis=1)
    demands = known.copy()
    got, queued = rate[congested], backlogged[congested]
    # Idle allocations do not tell how much the others keep up with.
    asked = wanted(np.where(known[congested] > 0, got, np.nan), queued)
    asked = np.where((queued == 1) & ~np.isnan(got), np.inf, asked)
    demands[congested] = np.where(np.isnan(asked), known[congested], asked)
    return Windows(
        at_us=ends_us,
        window_s=np.full(len(ends_us), window_s),
        capacity=np.where(congested, delivered, np.maximum(capacity, delivered)),
        demands=demands,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPast:
    """`Past` as it is stored: a tuple for each column, and in `rates` one for each window."""

    windows: tuple[HistoryWindow, ...] = ()
    congested: tuple[bool, ...] = ()
    rates: tuple[Row, ...] = ()
    latency_ms: Row = ()
    outcomes: tuple[Outcome, ...] = ()
    gap: str = ""
    latency_gap: str = ""

    def __post_init__(self) -> None:
        count = len(self.windows)
        if len(self.congested) != count:
            raise ValueError("congested must have one value per window")
        if self.rates and len(self.rates) != count:
            raise ValueError("rates must have one row per window")
        if self.latency_ms and len(self.latency_ms) != count:
            raise ValueError("latency_ms must have one value per window")
        for window, row in zip(self.windows, self.rates, strict=False):
            if len(row) != len(window.demands):
                raise ValueError("rates must have one number per allocation")
            _check_row("rate", row)
        _check_row("latency_ms", self.latency_ms)


def _check_row(name: str, row: Sequence[float | None]) -> None:
    for value in row:
        check_amount(name, value)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Past:
    """Windows with one demand per allocation, and the outcomes of earlier predictions.

    `congested` (windows) says of each whether the resource was congested. `rates` (windows,
    allocations) may be unknown. `latency_ms` (windows) is the device's latency; if it is unknown,
    `latency_gap` says why. NaN is not measured. `gap` says why windows are missing.
    """

    STORED: ClassVar[type[StoredPast]] = StoredPast

    windows: Windows = field(default_factory=Windows)
    congested: Booleans = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    rates: Floats | None = None
    latency_ms: Floats | None = None
    outcomes: tuple[Outcome, ...] = ()
    gap: str = ""
    latency_gap: str = ""

    @classmethod
    def of(cls, stored: StoredPast) -> Past:
        """The columns of what was stored."""
        return cls(
            windows=windows_of(stored.windows),
            congested=np.array(stored.congested, dtype=np.bool_),
            rates=np.array(stored.rates, dtype=np.float64) if stored.rates else None,
            latency_ms=np.array(stored.latency_ms, dtype=np.float64)
            if stored.latency_ms
            else None,
            outcomes=stored.outcomes,
            gap=stored.gap,
            latency_gap=stored.latency_gap,
        )

    def stored(self) -> StoredPast:
        """What is stored of it; `of` takes it back without the loss of a digit."""
        latency = () if self.latency_ms is None else _known(self.latency_ms.tolist())
        return StoredPast(
            windows=self.windows.rows(),
            congested=tuple(self.congested.tolist()),
            rates=() if self.rates is None else tuple(map(_known, self.rates.tolist())),
            latency_ms=latency,
            outcomes=self.outcomes,
            gap=self.gap,
            latency_gap=self.latency_gap,
        )

    def plain(self) -> dict[str, Any]:
        """What JSON keeps of `stored()`, without a row for each of thousands of numbers."""
        if not self._is_sound():
            # This says which of the numbers is wrong.
            self.stored()
        windows = self.windows
        columns = (windows.window_s, windows.capacity)
        return {
            "windows": [
                {
                    "at": at.isoformat().replace("+00:00", "Z"),
                    "window_s": window_s,
                    "capacity": capacity,
                    "demands": demands,
                }
                for at, window_s, capacity, demands in zip(
                    windows.ends,
                    *(column.tolist() for column in columns),
                    _plain_rows(windows.demands),
                    strict=True,
                )
            ],
            "congested": self.congested.tolist(),
            "rates": [] if self.rates is None else _plain_rows(self.rates),
            "latency_ms": []
            if self.latency_ms is None
            else list(_known(self.latency_ms.tolist())),
            "outcomes": [to_plain(one) for one in self.outcomes],
            "gap": self.gap,
            "latency_gap": self.latency_gap,
        }

    def _is_sound(self) -> bool:
        """Whether it may be stored: no length differs, and no number is below 0."""
        windows, rates, latency_ms = self.windows, self.rates, self.latency_ms
        lengths = [len(self.congested)]
        lengths += [len(column) for column in (rates, latency_ms) if column is not None]
        amounts = (windows.capacity, windows.demands, rates, latency_ms)
        return (
            set(lengths) == {len(windows)}
            and (rates is None or rates.shape == windows.demands.shape)
            and bool((np.isfinite(windows.window_s) & (windows.window_s > 0)).all())
            and bool(np.isfinite(windows.capacity).all())
            and not any(one is not None and (one < 0).any() for one in amounts)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Past) and self.stored() == other.stored()

    def __hash__(self) -> int:
        return hash(self.stored())

    @property
    def hours(self) -> float:
        """The time that the windows cover."""
        return float(self.windows.window_s.sum()) / 3600

    @property
    def outstanding(self) -> Floats | None:
        """Outstanding I/Os of each allocation, by Little's law; None if unknown."""
        if self.rates is None or self.latency_ms is None:
            return None
        return self.rates * (self.latency_ms / 1000)[:, np.newaxis]

    @property
    def pressure(self) -> Floats | None:
        """How strongly each allocation competed, as weights: its rates; None if unknown."""
        return None if self.rates is None else np.where(np.isnan(self.rates), 0.0, self.rates)

    def chosen(self, which: Booleans) -> Past:
        """Those of the windows, (windows)."""
        return replace(
            self,
            windows=self.windows.chosen(which),
            congested=self.congested[which],
            rates=None if self.rates is None else self.rates[which],
            latency_ms=None if self.latency_ms is None else self.latency_ms[which],
        )

    def contended(self) -> Past:
        """The congested windows only."""
        return self.chosen(self.congested)

    def outside(self, since: datetime, until: datetime) -> Past:
        """The windows that do not reach into this time."""
        begin_us, end_us = ((at - _EPOCH) // _MICROSECOND for at in (since, until))
        windows = self.windows
        began_us = windows.at_us - np.rint(windows.window_s * 1e6).astype(np.int64)
        return self.chosen((windows.at_us <= begin_us) | (began_us >= end_us))

    def and_then(self, later: Past) -> Past:
        """These windows and later ones of the same allocations; all else is that of the later."""
        first, second = self.windows, later.windows
        latency = [
            np.full(len(one.windows), np.nan) if one.latency_ms is None else one.latency_ms
            for one in (self, later)
        ]
        known = self.latency_ms is not None or later.latency_ms is not None
        return replace(
            later,
            windows=Windows(
                at_us=np.concatenate([first.at_us, second.at_us]),
                window_s=np.concatenate([first.window_s, second.window_s]),
                capacity=np.concatenate([first.capacity, second.capacity]),
                demands=np.concatenate([first.demands, second.demands]),
            ),
            congested=np.concatenate([self.congested, later.congested]),
            rates=None
            if self.rates is None or later.rates is None
            else np.concatenate([self.rates, later.rates]),
            latency_ms=np.concatenate(latency) if known else None,
            latency_gap="" if known else later.latency_gap,
        )


def _plain_rows(table: Floats) -> list[Any]:
    """The numbers (windows, allocations), None for one that is infinite or NaN."""
    rows: list[Any] = table.tolist()
    for place in np.flatnonzero(~np.isfinite(table).all(axis=1)).tolist():
        rows[place] = list(_known(rows[place]))
    return rows


def bounds_of(past: Past) -> Row:
    """1.05 times the 95th percentile of what each allocation took in calm windows.

    None with fewer than `ENOUGH_CALM_WINDOWS` windows of known demand, and for an allocation that
    took more than that in the congested windows, because its demand there is unknown.
    """
    if not len(past.windows):
        return ()
    if past.rates is None:
        return (None,) * len(past.windows.demands.T)
    crowded = past.rates[past.congested]
    found = _calm_bounds(past.windows.demands[~past.congested])
    return tuple(
        None if bound is None or _takes_more(taken, bound) else bound
        for bound, taken in zip(found, crowded.T, strict=True)
    )


def _calm_bounds(demands: Floats) -> Row:
    """The bound of each allocation by its known demands in calm windows; None with too few."""
    known = np.isfinite(demands)
    if known.all() and len(demands) >= ENOUGH_CALM_WINDOWS:
        usual: list[float] = np.percentile(demands, 95, axis=0).tolist()
        return tuple(HEADROOM * value for value in usual)
    own = [column[is_known] for column, is_known in zip(demands.T, known.T, strict=True)]
    return tuple(
        HEADROOM * float(np.percentile(calm, 95)) if len(calm) >= ENOUGH_CALM_WINDOWS else None
        for calm in own
    )


def _takes_more(taken: Floats, bound: float) -> bool:
    known = taken[~np.isnan(taken)]
    return len(known) > 0 and fmean(known.tolist()) > bound


def bounded(past: Past, bounds: Bounds) -> Windows:
    """The windows of the past with unknown demands replaced by known bounds."""
    if past.rates is None or all(bound is None for bound in bounds):
        return past.windows
    most = np.array([inf if bound is None else bound for bound in bounds])
    demands = past.windows.demands
    # A bound that is unknown leaves the demand unknown.
    least = np.fmax(most, past.rates)
    return replace(past.windows, demands=np.where(np.isinf(demands), least, demands))
