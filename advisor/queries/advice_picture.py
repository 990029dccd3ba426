"""The evidence of advice as a picture, from its stored inputs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, timedelta

from advisor.advice.host_placement.decide.host_inputs import (
    HostPlacementAdvice,
    HostPlacementInputs,
)
from advisor.advice.limit_check.decide.limit_check import LimitCheck
from advisor.advice.limit_check.decide.limit_inputs import LimitInputs
from advisor.advice.off_peak_work.decide.scsi_conflicts import (
    ConflictInputs,
    ConflictWindow,
    OffPeakAdvice,
)
from advisor.advice.placement.decide.disk_answer import Move, PlacementAdvice
from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs
from advisor.advice.policy.decide.policy_inputs import AdviceInputs
from advisor.advice.queue_depth.decide.queue_depth_answer import QueueDepthAdvice, QueueDepthInputs
from advisor.advice.shared.picture import Axis, Column, Level, Line, Picture, Point
from advisor.advice.threshold.decide.threshold_advice import ThresholdAdvice, ThresholdInputs
from advisor.core.canonical import CanonicalError, loads
from advisor.core.device.device_fit import DeviceFit, LoadPoint, fit_device
from advisor.core.quantity import significant
from advisor.core.resource import ResourceKind
from advisor.models import Recommendation

MOST_DOTS = 400
"""More dots lie on one another."""
MOST_HOSTS = 12
HOURS = 24


def threshold_picture(inputs: ThresholdInputs, answer: ThresholdAdvice) -> Picture:
    """Latency over outstanding I/O, with the line through it and both thresholds."""
    deepest = max(point.outstanding_io for point in inputs.points)
    fit = fit_device(inputs.points)
    return Picture(
        title="How its latency answers to load",
        said=f"Latency rises with outstanding I/O; the threshold is {inputs.threshold_ms:.3g} ms "
        f"and would be {answer.threshold_ms:.3g} ms",
        x=Axis(label="outstanding I/Os"),
        y=Axis(label="latency", unit="ms"),
        dots=_thinned([(one.outstanding_io, one.latency_ms) for one in inputs.points]),
        dots_label="one window",
        lines=(_device_line("fitted line", fit.intercept_ms, fit.slope_ms, deepest),)
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


def queue_depth_picture(inputs: QueueDepthInputs, answer: QueueDepthAdvice) -> Picture | None:
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
        dots=_thinned([(one.outstanding_io, one.iops) for one in points]),
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


def off_peak_picture(inputs: ConflictInputs, answer: OffPeakAdvice) -> Picture:
    """Load and conflicts by hour of the day since they rose, and the hours advised."""
    recent = [one for one in inputs.windows if one.at > inputs.normal_until]
    load = _by_hour(recent, [one.commands for one in recent])
    conflicts = _by_hour(recent, [one.conflicts for one in recent])
    chosen = {(answer.from_hour_utc + step) % HOURS for step in range(answer.work_hours)}
    return Picture(
        title="Its day since conflicts rose",
        said="Load and reservation conflicts by hour of the day; the advised hours start at "
        f"{answer.from_hour_utc:02}:00 UTC",
        x=Axis(
            label="hour of day, UTC",
            ticks=tuple((hour + 0.5, f"{hour:02}") for hour in range(0, HOURS, 3)),
        ),
        y=Axis(label="times the mean of the day"),
        columns=tuple(
            Column(at=float(hour), value=load[hour], is_after=hour in chosen)
            for hour in range(HOURS)
        ),
        columns_label="commands",
        columns_after_label="commands in the advised hours",
        lines=(
            Line(
                label="reservation conflicts",
                points=tuple((hour + 0.5, conflicts[hour]) for hour in range(HOURS)),
            ),
        ),
    )


def _by_hour(windows: Sequence[ConflictWindow], amounts: Sequence[float]) -> list[float]:
    """The mean of each hour of the day against the mean of all; 0 where nothing is known."""
    sums, counts = [0.0] * HOURS, [0] * HOURS
    for one, amount in zip(windows, amounts, strict=True):
        hour = one.at.astimezone(UTC).hour
        sums[hour] += amount
        counts[hour] += 1
    means = [total / count if count else 0.0 for total, count in zip(sums, counts, strict=True)]
    level = sum(means) / max(sum(1 for count in counts if count), 1)
    return [mean / level if level > 0 else 0.0 for mean in means]


def placement_picture(inputs: PlacementInputs, answer: PlacementAdvice) -> Picture | None:
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
    line = _device_line(one.datastore, one.intercept_ms or 0.0, one.slope_ms or 0.0, deepest)
    return Line(label=line.label, points=line.points, is_after=is_after)


def _latency(one: DatastoreState, outstanding_io: float) -> float:
    return (one.intercept_ms or 0.0) + (one.slope_ms or 0.0) * outstanding_io


def host_placement_picture(
    inputs: HostPlacementInputs, answer: HostPlacementAdvice
) -> Picture | None:
    """How full the hosts that take part are with reservations, now and after the moves."""
    moved = {one.workload: one.target for one in answer.moves}
    involved = {one.host for one in inputs.workloads if one.workload in moved} | set(
        moved.values()
    )
    hosts = [one for one in inputs.hosts if one.host in involved and one.line_bits_per_s > 0]
    if not hosts:
        return None
    columns, said = [], []
    for place, host in enumerate(hosts[:MOST_HOSTS]):
        may = inputs.reservable_ratio * host.line_bits_per_s
        before = sum(
            one.reservation_bits_per_s for one in inputs.workloads if one.host == host.host
        )
        after = sum(
            one.reservation_bits_per_s
            for one in inputs.workloads
            if moved.get(one.workload, one.host) == host.host
        )
        columns.append(Column(at=place + 0.1, value=100 * before / may))
        columns.append(Column(at=place + 0.5, value=100 * after / may, is_after=True))
        said.append(f"{host.host}: {before / may:.0%} now, {after / may:.0%} after")
    return Picture(
        title="How much of what may be reserved is reserved",
        said="; ".join(said),
        x=Axis(
            label="host",
            ticks=tuple((place + 0.5, host.host) for place, host in enumerate(hosts[:MOST_HOSTS])),
        ),
        y=Axis(label="reserved of what may be", unit="%"),
        columns=tuple(columns),
        columns_label="now",
        columns_after_label="after",
        levels=(Level(value=100.0, text=f"{inputs.reservable_ratio:.0%} of the line rate"),),
    )


def limit_picture(inputs: LimitInputs, answer: LimitCheck) -> Picture | None:
    """The rate of each virtual disk, window by window, against its limit."""
    disks = [one for one in inputs.vdisks if one.windows]
    if not disks:
        return None
    limits = {one.limit_iops for one in answer.limits if one.limit_iops is not None}
    return Picture(
        title="Its rate against its limit",
        said="; ".join(f"{one.name}: {one.reason}" for one in answer.limits),
        x=Axis(label="windows of the last hour, oldest first"),
        y=Axis(label="rate", unit="IOPS"),
        lines=tuple(
            Line(
                label=one.vdisk,
                points=_thinned(
                    [(float(place), window.iops) for place, window in enumerate(one.windows)]
                ),
            )
            for one in disks
        ),
        levels=tuple(
            Level(value=limit, text=f"limit {significant(limit)} IOPS", is_after=True)
            for limit in sorted(limits)
        ),
    )


def incident_picture(row: Recommendation) -> Picture | None:
    """Latency or load while it was congested, against the threshold that held.

    None for a draft, and for inputs that another version stored.
    """
    try:
        inputs = loads(AdviceInputs, row.inputs)
    except CanonicalError:
        return None
    incident = inputs.incident
    if incident is None or incident.peak_value is None or incident.threshold is None:
        return None
    is_uplink = inputs.kind is ResourceKind.UPLINK
    factor, unit = (100.0, "%") if is_uplink else (1.0, "ms")
    began = incident.started_at
    points = [
        ((one.at - began) / timedelta(minutes=1), factor * one.value)
        for one in incident.evidence
        if one.value is not None and one.at >= began
    ]
    level = "load" if is_uplink else "latency"
    threshold = factor * incident.threshold
    if len(points) < 2:
        return None
    return Picture(
        title="The incident it answers",
        said=f"The {level} was up to {factor * incident.peak_value:.3g} {unit}, the "
        f"threshold is {threshold:.3g} {unit}",
        x=Axis(label="minutes since it began"),
        y=Axis(label=level, unit=unit),
        lines=(Line(label=level, points=tuple(points)),),
        levels=(Level(value=threshold, text=f"threshold {significant(threshold)} {unit}"),),
    )


def _device_line(name: str, intercept_ms: float, slope_ms: float, deepest: float) -> Line:
    return Line(
        label=f"{name}: {intercept_ms:.3g} ms + {slope_ms:.3g} ms · outstanding",
        points=((0.0, intercept_ms), (deepest, intercept_ms + slope_ms * deepest)),
    )


def _thinned(points: Sequence[Point]) -> tuple[Point, ...]:
    """Evenly spaced points of a long series."""
    step = max(len(points) // MOST_DOTS, 1)
    return tuple(points[::step])
