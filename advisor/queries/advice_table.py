"""What advice that is not a policy would change, as a table of texts for pages and commands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor.advice.host_placement.decide.host_inputs import HostPlacementAdvice
from advisor.advice.limit_check.decide.limit_check import LimitCheck
from advisor.advice.off_peak_work.decide.scsi_conflicts import OffPeakAdvice
from advisor.advice.placement.decide.disk_answer import Move, PlacementAdvice
from advisor.advice.queue_depth.decide.queue_depth_answer import QueueDepthAdvice
from advisor.advice.threshold.decide.threshold_advice import ThresholdAdvice, ThresholdInputs
from advisor.core.duration import duration_text
from advisor.core.quantity import format_rate, significant


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column with its unit, if all its numbers have the same."""

    title: str
    unit: str = ""
    is_number: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceTable:
    """Rows of texts in the order of the columns; None is a value that is not known."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str | None, ...], ...]


def threshold_table(answer: ThresholdAdvice, inputs: ThresholdInputs) -> AdviceTable:
    """One row per datastore; the earlier threshold is known of the one that was looked at."""
    return AdviceTable(
        columns=(
            Column(title="Datastore"),
            Column(title="Now", unit="ms", is_number=True),
            Column(title="After", unit="ms", is_number=True),
        ),
        rows=tuple(
            (
                name,
                significant(inputs.threshold_ms) if name == inputs.datastore else None,
                significant(answer.threshold_ms),
            )
            for name in answer.datastores
        ),
    )


def queue_depth_table(answer: QueueDepthAdvice) -> AdviceTable:
    """One row per host."""
    return AdviceTable(
        columns=(
            Column(title="Host"),
            Column(title="Depth now", unit="commands", is_number=True),
            Column(title="Depth after", unit="commands", is_number=True),
        ),
        rows=tuple(
            (one.host, str(one.device_queue_depth), str(one.advised_queue_depth))
            for one in answer.depths
        ),
    )


def off_peak_table(answer: OffPeakAdvice) -> AdviceTable:
    """One row: when administrative work is done."""
    return AdviceTable(
        columns=(Column(title="What"), Column(title="Now"), Column(title="After")),
        rows=(("administrative work", "at any hour", _hours(answer)),),
    )


def _hours(answer: OffPeakAdvice) -> str:
    end = (answer.from_hour_utc + answer.work_hours) % 24
    return f"from {answer.from_hour_utc:02}:00 to {end:02}:00 UTC"


def placement_table(answer: PlacementAdvice) -> AdviceTable:
    """One row per move or copy of an exchange, in the order in which they are to be made."""
    return AdviceTable(
        columns=(
            Column(title="Virtual disks"),
            Column(title="From"),
            Column(title="To"),
            Column(title="Latency there", unit="ms", is_number=True),
            Column(title="Copying"),
            Column(title="Room for it", unit="GB"),
            Column(title="Benefit over cost", is_number=True),
        ),
        rows=tuple(row for one in answer.moves for row in _move_rows(one)),
    )


def _move_rows(one: Move) -> list[tuple[str | None, ...]]:
    """A move in a row; an exchange in one per copy, its numbers beside the first."""
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


def host_placement_table(answer: HostPlacementAdvice) -> AdviceTable:
    """One row per move and per reservation that cannot be promised."""
    moves = tuple(
        (
            one.workload,
            format_rate(one.reservation_bits_per_s, "bits_per_s"),
            one.source or "not started",
            one.target,
            None if one.due_at is None else _clock(one.due_at),
        )
        for one in answer.moves
    )
    refused = tuple(
        (
            one.workload,
            format_rate(one.reservation_bits_per_s, "bits_per_s"),
            "no host can promise it",
            "withdraw or lower the reservation",
            None,
        )
        for one in answer.refused
    )
    return AdviceTable(
        columns=(
            Column(title="Workload"),
            Column(title="Reservation", is_number=True),
            Column(title="Now"),
            Column(title="After"),
            Column(title="Due"),
        ),
        rows=(*moves, *refused),
    )


def _clock(at: datetime) -> str:
    # To the second below: nobody is to be told a time that is over when it is due.
    whole = at - timedelta(microseconds=at.microsecond)
    return f"{whole:%Y-%m-%d %H:%M:%S} UTC"


def limit_table(answer: LimitCheck) -> AdviceTable:
    """One row per limit or pool of them."""
    return AdviceTable(
        columns=(
            Column(title="Limit of"),
            Column(title="Finding"),
            Column(title="Lets pass", unit="IOPS", is_number=True),
            Column(title="Passed", unit="IOPS", is_number=True),
            Column(title="What to do"),
        ),
        rows=tuple(
            (
                one.name,
                one.finding.value.replace("_", " "),
                None if one.limit_iops is None else significant(one.limit_iops),
                significant(one.rate_iops),
                one.action,
            )
            for one in answer.limits
        ),
    )
