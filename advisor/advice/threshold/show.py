"""Advice on a congestion threshold, as people are shown it."""

from __future__ import annotations

from advisor.advice.shared.load_picture import device_line, thinned
from advisor.advice.shared.picture import Axis, Level, Picture
from advisor.advice.shared.shown import AdviceTable, Commitment, Fact, Shown, TableColumn
from advisor.advice.threshold.decide.threshold_advice import ThresholdAdvice, ThresholdInputs
from advisor.core.device.device_fit import DeviceFit, fit_device
from advisor.core.enumeration import listed
from advisor.core.quantity import significant


def show(inputs: ThresholdInputs, answer: ThresholdAdvice, resource: str) -> Shown:
    return Shown(
        table=_table(answer, inputs),
        facts=_facts(inputs),
        picture=_picture(inputs, answer),
        commitment=_commitment(inputs, resource),
    )


def _commitment(inputs: ThresholdInputs, resource: str) -> Commitment:
    return Commitment(
        does="The threshold takes effect within 10 s.",
        does_not="No host is changed.",
        undo=f"sluice resource set {resource} --threshold {inputs.threshold_ms:g} sets the "
        "earlier one again.",
        button="Approve and set",
        done="Approved: the new threshold takes effect within 10 s.",
    )


def _table(answer: ThresholdAdvice, inputs: ThresholdInputs) -> AdviceTable:
    """One row per datastore; the earlier threshold is known of the one that was looked at."""
    return AdviceTable(
        columns=(
            TableColumn(title="Datastore"),
            TableColumn(title="Now", unit="ms", is_number=True),
            TableColumn(title="After", unit="ms", is_number=True),
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


def _facts(inputs: ThresholdInputs) -> tuple[Fact, ...]:
    return (
        Fact(name="Windows", text=f"{len(inputs.points)} of the last day, at several depths"),
        Fact(name="Threshold now", text=f"{significant(inputs.threshold_ms)} ms"),
        Fact(name="Wanted part of the peak", text=f"{inputs.part_of_peak:.0%}"),
        Fact(name="On the same disks", text=listed(inputs.same_disks) or "no other datastore"),
    )


def _picture(inputs: ThresholdInputs, answer: ThresholdAdvice) -> Picture:
    """Latency over outstanding I/O, with the line through it and both thresholds."""
    deepest = max(point.outstanding_io for point in inputs.points)
    fit = fit_device(inputs.points)
    return Picture(
        title="How its latency answers to load",
        said=f"Latency rises with outstanding I/O; the threshold is {inputs.threshold_ms:.3g} ms "
        f"and would be {answer.threshold_ms:.3g} ms",
        x=Axis(label="outstanding I/Os"),
        y=Axis(label="latency", unit="ms"),
        dots=thinned([(one.outstanding_io, one.latency_ms) for one in inputs.points]),
        dots_label="one window",
        lines=(device_line("fitted line", fit.intercept_ms, fit.slope_ms, deepest),)
        if isinstance(fit, DeviceFit)
        else (),
        levels=(
            Level(value=inputs.threshold_ms, text=f"now {significant(inputs.threshold_ms)} ms"),
            Level(
                value=answer.threshold_ms,
                text=f"after {significant(answer.threshold_ms)} ms",
                is_after=True,
            ),
        ),
    )
