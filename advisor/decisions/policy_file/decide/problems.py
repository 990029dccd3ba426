"""What is wrong in a policy file: each problem with its file and line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.errors import InventoryError

MOST_TOLD = 20
"""A person mends these first; a file of another kind has one problem on each line."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """One thing that is wrong on one line, which counts from 1."""

    line: int
    what: str


class PolicyFileError(InventoryError):
    """A file that is no policy file; nothing of it was used."""

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.file = file
        self.problems = tuple(sorted(problems))
        told = [f"{file}:{one.line}: {one.what}" for one in self.problems[:MOST_TOLD]]
        if len(self.problems) > MOST_TOLD:
            told.append(f"and {len(self.problems) - MOST_TOLD} problems more")
        super().__init__("\n".join(told))
