"""What advice that is not a policy rests on, and what approving it does, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from advisor.advice.host_placement.decide.host_inputs import HostPlacementInputs
from advisor.advice.limit_check.decide.limit_inputs import IoCount, LimitInputs, LimitScope
from advisor.advice.off_peak_work.decide.scsi_conflicts import ConflictInputs, OffPeakAdvice
from advisor.advice.placement.decide.device_line import LineSource
from advisor.advice.placement.decide.disk_answer import LineUsed, PlacementAdvice
from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs
from advisor.advice.queue_depth.decide.queue_depth_answer import (
    Bottleneck,
    QueueDepthAdvice,
    QueueDepthInputs,
)
from advisor.advice.threshold.decide.threshold_advice import ThresholdInputs
from advisor.core.quantity import format_rate, significant
from advisor.models import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One input of the formula, as people read it."""

    name: str
    text: str


def threshold_facts(inputs: ThresholdInputs) -> tuple[Fact, ...]:
    return (
        Fact(name="Windows", text=f"{len(inputs.points)} of the last day, at several depths"),
        Fact(name="Threshold now", text=f"{significant(inputs.threshold_ms)} ms"),
        Fact(name="Wanted part of the peak", text=f"{inputs.part_of_peak:.0%}"),
        Fact(name="On the same disks", text=", ".join(inputs.same_disks) or "no other datastore"),
    )


def queue_depth_facts(inputs: QueueDepthInputs, answer: QueueDepthAdvice) -> tuple[Fact, ...]:
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


def off_peak_facts(inputs: ConflictInputs, answer: OffPeakAdvice) -> tuple[Fact, ...]:
    began = answer.conflicts_began_at
    return (
        Fact(name="Windows", text=f"{len(inputs.windows)} hours"),
        Fact(name="Conflicts before", text=f"{answer.normal_ratio:.2%} of commands"),
        Fact(name="Conflicts lately", text=f"{answer.recent_ratio:.2%} of commands"),
        Fact(name="Rose from", text=f"{began:%Y-%m-%d %H:%M} UTC"),
        Fact(name="Administrative work takes", text=f"{answer.work_hours} hours a day"),
    )


def placement_facts(inputs: PlacementInputs, answer: PlacementAdvice) -> tuple[Fact, ...]:
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


def host_placement_facts(inputs: HostPlacementInputs) -> tuple[Fact, ...]:
    hosts = []
    for one in inputs.hosts:
        reserved = sum(
            workload.reservation_bits_per_s
            for workload in inputs.workloads
            if workload.host == one.host
        )
        may = inputs.reservable_ratio * one.line_bits_per_s
        hosts.append(
            Fact(
                name=f"Host {one.host}",
                text=f"{format_rate(reserved, 'bits_per_s')} reserved, "
                f"{format_rate(may, 'bits_per_s')} may be",
            )
        )
    ratio = Fact(name="May be reserved", text=f"{inputs.reservable_ratio:.0%} of a line rate")
    return (ratio, *hosts)


NOT_ENFORCED = "stored for this check, not yet enforced"
"""Hosts limit each cgroup and disk, reads and writes apart, in plain I/Os."""


def _words(value: LimitScope | IoCount) -> str:
    return value.value.replace("_", " ")


def limit_facts(inputs: LimitInputs) -> tuple[Fact, ...]:
    windows = len(inputs.vdisks[0].windows) if inputs.vdisks else 0
    threshold = inputs.congestion_threshold_ms
    return (
        Fact(name="Workload", text=f"{inputs.workload} on {inputs.datastore}"),
        Fact(name="Windows", text=f"{windows} of the last hour"),
        Fact(name="Limits are stated", text=f"{_words(inputs.scope)}; {NOT_ENFORCED}"),
        Fact(name="I/Os are stated to count", text=f"{_words(inputs.count)}; {NOT_ENFORCED}"),
        Fact(
            name="Congestion threshold",
            text="not known" if threshold is None else f"{significant(threshold)} ms",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """What approving does and does not do, and what the button says."""

    does: str
    does_not: str
    undo: str
    button: str


_BY_HAND = "Approve: it will be done"


def commitment(topic: Topic, resource: str, *, threshold: float | None = None) -> Commitment:
    """The words for one topic; a policy has its own page.

    `threshold` is the one that was in force when advice on it was given, in ms.
    """
    match topic:
        case Topic.THRESHOLD:
            return Commitment(
                does="The threshold takes effect within 10 s.",
                does_not="No host is changed.",
                undo=f"sluice resource set {resource} --threshold "
                f"{'MS' if threshold is None else format(threshold, 'g')} sets the earlier one "
                "again.",
                button="Approve and set",
            )
        case Topic.QUEUE_DEPTH:
            return Commitment(
                does="It is noted that somebody will set these depths on the hosts.",
                does_not="Sluice sets no queue depth: nothing is changed on any host.",
                undo="When it is done, state the depths: "
                f"sluice resource set {resource} --host-queue-depth HOST=COMMANDS",
                button=_BY_HAND,
            )
        case Topic.OFF_PEAK_WORK:
            return Commitment(
                does="It is noted that somebody will move the administrative work.",
                does_not="Sluice runs no such work: no schedule is changed.",
                undo="It is a time of day in a schedule, and can be set back there.",
                button=_BY_HAND,
            )
        case Topic.PLACEMENT:
            return Commitment(
                does="It is noted that somebody will move the virtual disks.",
                does_not="Sluice moves nothing: no data is copied.",
                undo="A move that was made is undone by copying back.",
                button=_BY_HAND,
            )
        case Topic.HOST_PLACEMENT:
            return Commitment(
                does="It is noted that somebody will move the workloads and settle the "
                "reservations that no host can promise.",
                does_not="Sluice moves no workload and changes no allocation.",
                undo="A workload that was moved can be moved back.",
                button=_BY_HAND,
            )
        case Topic.LIMIT_CHECK:
            return Commitment(
                does="It is noted that somebody will look after these limits.",
                does_not="No limit is changed, neither here nor on any host.",
                undo="There is nothing to undo.",
                button=_BY_HAND,
            )
        case Topic.POLICY:
            raise ValueError("a policy is published; its page says to which hosts")
        case _:
            assert_never(topic)
