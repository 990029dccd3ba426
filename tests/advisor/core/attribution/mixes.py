"""Synthetic mixes of workloads on one device, where who causes the latency is known."""

import numpy as np

from advisor.core.attribution.attribution import AttributionInputs
from advisor.core.attribution.measure import DEVICE_TIME
from advisor.core.attribution.workload_series import WorkloadSeries
from advisor.core.iosize import size_cost, size_normalized_ms

WINDOW_S = 10.0
INTERCEPT_MS = 0.5
SLOPE_MS = 0.1
SMALL, LARGE = 8_000.0, 128_000.0


def closed_loop_mix(
    seed,
    *,
    workloads=6,
    windows=180,
    aggressor=None,
    burst=40.0,
    size=SMALL,
    giant=None,
    second=None,
):
    """Clients that keep so many I/Os outstanding: L = a + b·Q, rate = outstanding / L.

    The aggressor keeps `burst` I/Os outstanding, on and off in stretches of 5 to 25 windows. The
    others keep about two, the giant twenty all the time. A second aggressor does as the first, but
    goes on and off at its own times. The incident is where latency is clearly
    above what it is without the aggressor.
    """
    rng = np.random.default_rng(seed)
    outstanding = rng.lognormal(np.log(2), 0.25, size=(workloads, windows))
    sizes = np.full(workloads, SMALL)
    if giant is not None:
        outstanding[giant] *= 10
    if aggressor is not None:
        outstanding[aggressor] = np.where(_on(rng, windows), burst, 0.2)
        sizes[aggressor] = size
    if second is not None:
        outstanding[second] = np.where(_on(rng, windows), burst, 0.2)
    cost = (51_000 + sizes) / 59_000
    latency = INTERCEPT_MS + SLOPE_MS * (outstanding * cost[:, None]).sum(axis=0)
    iops = 1000 * outstanding / (latency * cost[:, None])
    seen = latency * rng.lognormal(0, 0.1, size=(workloads, windows)) * cost[:, None]
    middle = np.median(latency) if aggressor is None else 1.5 * np.quantile(latency, 0.1)
    return _inputs(iops, sizes, seen, latency > middle)


def open_loop_mix(seed, *, workloads=6, windows=180, aggressor=None, demand=0.5):
    """Clients that send at their own rate: L = a / (1 - U), the others use about 5 % each."""
    rng = np.random.default_rng(seed)
    used = rng.lognormal(np.log(0.05), 0.25, size=(workloads, windows))
    if aggressor is not None:
        used[aggressor] = np.where(_on(rng, windows), demand, 0.01)
    utilisation = np.minimum(used.sum(axis=0), 0.95)
    latency = INTERCEPT_MS / (1 - utilisation)
    seen = latency * rng.lognormal(0, 0.1, size=(workloads, windows))
    middle = np.median(latency) if aggressor is None else 1.5 * np.quantile(latency, 0.1)
    return _inputs(used * 10_000, np.full(workloads, SMALL), seen, latency > middle)


def _on(rng, windows):
    """On and off in stretches, off first."""
    is_on = np.zeros(windows, dtype=bool)
    at, state = 0, False
    while at < windows:
        length = int(rng.integers(5, 26))
        is_on[at : at + length] = state
        at, state = at + length, not state
    return is_on


def _inputs(iops, sizes, seen_ms, in_incident):
    series = tuple(
        WorkloadSeries(
            workload=f"w{row}",
            load=tuple(float(rate) * size_cost(float(size)) for rate in iops[row]),
            harm=tuple(size_normalized_ms(float(ms), float(size)) for ms in seen_ms[row]),
        )
        for row, size in enumerate(sizes)
    )
    return AttributionInputs(
        series=series,
        in_incident=tuple(bool(one) for one in in_incident),
        window_s=WINDOW_S,
        measure=DEVICE_TIME,
    )
