"""The size term of one device, learnt from windows of different I/O sizes.

latency = (size term + size) · f(outstanding I/O, share of writes): at equal depth and mix, latency
grows in a line with the size, and the size term is where that line meets zero. The logarithm of f
is linear in pieces, which takes no law of queueing for granted. Absolute errors count, none more
than `MOST_ERROR`, so that odd windows weigh little.
docs/decisions/0083-the-size-term-is-learnt-per-datastore.md says why each bound is as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.core.device.device_fit import FitRefused
from advisor.core.device.device_model import MixPoint
from advisor.core.waterfill import Booleans, Floats

LEAST_BYTES = 4_000.0
MOST_BYTES = 4_000_000.0
"""Beyond these all I/Os that devices see cost by their bytes alone, or all the same."""
ENOUGH_WINDOWS = 240
"""Forty minutes of windows of ten seconds."""
MOST_WINDOWS = 2000
"""Of more windows an even choice is taken, so that a day costs no more than that."""
ENOUGH_SPAN = 2.0
"""From the 5th to the 95th percentile of the sizes."""
ENOUGH_OWN_SPAN = 1.5
"""The same of that in the sizes which neither the depth nor the share of writes tells."""
ENOUGH_GAIN = 0.1
"""The error must be less by this fraction in windows that were not learnt from."""
MOST_APART = 2.0
"""The two halves of the windows may differ by this factor."""
BLOCKS = 24
"""Blocks of time that go to one half and the other in turn; of a day, hours."""
MOST_ERROR = 1.0
"""A window that is off by more than e times counts as one that is."""
KNOTS = (25, 50, 75)
"""Percentiles of the depths at which the slope over the depth may change."""
STEPS = 8
SMALL = 1e-3
NEAR = 0.02
"""Errors below this count alike."""
FAR_WEIGHT = 0.1
"""Of windows that are off by more than `MOST_ERROR`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntSizeTerm:
    """A size term in bytes, and the windows that it was learnt from.

    The errors are mean relative ones in windows that were not learnt from: with the size term, and
    with that in force before.
    """

    size_term_bytes: float
    windows: int
    error_ratio: float
    error_before: float


def learn_size_term(
    points: Sequence[MixPoint], *, in_force_bytes: float
) -> LearntSizeTerm | FitRefused:
    """The size term of the windows, in order of time, if it is clearly better than before."""
    if len(points) < ENOUGH_WINDOWS:
        return FitRefused(reason=f"{len(points)} windows; {ENOUGH_WINDOWS} are needed")
    seen = _seen(points)
    gap = _gap(seen)
    if gap:
        return FitRefused(reason=gap)
    one = np.arange(len(seen.size)) * BLOCKS // len(seen.size) % 2 == 0
    halves = [_fitted(seen.part(half)) for half in (one, ~one)]
    least, most = sorted(halves)
    if most > MOST_APART * least:
        return FitRefused(
            reason=f"one half of the windows says {least / 1000:.3g} kB, the other "
            f"{most / 1000:.3g} kB"
        )
    after = before = 0.0
    for learnt, half in zip(halves, (one, ~one), strict=True):
        own, other = seen.part(half), seen.part(~half)
        after += _error_elsewhere(own, other, learnt) / 2
        before += _error_elsewhere(own, other, in_force_bytes) / 2
    if after > (1 - ENOUGH_GAIN) * before:
        return FitRefused(
            reason=f"the best is off by {after:.0%} on the mean, that in force by {before:.0%}"
        )
    return LearntSizeTerm(
        size_term_bytes=float(f"{_fitted(seen):.2g}"),
        windows=len(points),
        error_ratio=after,
        error_before=before,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """Sizes and logarithms of latencies, (windows), and what else tells them, (windows, terms)."""

    size: Floats
    log_latency: Floats
    others: Floats

    def part(self, chosen: Booleans) -> "_Seen":
        """Some of the windows."""
        return _Seen(
            size=self.size[chosen],
            log_latency=self.log_latency[chosen],
            others=self.others[chosen],
        )


def _seen(points: Sequence[MixPoint]) -> _Seen:
    count = min(len(points), MOST_WINDOWS)
    chosen = [points[at * len(points) // count] for at in range(count)]
    depth = np.log([one.outstanding_io for one in chosen])
    writes = np.array([1 - one.read_ratio for one in chosen])
    bends = [np.maximum(depth - knot, 0) for knot in np.percentile(depth, KNOTS)]
    return _Seen(
        size=np.array([one.mean_io_bytes for one in chosen]),
        log_latency=np.log([one.latency_ms for one in chosen]),
        others=np.stack([np.ones(count), depth, *bends, writes], axis=1),
    )


def _gap(seen: _Seen) -> str:
    """Why the sizes do not tell enough; empty if they do."""
    log_size = np.log(seen.size)
    span = _span(log_size)
    if span < ENOUGH_SPAN:
        return f"sizes span only {span:.2g} times; {ENOUGH_SPAN:g} are needed"
    own = _span(log_size - seen.others @ _told(seen.others, log_size))
    if own < ENOUGH_OWN_SPAN:
        return (
            "sizes go with the depth or with the share of writes: beside these they span "
            f"{own:.2g} times; {ENOUGH_OWN_SPAN:g} are needed"
        )
    return ""


def _span(logarithms: Floats) -> float:
    low, high = np.percentile(logarithms, [5, 95])
    return float(np.exp(high - low))


def _fitted(seen: _Seen) -> float:
    """The size term with the least error: by steps of 1.8 times, then finer around the best."""
    coarse = np.geomspace(LEAST_BYTES, MOST_BYTES, 13)
    best = int(np.argmin([_error(seen, term) for term in coarse.tolist()]))
    fine = np.geomspace(coarse[max(best - 1, 0)], coarse[min(best + 1, 12)], 17)
    return float(fine[int(np.argmin([_error(seen, term) for term in fine.tolist()]))])


def _error(seen: _Seen, size_term: float) -> float:
    return _error_elsewhere(seen, seen, size_term)


def _error_elsewhere(own: _Seen, other: _Seen, size_term: float) -> float:
    """The mean error in the `other` windows of what is learnt of one's own."""
    told = _told(own.others, _normalised(own, size_term))
    missed = np.abs(_normalised(other, size_term) - other.others @ told)
    return float(np.minimum(missed, MOST_ERROR).mean())


def _normalised(seen: _Seen, size_term: float) -> Floats:
    found: Floats = seen.log_latency - np.log(size_term + seen.size)
    return found


def _told(terms: Floats, values: Floats) -> Floats:
    """The factors with the least absolute errors, by squares that are weighed anew."""
    weight: Floats = np.ones(len(values))
    factors = np.zeros(terms.shape[1])
    for _ in range(STEPS):
        weighed = terms * weight[:, np.newaxis]
        # Where depths do not differ, many factors fit; the smallest ones are taken.
        squares = terms.T @ weighed + SMALL * np.eye(terms.shape[1])
        factors = np.asarray(np.linalg.solve(squares, weighed.T @ values), dtype=np.float64)
        missed = np.abs(values - terms @ factors)
        weight[:] = np.where(missed > MOST_ERROR, FAR_WEIGHT, 1.0) / np.maximum(missed, NEAR)
    return factors
