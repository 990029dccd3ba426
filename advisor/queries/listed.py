"""The rows of a list of any length, of which only those that are shown are built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

RowT = TypeVar("RowT")
Places = npt.NDArray[np.int64]

NO_RANK = np.iinfo(np.int64).max
"""The rank of what has no value, whatever the direction."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shared:
    """What several rows share, for example a host: `first` has a row of each, `of_row` which.

    `first` are places of rows, one for each; `of_row`, (rows), are places in `first`. With
    `names` each has the name that is sorted and searched by.
    """

    first: Sequence[int]
    of_row: Places
    names: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Listed(Generic[RowT]):
    """`count` rows; `build` makes the one at a place. `shared` is what rows share, by its name.

    `ranks` give the places of rows in the order of a column, (rows), by its key; `NO_RANK` is that
    of a row without a value.
    """

    count: int
    build: Callable[[int], RowT]
    shared: Mapping[str, Shared]
    ranks: Mapping[str, Callable[[], Places]] = field(default_factory=dict)

    def by(self, what: str) -> Shared:
        """What rows share of this name; without one every row stands for itself."""
        found = self.shared.get(what)
        if found is not None:
            return found
        return Shared(first=range(self.count), of_row=np.arange(self.count))


def listed(rows: Sequence[RowT]) -> Listed[RowT]:
    """Rows that are built already."""
    return Listed(count=len(rows), build=rows.__getitem__, shared={})
