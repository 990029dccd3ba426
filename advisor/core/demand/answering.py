"""What clients that wait for each answer want under a policy: less if they wait longer.

Who waits for an answer before it asks again has nothing in the queue while it thinks, so it holds
its share only for a part of the time. With a client alone, where all times are those of a unit:

    1 / X = Z + 1 / e     under the policy, with e the rate that it would get if it always asked
    1 / a = Z + 1 / C     while calm, with C the whole capacity
    X / a = 1 / (1 + a / e - a / C)

With more clients one of them asks while others think, so they get more; at the most what they
wanted while calm. Rates alone do not tell how many there are, so what is given here is the least
part, and anything up to the whole may be (mean-value analysis; Reiser and Lavenberg 1980).
Where latency was measured, `latency.py` tells how many they are.
"""

from collections.abc import Callable, Sequence

import numpy as np

from advisor.core.demand.kind import Demand
from advisor.core.waterfill import Floats, Indexes

MOST_ROWS = 100
"""Beyond so many workloads that answer, several are taken to ask always at once."""


def parts_wanted(
    demands: Sequence[Demand], expected: Floats, divide: Callable[[Floats], Floats]
) -> Floats:
    """The least and the most part of its demand that each workload wants, (2, workloads).

    `expected` are the demands, (workloads), infinite where unknown.
    """
    parts = np.ones((2, len(demands)))
    unknown = []
    for place, one in enumerate(demands):
        if one.parts is not None:
            parts[:, place] = one.parts
        elif one.answers:
            unknown.append(place)
    if unknown:
        parts[0, unknown] = _least(np.array(unknown), expected, divide)
    return parts


def _least(places: Indexes, expected: Floats, divide: Callable[[Floats], Floats]) -> Floats:
    """The part that a client alone would want, (places)."""
    rows = np.arange(len(places)) % MOST_ROWS
    asked = np.tile(expected, (int(rows.max()) + 2, 1))
    asked[rows, places] = np.inf
    asked[-1] = np.inf
    rates = divide(asked)
    always, whole = rates[rows, places], float(rates[-1].sum())
    calm = expected[places]
    share = np.divide(calm, always, out=np.full(len(places), np.inf), where=always > 0)
    found: Floats = 1 / np.maximum(1 + share - calm / max(whole, 1e-12), 1.0)
    return found
