"""Device models: predict a window's latency from outstanding I/O, size and reads.

Fitted on the first three fifths of each series, judged on the rest, in order of time.
"""

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from advisor.core.device.device_fit import FitRefused, LoadPoint, fit_device
from advisor.core.device.device_model import MixPoint, fit_device_model
from advisor.core.iosize import size_cost
from bench.evaluation.captures import Floats, ssds, trace
from bench.evaluation.simulated_ssd import drifting_windows, replayed_windows
from bench.evaluation.table import Section, percent, table

FITTED_PART = 0.6
DEVICES = 6
WINDOWS = 160
TRACE_UTILISATION = 0.6

Predict = Callable[[Sequence[MixPoint], Sequence[MixPoint]], Floats]


def median_latency(past: Sequence[MixPoint], new: Sequence[MixPoint]) -> Floats:
    """The trivial baseline: whatever comes, the median of the past."""
    return np.full(len(new), np.median([one.latency_ms for one in past]))


def line_model(past: Sequence[MixPoint], new: Sequence[MixPoint]) -> Floats:
    """The line over outstanding I/O, on latencies normalised by size."""
    points = [
        LoadPoint(
            outstanding_io=one.outstanding_io,
            latency_ms=one.latency_ms / size_cost(one.mean_io_bytes),
            iops=1000 * one.outstanding_io / one.latency_ms * size_cost(one.mean_io_bytes),
        )
        for one in past
    ]
    fit = fit_device(points)
    if isinstance(fit, FitRefused):
        return median_latency(past, new)
    return np.array(
        [
            (fit.intercept_ms + fit.slope_ms * one.outstanding_io) * size_cost(one.mean_io_bytes)
            for one in new
        ]
    )


def mix_model(past: Sequence[MixPoint], new: Sequence[MixPoint]) -> Floats:
    """The device model with its own price for size, reads and writes."""
    fit = fit_device_model(past)
    if isinstance(fit, FitRefused):
        return line_model(past, new)
    return np.array(
        [
            fit.latency_ms(
                one.outstanding_io, mean_io_bytes=one.mean_io_bytes, read_ratio=one.read_ratio
            )
            for one in new
        ]
    )


def boosted_trees(past: Sequence[MixPoint], new: Sequence[MixPoint]) -> Floats:
    """A model without any idea of a device: gradient-boosted trees on the logarithms."""
    model = HistGradientBoostingRegressor(
        max_iter=100, learning_rate=0.1, min_samples_leaf=8, random_state=0
    )
    model.fit(_columns(past), np.log([one.latency_ms for one in past]))
    predicted: Floats = np.exp(model.predict(_columns(new)))
    return predicted


def _columns(points: Sequence[MixPoint]) -> Floats:
    return np.array(
        [[np.log(one.outstanding_io), np.log(one.mean_io_bytes), one.read_ratio] for one in points]
    )


SHIPPED = "line per mix (`device_model`)"
MODELS: dict[str, Predict] = {
    "median of the past": median_latency,
    "line over outstanding I/O": line_model,
    SHIPPED: mix_model,
    "boosted trees": boosted_trees,
}


def evaluate() -> Section:
    """The table, and whether the device model of the product earns its place."""
    devices = ssds()[:DEVICES]
    drifting = [
        drifting_windows(ssd, seed=seed, windows=WINDOWS) for seed, ssd in enumerate(devices)
    ]
    traces = [trace(name) for name in ("tpcc", "wsrch")]
    replayed = [
        replayed_windows(ssd, one, utilisation=TRACE_UTILISATION, seed=seed)
        for seed, ssd in enumerate(devices)
        for one in traces
    ]
    crossed = [
        (
            replayed_windows(ssd, traces[0], utilisation=TRACE_UTILISATION, seed=seed),
            replayed_windows(ssd, traces[1], utilisation=TRACE_UTILISATION, seed=seed),
        )
        for seed, ssd in enumerate(devices)
    ]
    cases: dict[str, Sequence[tuple[Sequence[MixPoint], Sequence[MixPoint]]]] = {
        "drifting mixes": [_split(points) for points in drifting],
        "replayed traces": [_split(points) for points in replayed],
        "fitted on one trace, judged on the other": crossed,
    }
    rows, won = [], 0
    for case, splits in cases.items():
        errors = {name: _errors(splits, predict) for name, predict in MODELS.items()}
        won += min(errors, key=lambda name: errors[name]) == SHIPPED
        rows += [[case, name, *map(percent, pair)] for name, pair in errors.items()]
    verdict = f"The line per mix is the best model on {won} of {len(cases)} data sets" + (
        ", so it is shipped; boosted trees are not." if won == len(cases) else "."
    )
    head = ["data", "model", "median error", "9 of 10 below"]
    return Section(table=table(head, rows), verdict=verdict)


def _split(points: Sequence[MixPoint]) -> tuple[Sequence[MixPoint], Sequence[MixPoint]]:
    at = int(FITTED_PART * len(points))
    return points[:at], points[at:]


def _errors(
    splits: Sequence[tuple[Sequence[MixPoint], Sequence[MixPoint]]], predict: Predict
) -> tuple[float, float]:
    """Median over the series of the median and of the 90th percentile of relative errors."""
    found = []
    for past, new in splits:
        measured = np.array([one.latency_ms for one in new])
        errors = np.abs(predict(past, new) - measured) / measured
        found.append((np.median(errors), np.percentile(errors, 90)))
    middle, worst = np.median(np.array(found), axis=0).tolist()
    return middle, worst
