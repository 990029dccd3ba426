"""The replays as one Markdown page: what went in, and every printed number beside ours."""

from collections.abc import Iterable, Sequence

from advisor.lab.replay.experiment import Premise, Replay
from advisor.lab.replay.finding import LIMIT as LIMIT_TOLERANCE
from advisor.lab.replay.finding import (
    LOAD_POINTS,
    MEASURED,
    POLICY,
    TENTH,
    Finding,
    Tolerance,
)
from advisor.lab.replay.player import counts_of, quantity_of

PREFACE = """# Replayed experiments

The experiments of five published studies of storage and network I/O control (studies 000 to
004), replayed in a simulator that runs the product's own window law, tag scheduler, detector,
admission and placement.
This page is generated: `sluice replay --all --markdown > docs/replay.md`; a test keeps it fresh.
The figures: `sluice replay --all --plot DIR`.

Each number that a study prints of its results has a verdict.

- **holds**: ours is within the tolerance, or on the side that "at least" and "at most" leave open.
- **differs**: it is not, and the text says why.
- **not modelled**: no model here predicts it; or it went into the model or the product, and then
  the text begins with "calibrated".

A tolerance belongs to the kind of number, not to the single number.
Nothing is fitted to the number it is compared with: what went in, and on what it was calibrated,
stands above each table.
"""

KINDS: tuple[tuple[str, Tolerance, str], ...] = (
    ("a limit, a reservation, or a count that the load fixes", LIMIT_TOLERANCE, ""),
    ("a ratio that a policy sets", POLICY, ""),
    ("throughput, latency, depth or time of a system known from one run", MEASURED, ""),
    ('a part of the I/O, printed with "about"', LOAD_POINTS, "points"),
    ("printed with one decimal, some of them cut", TENTH, "of the unit"),
)


def markdown_of(replays: Sequence[Replay]) -> str:
    """The whole page."""
    counts = counts_of(replays)
    blocks = [
        PREFACE,
        _table(("kind of number", "tolerance"), [*_kinds(), _change_row()]),
        _table(tuple(counts), [tuple(str(count) for count in counts.values())]),
        *(_section(replay) for replay in replays),
    ]
    return "\n".join(blocks)


def _kinds() -> Iterable[tuple[str, str]]:
    for kind, tolerance, unit in KINDS:
        amount = (
            f"{tolerance.part:.0%}".replace("%", " %")
            if tolerance.part
            else f"{tolerance.amount:g} {unit}"
        )
        yield kind, amount
    yield "follows from the configuration, or is printed as at least, at most, up or down", "0"


def _change_row() -> tuple[str, str]:
    return "a change in percent", "a quarter of it, from 2 to 5 points"


def _section(replay: Replay) -> str:
    parts = [f"## {replay.experiment}: {replay.title}\n"]
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
        number(finding.seed_value),
        number(finding.value),
        number(finding.tolerance),
        str(finding.verdict),
        finding.why,
    )


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
