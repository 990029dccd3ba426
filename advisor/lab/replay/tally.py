"""How many of the studies' statements come out: each counts once, however often it is checked."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.lab.replay.finding import Kind, Verdict

WORDS = {
    Kind.TWO_SIDED: ("two-sided number", "two-sided numbers"),
    Kind.ONE_SIDED: ("one-sided number", "one-sided numbers"),
    Kind.NO_NUMBER: ("statement without a number", "statements without a number"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Distinct statements of one kind by verdict."""

    kind: Kind
    holds: int
    differs: int
    not_modelled: int

    @property
    def compared(self) -> int:
        """Those that a number of ours is held against."""
        return self.holds + self.differs

    def __str__(self) -> str:
        """As in: of 24 two-sided numbers 15 hold, 9 differ, 12 more are not modelled."""
        words = WORDS[self.kind][self.compared != 1]
        holding = f"{self.holds} {'holds' if self.holds == 1 else 'hold'}"
        differing = f"{self.differs} {'differs' if self.differs == 1 else 'differ'}"
        more = (
            f", {self.not_modelled} more {'is' if self.not_modelled == 1 else 'are'} not modelled"
            if self.not_modelled
            else ""
        )
        return f"of {self.compared} {words} {holding}, {differing}{more}"


def tallies_of(rows: Iterable[Mapping[str, Any]]) -> list[Tally]:
    """One per kind, of rows with `experiment`, `number`, `kind` and `verdict`.

    A number holds if it does so in every row that checks it. One that is checked both as it stands
    and as a bound counts as two-sided.
    """
    kinds: dict[tuple[str, str], set[Kind]] = {}
    verdicts: dict[tuple[str, str], set[Verdict]] = {}
    for row in rows:
        number = (row["experiment"], row["number"])
        kinds.setdefault(number, set()).add(Kind(row["kind"]))
        verdicts.setdefault(number, set()).add(Verdict(row["verdict"]))
    found = Counter(
        (min(kinds[number], key=list(Kind).index), _together(verdicts[number])) for number in kinds
    )
    return [
        Tally(
            kind=kind,
            holds=found[kind, Verdict.HOLDS],
            differs=found[kind, Verdict.DIFFERS],
            not_modelled=found[kind, Verdict.NOT_MODELLED],
        )
        for kind in Kind
    ]


def summary_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """The counts as a sentence, without those kinds that do not occur."""
    told = [str(tally) for tally in tallies_of(rows) if tally.compared or tally.not_modelled]
    return "; ".join(told)


def _together(verdicts: set[Verdict]) -> Verdict:
    if Verdict.DIFFERS in verdicts:
        return Verdict.DIFFERS
    return Verdict.HOLDS if Verdict.HOLDS in verdicts else Verdict.NOT_MODELLED
