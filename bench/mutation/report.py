"""What became of the mutants: rows for programs, a table and a list of survivors for people."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from bench.mutation.mutants import Mutant
from bench.mutation.trial import Verdict

ASKED_RATIO = 0.95
"""How many of the mutants that are not equivalent have to be killed."""
ALL = "all packages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A mutant and what became of it; None where it is known to be equivalent."""

    mutant: Mutant
    verdict: Verdict | None

    @property
    def package(self) -> str:
        """The folder of its file."""
        return str(PurePath(self.mutant.path).parent)


def rows_of(judged: Sequence[Judged]) -> list[dict[str, object]]:
    """One row per package and one for all, the last: the ratio of killed mutants."""
    packages = sorted({one.package for one in judged})
    parts = [_row(name, [one for one in judged if one.package == name]) for name in packages]
    return [*parts, _row(ALL, judged)]


def _row(name: str, judged: Sequence[Judged]) -> dict[str, object]:
    verdicts = [one.verdict for one in judged if one.verdict is not None]
    killed = sum(verdict is not Verdict.SURVIVED for verdict in verdicts)
    ratio = killed / len(verdicts) if verdicts else None
    return {
        "what": f"killed mutants, {name}",
        "unit": "ratio",
        "asked": ASKED_RATIO,
        "measured": ratio,
        "holds": ratio is None or ratio >= ASKED_RATIO,
    }


def table_of(judged: Sequence[Judged]) -> list[str]:
    """The counts of each package, and each survivor with its change."""
    lines = [f"{'package':42} {'mutants':>8} {'killed':>7} {'equivalent':>11} {'survived':>9}"]
    counts = {one.package: Counter[Verdict | None]() for one in judged}
    for one in judged:
        counts[one.package][one.verdict] += 1
    total = sum(counts.values(), Counter[Verdict | None]())
    for name, count in [*sorted(counts.items()), (ALL, total)]:
        killed = count[Verdict.KILLED] + count[Verdict.TIMED_OUT]
        lines.append(
            f"{name:42} {count.total():8} {killed:7} {count[None]:11} {count[Verdict.SURVIVED]:9}"
        )
    survivors = [one.mutant for one in judged if one.verdict is Verdict.SURVIVED]
    lines += ["", "Survivors:"] if survivors else []
    for mutant in sorted(survivors, key=lambda mutant: (mutant.path, mutant.number)):
        lines += [
            f"{mutant.path}:{mutant.line}",
            f"    - {mutant.before}",
            f"    + {mutant.after}",
        ]
    return lines
