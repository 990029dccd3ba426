"""What a panel shows of an experiment: what the study prints, and which row stands beside it.

Numbers of the studies are those of `advisor/lab/replay/studies`. In a panel they are parts of
their own link, disk or limit, because rates of other hardware cannot be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.core.allocation import Allocation, ReservationMode, entitlements
from advisor.lab.replay.study import experiment
from bench.testbed.plots.sheet import Bar

SOLVER = "ideal by the solver"
LIMIT_TEXT = "the limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A bar without ours: that is the value called `value` of the row `what`, divided by `of`.

    Without a name the row's own number is meant.
    """

    bar: Bar
    what: str
    value: str = ""
    of: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A panel before a run; a course is that of the row `course`, beside `bound`."""

    unit: str
    source: str
    places: Sequence[Place] = ()
    mark_text: str = ""
    course: str = ""
    course_title: str = ""
    bound: float = 0.0
    is_logarithmic: bool = False


def printed(name: str, what: str, place: str = "") -> float:
    """The number that a study prints of this, at this place (VM, pattern) if there are several."""
    rows = [row for row in experiment(name).rows if row.what == what]
    (found,) = [row.printed for row in rows if row.printed is not None]
    return float(found[place] if isinstance(found, Mapping) else found)


def ideal_parts(capacity: float, allocations: Mapping[str, Allocation]) -> dict[str, float]:
    """Parts of the capacity by the product's solver; a reservation counts beside the shares."""
    found = entitlements(capacity, [*allocations.values()], ReservationMode.ADDITIVE)
    return {name: own / capacity for name, own in zip(allocations, found, strict=True)}


def one_place(bar: Bar, what: str, of: float = 1.0) -> list[Place]:
    """A panel of a single bar, beside a row's own number."""
    return [Place(bar=bar, what=what, of=of)]
