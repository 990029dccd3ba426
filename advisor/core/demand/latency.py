"""How long I/Os take under a policy, from how long all took while calm and while congested.

Before a policy everybody waits in the one queue of the device, so each workload's I/Os take what
the device says, and by Little's law it has X · R of them in flight: X its rate, R the latency.
Under the policy who asks for more than its due waits in its own queue, the others hardly at all:

    served    R = R_least + w       w: the wait behind a few I/Os of a device that is kept busy
    held      R = n / X             n: in flight while congested, all of whom wait
    answers   R = N / X - Z         N clients that think for Z: N = X · (R + Z) calm and now
    grew      R = 0.75 n / X        half as many to twice as many: iocost lets who submits wait, so
                                    a queue of asynchronous I/O does not fill; of blocking clients
                                    more wait. Who grew less than others may as well be served

How many I/Os are in front of one's own in a device that iocost keeps busy was measured in
`make lab`: about 6, 3 to 18 of them. Where the policy leaves the device idle there are none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

from advisor.core.demand.forecast import Forecast
from advisor.core.demand.kind import HELD_RATIO, Demand, DemandKind, SeenRates
from advisor.core.forecast.prediction_interval import Interval

LEVEL = 0.8
"""Part of the outcomes that should be within the bounds."""
IN_FRONT = (3.0, 6.0, 18.0)
"""I/Os in front of one's own: few, as expected, many."""
BUSY_RATIO = 0.9
"""From this part of the capacity on the device is kept busy; a mechanism keeps a little back."""
SERVED_RATIO = 0.98
LEAST_PERCENTILE = 5.0
"""Of the latencies of calm windows; the very least may be that of a window with hardly an I/O."""
SPREAD = 1.15
GROWN = (0.5, 0.75, 2.0)
"""Of who grew this part of what was seen is in flight: few, as expected, many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenLatency:
    """What I/Os of a device took on the mean, in calm windows and in those of the incident.

    `least_ms` is that of the calm windows in which they took least: there they hardly waited. None
    in advice of former versions.
    """

    calm_ms: float
    congested_ms: float
    least_ms: float | None = None

    @property
    def unhindered_ms(self) -> float:
        """What an I/O takes that nobody is in front of, as far as that was seen."""
        return self.calm_ms if self.least_ms is None else self.least_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clients:
    """So many clients, as a rate times ms, that think for so long."""

    count: float
    think_ms: float

    def rate(self, latency_ms: float) -> float:
        return self.count / (self.think_ms + latency_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyForecast:
    """The latency that is expected, and its bounds."""

    ms: float
    interval: Interval


def with_clients(
    demands: Sequence[Demand],
    seen: Sequence[SeenRates],
    latency: SeenLatency,
    *,
    capacity: float,
) -> list[Demand]:
    """The same demands, and of who was held back the part that it wants while it is served.

    N clients that think for Z want N / (Z + R), and R is then the least latency and the wait.
    """
    few, _, many = (latency.unhindered_ms + 1000 * count / capacity for count in IN_FRONT)
    found = []
    for demand, windows in zip(demands, seen, strict=True):
        clients = _clients(windows, latency) if demand.kind is DemandKind.PACED else None
        if clients is None or demand.mean == 0:
            found.append(demand)
            continue
        parts = [min(clients.rate(ms) / float(windows.calm.mean()), 1.0) for ms in (many, few)]
        found.append(replace(demand, parts=(parts[0], parts[1])))
    return found


def latencies(
    demands: Sequence[Demand],
    seen: Sequence[SeenRates],
    rates: Forecast,
    latency: SeenLatency,
    *,
    capacity: float,
) -> list[LatencyForecast | None]:
    """The latency of each workload's I/Os; None where it does none, or too little is known."""
    is_busy = float(rates.rate.sum()) >= BUSY_RATIO * capacity
    waits_ms = [1000 * count / capacity if is_busy else 0.0 for count in IN_FRONT]
    free_ms = latency.unhindered_ms if is_busy else latency.calm_ms
    served = [free_ms + wait_ms for wait_ms in waits_ms]
    found: list[LatencyForecast | None] = []
    for place, (demand, windows) in enumerate(zip(demands, seen, strict=True)):
        low, rate, high = (float(column[place]) for column in (rates.low, rates.rate, rates.high))
        if demand.kind in (DemandKind.IDLE, DemandKind.UNKNOWN) or rate <= 0:
            found.append(None)
            continue
        if not demand.is_open and rate >= SERVED_RATIO * float(rates.wanted[place]):
            found.append(_between(*served))
            continue
        # The more it gets, the sooner each I/O is done.
        queued = [_queued_ms(windows, latency, one) for one in (high, rate, low)]
        if demand.is_open:
            queued = [ms * part for ms, part in zip(queued, GROWN, strict=True)]
        if demand.is_open and isfinite(demand.most):
            queued[:2] = served[:2]
        found.append(_between(*(max(pair) for pair in zip(queued, served, strict=True))))
    return found


def _queued_ms(windows: SeenRates, latency: SeenLatency, rate: float) -> float:
    """What the I/Os of who is held back take at this rate."""
    if rate <= 0:
        return 0.0
    clients = _clients(windows, latency)
    if clients is None:
        return float(windows.congested.mean()) * latency.congested_ms / rate
    return max(clients.count / rate - clients.think_ms, 0.0)


def _clients(windows: SeenRates, latency: SeenLatency) -> _Clients | None:
    """Told by what was in flight at two rates; None of who was not held back by the wait."""
    if not len(windows.calm):
        return None
    calm, congested = float(windows.calm.mean()), float(windows.congested.mean())
    before, now = calm * latency.calm_ms, congested * latency.congested_ms
    if congested >= HELD_RATIO * calm or now <= before:
        return None
    think_ms = (now - before) / (calm - congested)
    return _Clients(count=before + think_ms * calm, think_ms=think_ms)


def _between(low: float, expected: float, high: float) -> LatencyForecast:
    interval = Interval(low=low / SPREAD, high=max(high, expected) * SPREAD, level=LEVEL)
    return LatencyForecast(ms=expected, interval=interval)
