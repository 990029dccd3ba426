"""What became of the batches: lost, changed, doubled or stored in half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROWS_OF = {"diskio": 3, "net": 2, "cgroup": 2}
"""Rows of a batch by table; each has the number of the batch as its value."""
ROWS = sum(ROWS_OF.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A row as it was found: the batch's host and time (ms), its table and its number."""

    host: str
    at_ms: int
    table: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Batches of which something is wrong; all zero is what is asked."""

    acknowledged: int
    lost: int
    changed: int
    doubled: int
    halves: int

    @property
    def any(self) -> bool:
        """Whether something is wrong."""
        return any((self.lost, self.changed, self.doubled, self.halves))


def losses(acknowledged: Mapping[tuple[str, int], int], rows: Sequence[Stored]) -> Losses:
    """Compare numbers of acknowledged batches, by host and time, with the rows that are there.

    A batch that nobody acknowledged may be there or not, but as a whole.
    """
    found: dict[tuple[str, int], dict[str, list[int]]] = {}
    for row in rows:
        tables = found.setdefault((row.host, row.at_ms), {})
        tables.setdefault(row.table, []).append(row.number)
    lost = changed = doubled = halves = 0
    for key, number in acknowledged.items():
        numbers = [value for values in found.get(key, {}).values() for value in values]
        lost += not numbers
        changed += any(value != number for value in numbers)
    for tables in found.values():
        counts = {table: len(values) for table, values in tables.items()}
        doubled += any(counts.get(table, 0) > count for table, count in ROWS_OF.items())
        halves += any(counts.get(table, 0) < count for table, count in ROWS_OF.items())
    return Losses(
        acknowledged=len(acknowledged), lost=lost, changed=changed, doubled=doubled, halves=halves
    )
