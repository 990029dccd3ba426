"""Advice on where virtual disks belong, as people are shown it."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from advisor.advice.placement.decide.device_line import LineSource
from advisor.advice.placement.decide.disk_answer import LineUsed, Move, PlacementAdvice
from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs
from advisor.advice.shared.load_picture import device_line
from advisor.advice.shared.picture import Axis, Level, Line, Picture
from advisor.advice.shared.shown import AdviceTable, Commitment, Fact, Shown, TableColumn
from advisor.core.duration import duration_text
from advisor.core.quantity import format_rate, significant

COMMITMENT = Commitment(
    does="It is noted that somebody will move the virtual disks.",
    does_not="Sluice moves nothing: no data is copied.",
    undo="A move that was made is undone by copying back.",
)


def show(inputs: PlacementInputs, answer: PlacementAdvice, _resource: str) -> Shown:
    return Shown(
        table=_table(answer),
        facts=_facts(inputs, answer),
        picture=_picture(inputs, answer),
        commitment=COMMITMENT,
    )


def _table(answer: PlacementAdvice) -> AdviceTable:
    """One row per move or copy of an exchange, in the order in which they are to be made."""
    return AdviceTable(
        columns=(
            TableColumn(title="Virtual disks"),
            TableColumn(title="From"),
            TableColumn(title="To"),
            TableColumn(title="Latency there", unit="ms", is_number=True),
            TableColumn(title="Copying"),
            TableColumn(title="Room for it", unit="GB"),
            TableColumn(title="Benefit over cost", is_number=True),
        ),
        rows=tuple(row for one in answer.moves for row in _move_rows(one)),
    )


def _move_rows(one: Move) -> list[tuple[str | None, ...]]:
    """One row for a move; one row per copy for an exchange, with the numbers in the first."""
    numbers = (
        _change_ms(one.effect.target_before_ms, one.effect.target_after_ms),
        duration_text(timedelta(seconds=one.effect.copy_s)),
    )
    worth = significant(one.effect.benefit / one.effect.cost) if one.effect.cost > 0 else None
    if not one.steps:
        return [(", ".join(one.vdisks), one.source, one.target, *numbers, "", worth)]
    return [
        (
            f"{place}. {', '.join(step.vdisks)}",
            step.source,
            step.target,
            *(numbers if place == 1 else ("", "")),
            f"{step.needs_bytes / 1e9:.3g} of {step.free_bytes / 1e9:.3g}",
            worth if place == 1 else "",
        )
        for place, step in enumerate(one.steps, start=1)
    ]


def _change_ms(before_ms: float, after_ms: float) -> str:
    return f"{significant(before_ms)} → {significant(after_ms)}"


def _facts(inputs: PlacementInputs, answer: PlacementAdvice) -> tuple[Fact, ...]:
    used = {one.datastore: one for one in answer.lines}
    datastores = tuple(
        Fact(
            name=f"Datastore {one.datastore}",
            text=f"{_line_of(one)}{_line_source(used.get(one.datastore))}",
        )
        for one in inputs.datastores
    )
    return (
        Fact(name="Windows", text=str(inputs.samples)),
        Fact(name="Threshold", text=f"{significant(inputs.threshold_ms)} ms"),
        Fact(name="Virtual disks looked at", text=str(len(inputs.vdisks))),
        Fact(name="A move must better latency by", text=f"{inputs.improvement_ratio:.0%}"),
        Fact(name="And pay within", text=f"{inputs.horizon_s / 3600:g} h"),
        *datastores,
    )


def _line_of(one: DatastoreState) -> str:
    free = f"{format_rate(one.capacity_bytes - one.used_bytes, 'bytes_per_s')[:-2]} free"
    if one.intercept_ms is None or one.slope_ms is None:
        why = f" ({one.line_gap})" if one.line_gap else ""
        return f"no line was fitted{why}; {free}"
    return f"{one.intercept_ms:.3g} ms + {one.slope_ms:.3g} ms · outstanding; {free}"


def _line_source(used: LineUsed | None) -> str:
    """Where its latency comes from, and why not from something better."""
    if used is None:
        return ""
    match used.source:
        case LineSource.DEVICE_MODEL:
            return f"; latency by the device model ({used.reason})"
        case LineSource.FITTED_LINE:
            return f"; latency by the fitted line ({used.reason})"
        case None:
            return f"; latency cannot be predicted ({used.reason})"
        case _:
            assert_never(used.source)


def _picture(inputs: PlacementInputs, answer: PlacementAdvice) -> Picture | None:
    """The device lines of the first move's datastores, with their load before and after it."""
    move: Move = answer.moves[0]
    stores = {one.datastore: one for one in inputs.datastores}
    places = [stores[move.source], stores[move.target]]
    load = {
        one.datastore: one.other_outstanding_io
        + sum(disk.outstanding_io for disk in inputs.vdisks if disk.datastore == one.datastore)
        for one in places
    }
    deepest = 1.25 * max(load.values())
    lines = [
        _store_line(one, deepest, is_after=one.datastore == move.target)
        for one in places
        if one.intercept_ms is not None and one.slope_ms is not None
    ]
    if len(lines) < len(places) or deepest <= 0:
        return None
    return Picture(
        title="How both datastores answer to load",
        said=f"At the same load {move.target} answers in "
        f"{_latency(stores[move.target], load[move.source]):.3g} ms, {move.source} in "
        f"{_latency(stores[move.source], load[move.source]):.3g} ms",
        x=Axis(label="outstanding I/Os"),
        y=Axis(label="latency", unit="ms"),
        dots=tuple((load[one.datastore], _latency(one, load[one.datastore])) for one in places),
        dots_label="where it is now",
        lines=tuple(lines),
        levels=(
            Level(
                value=inputs.threshold_ms, text=f"threshold {significant(inputs.threshold_ms)} ms"
            ),
        ),
    )


def _store_line(one: DatastoreState, deepest: float, *, is_after: bool) -> Line:
    line = device_line(one.datastore, one.intercept_ms or 0.0, one.slope_ms or 0.0, deepest)
    return Line(label=line.label, points=line.points, is_after=is_after)


def _latency(one: DatastoreState, outstanding_io: float) -> float:
    return (one.intercept_ms or 0.0) + (one.slope_ms or 0.0) * outstanding_io
