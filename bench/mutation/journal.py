"""A file that holds each verdict as it is found, so that a stopped run can go on."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from bench.mutation.mutants import Mutant
from bench.mutation.trial import Verdict


class Journal:
    """Verdicts by mutant; what it knows of a module ends when the module changes."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._killed: set[tuple[str, int, str]] = set()
        if path is not None and path.exists():
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            self._killed = {
                (row["path"], row["number"], row["module"])
                for row in rows
                if row["verdict"] == Verdict.KILLED
            }

    def has_killed(self, mutant: Mutant) -> bool:
        """Whether tests noticed this mutant before; what survived is worth another try."""
        return (mutant.path, mutant.number, _digest(mutant)) in self._killed

    def add(self, mutant: Mutant, verdict: Verdict) -> None:
        """Append a verdict to the file."""
        if self._path is not None:
            row = asdict(mutant) | {"module": _digest(mutant), "verdict": verdict}
            with self._path.open("a") as file:
                file.write(json.dumps(row) + "\n")


def _digest(mutant: Mutant) -> str:
    return hashlib.sha256(Path(mutant.path).read_bytes()).hexdigest()
