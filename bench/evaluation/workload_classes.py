"""Classes of workloads: told from a window of their I/Os by the means of each class, or by
a forest.

Real: which of the two captured traces a window of 100 I/Os is from. Synthetic: four kinds of
workload whose sizes, reads and order overlap. Fitted on the first part, judged on the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.evaluation.captures import Floats, Trace, trace
from bench.evaluation.table import Section, percent, table

WINDOW_IOS = 100
FITTED_PART = 0.6
SEEDS = range(5)
WINDOWS_PER_CLASS = 80
Labels = npt.NDArray[np.int_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """A row of features per window, and the class of each."""

    features: Floats
    classes: Labels


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """Means of a synthetic class: log2 of the size in KiB, reads, sequential part, burstiness."""

    size: float
    reads: float
    sequential: float
    burstiness: float


KINDS = {
    "transactions": _Kind(size=3.2, reads=0.65, sequential=0.1, burstiness=1.5),
    "scan": _Kind(size=6.5, reads=0.95, sequential=0.8, burstiness=0.8),
    "backup": _Kind(size=6.8, reads=0.1, sequential=0.8, burstiness=0.8),
    "file server": _Kind(size=4.5, reads=0.7, sequential=0.4, burstiness=1.8),
}

BASELINE, LEARNT = "nearest mean of a class", "random forest"
MODELS: dict[str, Callable[[], object]] = {
    "most frequent class": lambda: DummyClassifier(strategy="most_frequent"),
    BASELINE: lambda: make_pipeline(StandardScaler(), NearestCentroid()),
    LEARNT: lambda: RandomForestClassifier(n_estimators=100, random_state=0),
}


def evaluate() -> Section:
    """The table, and whether the forest earns its place."""
    rows, better = [], 0
    cases = {
        "captured traces": [captured()],
        "synthetic kinds": [synthetic(seed) for seed in SEEDS],
    }
    for case, sets in cases.items():
        right = {
            name: float(np.mean([_right(one, build) for one in sets]))
            for name, build in MODELS.items()
        }
        better += right[LEARNT] > right[BASELINE]
        rows += [[case, name, percent(part)] for name, part in right.items()]
    verdict = (
        f"The forest is better than the means of the classes on {better} of {len(cases)} data sets"
        + (", so no classifier is shipped." if better == 0 else ".")
        + " No decision of the product asks for the class of a workload either."
    )
    return Section(table=table(["data", "model", "right"], rows), verdict=verdict)


def captured() -> Windows:
    """Windows of both traces, in order of time within each."""
    both = [_features(trace(name)) for name in ("tpcc", "wsrch")]
    # As many of one as of the other, or the more frequent one would win by being named always.
    count = min(len(one) for one in both)
    return Windows(
        features=np.concatenate([one[:count] for one in both]),
        classes=np.repeat([0, 1], count),
    )


def _features(one: Trace) -> Floats:
    rows = []
    gaps = np.diff(one.at_s, prepend=one.at_s[0])
    follows = np.zeros(len(one.at_s))
    ends: dict[float, float] = {}
    for index, (stream, begin) in enumerate(zip(one.stream, one.address, strict=True)):
        follows[index] = float(ends.get(stream) == begin)
        ends[stream] = begin + one.size_bytes[index]
    for begin in range(0, len(gaps) - WINDOW_IOS, WINDOW_IOS):
        part = slice(begin, begin + WINDOW_IOS)
        mean_gap = gaps[part].mean()
        rows.append(
            [
                np.log2(one.size_bytes[part].mean() / 1024),
                one.is_read[part].mean(),
                follows[part].mean(),
                gaps[part].std() / mean_gap if mean_gap > 0 else 0.0,
            ]
        )
    return np.array(rows)


def synthetic(seed: int) -> Windows:
    """Four kinds, shuffled in time, each window scattered around the means of its kind."""
    rng = np.random.default_rng(seed)
    features, classes = [], []
    for number, kind in enumerate(KINDS.values()):
        count = WINDOWS_PER_CLASS
        features.append(
            np.stack(
                [
                    rng.normal(kind.size, 1.0, count),
                    np.clip(rng.normal(kind.reads, 0.2, count), 0, 1),
                    np.clip(rng.normal(kind.sequential, 0.25, count), 0, 1),
                    rng.lognormal(np.log(kind.burstiness), 0.4, count),
                ],
                axis=1,
            )
        )
        classes.append(np.full(count, number))
    order = rng.permutation(WINDOWS_PER_CLASS * len(KINDS))
    return Windows(
        features=np.concatenate(features)[order], classes=np.concatenate(classes)[order]
    )


def _right(windows: Windows, build: Callable[[], object]) -> float:
    """Part of the later windows of every class that is named rightly."""
    fitted = np.zeros(len(windows.classes), dtype=np.bool_)
    for one in np.unique(windows.classes):
        members = np.flatnonzero(windows.classes == one)
        fitted[members[: int(FITTED_PART * len(members))]] = True
    model = build()
    model.fit(windows.features[fitted], windows.classes[fitted])  # type: ignore[attr-defined]
    named = model.predict(windows.features[~fitted])  # type: ignore[attr-defined]
    return float(np.mean(named == windows.classes[~fitted]))
