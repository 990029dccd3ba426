"""What is asked of all scenarios together, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from bench.chaos.results import ASKED_S, Result
from bench.chaos.schedule import Kind, schedule
from bench.chaos.verdict import ROWS, Losses
from bench.fleet.rows import Row, at_most

MOST_MISSED = 0.05
"""A process that has just been killed cannot be struck again."""


def rows(lines: Sequence[Result]) -> list[Row]:
    """Of all lines of these scenarios; the first line of a seed tells its return.

    What was lost counts in whatever line it was. A second turn, after a rest, only tells whether
    the pauses of the scenarios before made it late.
    """
    newest = {line.seed: line for line in lines}
    first = {line.seed: line for line in reversed(lines)}
    acknowledged = sum(line.losses.acknowledged for line in lines) * ROWS
    late = [seed for seed, line in first.items() if not _is_in_time(line)]
    then = sum(_is_in_time(newest[seed]) for seed in late)
    struck, meant = (
        sum(getattr(line, name) for line in first.values()) for name in ("struck", "meant")
    )
    return [
        at_most(f"acknowledged points lost in {len(newest)} scenarios", "points", 0,
                sum(line.losses.lost for line in lines) * ROWS,
                f"{acknowledged:,} were acknowledged, those of the minute before counted again"),
        *(
            at_most(f"acknowledged batches that are {what}", "batches", 0, count)
            for what, count in (
                ("stored otherwise", sum(line.losses.changed for line in lines)),
                ("stored twice", sum(line.losses.doubled for line in lines)),
                ("stored in half", sum(line.losses.halves for line in lines)),
            )
        ),
        at_most("scenarios that are not back within 30 s", "scenarios", 0,
                len(late), f"{then} of them were, after a rest" if late else ""),
        at_most("faults that found nothing to strike", "ratio", MOST_MISSED,
                1 - struck / meant if meant else None, f"of {meant} faults"),
        *(row for kind in Kind if (row := _of_kind(kind, list(first.values())))),
    ]  # fmt: skip


def row_of_end(found: Losses) -> Row:
    """Of all that was acknowledged in one call, looked at once more after its last scenario."""
    return at_most("acknowledged points lost or changed, of all of this call", "points", 0,
                   (found.lost + found.changed + found.doubled + found.halves) * ROWS,
                   f"{found.acknowledged * ROWS:,} were acknowledged")  # fmt: skip


def _is_in_time(line: Result) -> bool:
    return line.back_s is not None and line.back_s <= ASKED_S


def _of_kind(kind: Kind, lines: Sequence[Result]) -> Row | None:
    own = [line for line in lines if kind in schedule(line.seed).kinds]
    if not own:
        return None
    times = sorted(line.back_s for line in own if line.back_s is not None)
    never = len(own) - len(times)
    median = f", median {times[len(times) // 2]:.1f}" if times else ""
    note = f"{len(own)} scenarios{median}" + (f", {never} never" if never else "")
    longest = None if never or not times else times[-1]
    return at_most(f"back after: {kind}, longest", "s", ASKED_S, longest, note)
