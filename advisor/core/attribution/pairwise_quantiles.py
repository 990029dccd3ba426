"""Quantiles of the differences of all pairs, without making all differences.

Of a thousand windows each there are a million. Those near a quantile are few, and a sample of
pairs tells between which values they lie; what lies below is counted by sorted search.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from advisor.core.dependence import Floats

Places = npt.NDArray[np.intp]

SAMPLE = 48
"""Evenly spaced values of each side that tell roughly where a quantile lies."""
MARGINS = (0.005, 0.02)
"""So far from the sample's a quantile is looked for, first and then, as fractions of all pairs."""


def pairwise_quantiles(first: Floats, second: Floats, parts: Sequence[float]) -> list[float]:
    """Quantiles of `first[i] - second[j]` over all pairs, as `np.quantile` interpolates them.

    `parts` are from 0 to 1; both series are in rising order, and not empty.
    """
    sample = np.sort(np.subtract.outer(_spaced(first), _spaced(second)), axis=None)
    return [_quantile(first, second, part, sample) for part in parts]


def _quantile(first: Floats, second: Floats, part: float, sample: Floats) -> float:
    at = (len(first) * len(second) - 1) * part
    place = int(at)
    near = (_near_the_sample(first, second, place, sample, margin) for margin in MARGINS)
    low, high = next(filter(None, near), None) or _of_all(first, second, place)
    return low + (high - low) * (at - place)


def _near_the_sample(
    first: Floats, second: Floats, place: int, sample: Floats, margin: float
) -> tuple[float, float] | None:
    """The differences at this place and at the next; None if they are not near the sample's."""
    pairs = len(first) * len(second)
    spread = round(margin * len(sample))
    middle = place * len(sample) // pairs
    lowest, highest = (
        sample[max(middle - spread, 0)],
        sample[min(middle + spread, len(sample) - 1)],
    )
    # The differences of one of the first fall: those from `begin` to before `end` are near.
    begin = np.searchsorted(second, first - highest, side="left")
    end = np.maximum(np.searchsorted(second, first - lowest, side="right"), begin)
    near = _differences(first, second, begin, end - begin)
    inside = place - int((len(second) - end).sum())
    if not 0 <= inside < len(near) - 1:
        return None
    near.partition([inside, inside + 1])
    low, high = float(near[inside]), float(near[inside + 1])
    # Search compares with rounded numbers: what was left out must really lie beyond.
    most_below = (first - np.append(second, np.inf)[end]).max()
    least_above = (first - np.append(-np.inf, second)[begin]).min()
    return (low, high) if most_below <= low and high <= least_above else None


def _differences(first: Floats, second: Floats, begin: Places, sizes: Places) -> Floats:
    """Those of each of the first with so many of the second, from the place `begin` on."""
    starts = np.cumsum(sizes) - sizes
    places = np.arange(sizes.sum()) + np.repeat(begin - starts, sizes)
    found: Floats = np.repeat(first, sizes) - second[places]
    return found


def _of_all(first: Floats, second: Floats, place: int) -> tuple[float, float]:
    every = np.subtract.outer(first, second).ravel()
    following = min(place + 1, len(every) - 1)
    every.partition([place, following])
    return float(every[place]), float(every[following])


def _spaced(values: Floats) -> Floats:
    if len(values) <= SAMPLE:
        return values
    # The middle of each of so many equal stretches: the ends would lie too far out.
    return values[(2 * np.arange(SAMPLE) + 1) * len(values) // (2 * SAMPLE)]
