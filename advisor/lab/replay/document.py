"""The replays as one Markdown page: what went in, and every printed number beside ours."""

from collections.abc import Iterable, Sequence

from advisor.lab.replay.experiment import Premise, Replay
from advisor.lab.replay.finding import TOLERANCES, Finding, Kind, Tolerance
from advisor.lab.replay.player import quantity_of, rows_of
from advisor.lab.replay.tally import summary_of, tallies_of

PREFACE = """# Replayed experiments

Experiments of five published studies of storage and network I/O control, replayed in a simulator
that runs the product's own window law, tag scheduler, detector, admission and placement.
This page is generated: `sluice replay --all --markdown > docs/replay.md`; a test keeps it fresh.
The figures: `sluice replay --all --plot DIR`.
The windows rest at the threshold. Under the law that was asked for first, which rests above it
([decision 26](decisions/0026-windows-divide-what-the-threshold-allows.md)), two rows of
`sioc-nfs-day` held that differ here, and five rows differed that hold here. Hosts with iocost go
by a [joint loop](decisions/0027-hosts-that-hold-rates-track-one-capacity.md), which no replay has.

Each statement of a study about its results has a verdict.

- **holds**: ours is within the tolerance, or on the side that "at least" and "at most" leave open.
- **differs**: it is not, and the text says why.
- **not modelled**: no model here predicts it; or it went into the model or the product, and then
  the text begins with "calibrated"; or a choice of the product decides it, and then it begins
  with "dependent".

A tolerance belongs to the kind of number, not to the single number.
Nothing is fitted to the number it is compared with: what went in, and on what it was calibrated,
stands above each table.
"""

COUNTED = """Each statement counts once, however many workloads or I/O patterns it is checked with,
and holds only if it does so in all of them; the tables below have {rows} rows.
A two-sided number is printed as it stands; a one-sided number is printed as a bound.
A statement without a number is one in words ("rises", "the same"); the column "study" shows the
number that stands for it in brackets.
"""


def markdown_of(replays: Sequence[Replay]) -> str:
    """The whole page."""
    rows = rows_of(replays)
    counts = [
        (str(tally.kind), str(tally.holds), str(tally.differs), str(tally.not_modelled))
        for tally in tallies_of(rows)
    ]
    blocks = [
        PREFACE,
        _table(("kind of number", "tolerance"), [*_tolerances()]),
        COUNTED.format(rows=len(rows)),
        _table(("what the study prints", "holds", "differs", "not modelled"), counts),
        *(_section(replay) for replay in replays),
    ]
    return "\n".join(blocks)


def _tolerances() -> Iterable[tuple[str, str]]:
    for tolerance in TOLERANCES.values():
        yield tolerance.applies_to, _amount(tolerance)
    yield "a change in percent", "a quarter of it, from 2 to 5 points"


def _amount(tolerance: Tolerance) -> str:
    if tolerance.part:
        return f"{tolerance.part:.0%}".replace("%", " %")
    return f"{tolerance.amount:g} {tolerance.unit}".rstrip()


def _section(replay: Replay) -> str:
    parts = [
        f"## {replay.experiment}: {replay.title}\n",
        f"{replay.study}: {summary_of(rows_of([replay]))}.\n",
    ]
    if replay.premises:
        parts += [
            _table(
                ("what went in", "value", "unit", "basis", "source"),
                [_premise(premise) for premise in replay.premises],
            )
        ]
    parts.append(
        _table(
            ("quantity", "unit", "study", "ours", "tolerance", "verdict", "why"),
            [_finding(finding) for finding in replay.findings],
        )
    )
    return "\n".join(parts)


def _premise(premise: Premise) -> tuple[str, ...]:
    return (
        premise.quantity,
        number(premise.value),
        premise.unit,
        str(premise.basis),
        premise.source,
    )


def _finding(finding: Finding) -> tuple[str, ...]:
    return (
        quantity_of(finding),
        finding.unit,
        study_text(finding.study_value, finding.kind),
        number(finding.value),
        number(finding.tolerance),
        str(finding.verdict),
        finding.why,
    )


def study_text(value: float | None, kind: str) -> str:
    """What is printed; in brackets the number that stands for words."""
    return f"[{number(value)}]" if kind == Kind.NO_NUMBER and value is not None else number(value)


def number(value: float | None) -> str:
    """Four digits; an en dash for absence."""
    if value is None:
        return "\N{EN DASH}"
    if value and abs(value) >= 1e4:
        return f"{value:.0f}" if abs(value) < 1e7 else f"{value:.4g}"
    return f"{value:.4g}"


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
