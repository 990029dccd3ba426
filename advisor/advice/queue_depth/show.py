"""Advice on queue depths, as people are shown it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from advisor.advice.queue_depth.decide.queue_depth_answer import (
    Bottleneck,
    QueueDepthAdvice,
    QueueDepthInputs,
)
from advisor.advice.shared.load_picture import thinned
from advisor.advice.shared.picture import Axis, Level, Picture
from advisor.advice.shared.shown import AdviceTable, Commitment, Fact, Shown, TableColumn
from advisor.core.device.device_fit import LoadPoint


def show(inputs: QueueDepthInputs, answer: QueueDepthAdvice, resource: str) -> Shown:
    return Shown(
        table=_table(answer),
        facts=_facts(inputs, answer),
        picture=_picture(inputs, answer),
        commitment=_commitment(resource),
    )


def _commitment(resource: str) -> Commitment:
    return Commitment(
        does="It is noted that somebody will set these depths on the hosts.",
        does_not="Sluice sets no queue depth: nothing is changed on any host.",
        undo="When it is done, state the depths: "
        f"sluice resource set {resource} --host-queue-depth HOST=COMMANDS",
    )


def _table(answer: QueueDepthAdvice) -> AdviceTable:
    """One row per host."""
    return AdviceTable(
        columns=(
            TableColumn(title="Host"),
            TableColumn(title="Depth now", unit="commands", is_number=True),
            TableColumn(title="Depth after", unit="commands", is_number=True),
        ),
        rows=tuple(
            (one.host, str(one.device_queue_depth), str(one.advised_queue_depth))
            for one in answer.depths
        ),
    )


def _facts(inputs: QueueDepthInputs, answer: QueueDepthAdvice) -> tuple[Fact, ...]:
    target = f"{answer.target} commands"
    match answer.bottleneck:
        case Bottleneck.LUN_QUEUE:
            bound = f"{target}: the queue of the LUN"
        case Bottleneck.THROUGHPUT_FALLS:
            bound = f"{target}: beyond that its throughput falls"
        case _:
            assert_never(answer.bottleneck)
    peak = inputs.peak_outstanding_io
    return (
        Fact(name="Hosts", text=str(len(inputs.hosts))),
        Fact(name="Sum of their depths", text=f"{answer.configured} commands"),
        Fact(name="Fits", text=bound),
        Fact(
            name="Most outstanding in a window",
            text="not measured"
            if peak is None
            else f"{peak:.0f} on average, of {inputs.peak_windows} windows of the last day",
        ),
        Fact(
            name="Hosts per LUN at their present depth",
            text=str(answer.hosts_per_lun or "none: the deepest alone is too deep"),
        ),
    )


def _picture(inputs: QueueDepthInputs, answer: QueueDepthAdvice) -> Picture | None:
    """What the datastore gave at each depth, against what fits; None without measurements."""
    points: Sequence[LoadPoint] = inputs.points
    if not points:
        return None
    return Picture(
        title="What it gave at each depth",
        said=f"At most {max(one.outstanding_io for one in points):.0f} commands were outstanding "
        f"on average in a window; {answer.target} fit",
        x=Axis(label="commands outstanding, all hosts together"),
        y=Axis(label="throughput", unit="IOPS"),
        dots=thinned([(one.outstanding_io, one.iops) for one in points]),
        dots_label="one window",
        levels=(
            Level(
                value=float(answer.target),
                text=f"{answer.target} fit",
                is_after=True,
                is_upright=True,
            ),
        ),
    )
