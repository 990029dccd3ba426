"""The table of results: a line for each scenario that was run, with the commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bench.chaos.verdict import Losses


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One scenario: what went wrong, and how long until all worked again.

    `back_s` None means that it did not in the time that it was given; `waits_for` says what was
    missing then, or came last. `struck` of the `meant` faults found what they were meant for.
    """

    commit: str
    seed: int
    faults: str
    back_s: float | None
    waits_for: str
    losses: Losses
    struck: int
    meant: int

    @property
    def holds(self) -> bool:
        """Whether nothing was lost and all was back in time."""
        return not self.losses.any and self.back_s is not None and self.back_s <= ASKED_S


ASKED_S = 30.0
_COUNTS = tuple(field.name for field in fields(Losses))
COLUMNS = (
    "commit", "seed", "holds", "back_s", "waits_for", *_COUNTS, "struck", "meant", "faults",
)  # fmt: skip


def append(path: Path, result: Result) -> None:
    """Add a line; the first one of a file is preceded by the names of the columns.

    A table of earlier columns goes on under another name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not _has_these_columns(path):
        path.rename(path.with_suffix(".old.tsv"))
    head = "" if path.exists() else "\t".join(COLUMNS) + "\n"
    with path.open("a") as file:
        file.write(head + "\t".join(_cells(result)) + "\n")


def read(path: Path) -> list[Result]:
    """All lines of a table; none of a file that is not there, or that has other columns."""
    if not _has_these_columns(path):
        return []
    lines = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    # A line that was cut off is that of a scenario that has to be run again.
    return [_result(dict(zip(COLUMNS, line, strict=True))) for line in lines
            if len(line) == len(COLUMNS)]  # fmt: skip


def _has_these_columns(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open() as file:
        return file.readline() == "\t".join(COLUMNS) + "\n"


def left_to_run(seeds: Iterable[int], done: Sequence[Result], commit: str) -> list[int]:
    """The seeds without a line of this commit, in order."""
    known = {one.seed for one in done if one.commit == commit}
    return [seed for seed in seeds if seed not in known]


def _cells(result: Result) -> list[str]:
    back = "" if result.back_s is None else f"{result.back_s:.1f}"
    counts = asdict(result.losses)
    return [
        result.commit, str(result.seed), "yes" if result.holds else "no", back, result.waits_for,
        *(str(counts[name]) for name in _COUNTS), str(result.struck), str(result.meant),
        result.faults,
    ]  # fmt: skip


def _result(cells: dict[str, Any]) -> Result:
    return Result(
        commit=cells["commit"],
        seed=int(cells["seed"]),
        faults=cells["faults"],
        back_s=float(cells["back_s"]) if cells["back_s"] else None,
        waits_for=cells["waits_for"],
        losses=Losses(**{name: int(cells[name]) for name in _COUNTS}),
        struck=int(cells["struck"]),
        meant=int(cells["meant"]),
    )
