"""How deep each host's queue to a shared LUN should be, so that all of them fit its own queue.

Commands beyond the LUN's queue are refused or wait where no shares order them. Depths are divided
by shares, between the smallest depth that keeps a device busy and what the host has.
"""

from collections.abc import Sequence
from math import ceil, floor

from advisor.advice.queue_depth.decide.queue_depth_answer import (
    AdvisedDepth,
    Bottleneck,
    QueueDepthAdvice,
    QueueDepthInputs,
    QueueDepthKind,
)
from advisor.core.admission import TOLERANCE
from advisor.core.allocation import Allocation, ReservationMode, entitlements
from advisor.core.device.queueing import fit_scalability, saturation_of
from advisor.core.explanation.answer import (
    Alternative,
    Confidence,
    InsufficientData,
    Missing,
    NoChange,
)
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.effect import Effect
from advisor.core.explanation.rounding import round_all

SMALLEST_DEPTH = 4
"""SIOC leaves each host at least so many outstanding I/Os."""
ENOUGH_WINDOWS = 30
UNSEEN_OVERFLOW = 0.4
"""Confidence that depths matter which were never used up in what was measured."""
UNMEASURED = 0.7
"""Confidence without measured outstanding I/O: the sum of depths may never be reached."""
MODEL_VERSION = "queue-depth-3"
REVERSIBILITY = "Reversible: the depth each host had is listed and can be set again at any time."

QueueDepthAnswer = QueueDepthAdvice | NoChange | InsufficientData


def advise_queue_depth(inputs: QueueDepthInputs) -> QueueDepthAnswer:
    """New depths, or no change if the present ones fit together, or the missing data."""
    lun_depth = inputs.lun_queue_depth
    missing = []
    if lun_depth is None:
        missing.append(Missing(what="queue depth of the LUN", have=0, need=1))
    if not inputs.hosts:
        missing.append(Missing(what="hosts with a queue depth", have=0, need=1))
    if missing or lun_depth is None:
        needs = ", ".join(one.what for one in missing)
        return InsufficientData(
            summary=f"Too little is known about datastore {inputs.datastore}: {needs}",
            missing=tuple(missing),
            model_version=MODEL_VERSION,
        )
    configured = sum(one.device_queue_depth for one in inputs.hosts)
    target, bottleneck = _target(inputs, lun_depth)
    if configured <= target:
        return NoChange(
            summary=f"The queue depths of {len(inputs.hosts)} hosts add up to {configured}, which "
            f"datastore {inputs.datastore} takes: {_why_target(bottleneck, target)}",
            model_version=MODEL_VERSION,
        )
    return round_all(_advice(inputs, configured, target, bottleneck))


def _target(inputs: QueueDepthInputs, lun_depth: int) -> tuple[int, Bottleneck]:
    """The LUN's queue, or the depth beyond which throughput was measured to fall."""
    law = fit_scalability(inputs.points)
    best = None if law is None else law.best_outstanding_io
    deepest = max((point.outstanding_io for point in inputs.points), default=0.0)
    if best is not None and best < min(lun_depth, deepest):
        return max(floor(best), 1), Bottleneck.THROUGHPUT_FALLS
    return lun_depth, Bottleneck.LUN_QUEUE


def _why_target(bottleneck: Bottleneck, target: int) -> str:
    if bottleneck is Bottleneck.LUN_QUEUE:
        return f"its LUN takes {target} commands"
    return f"with more than {target} commands its throughput falls"


def _advice(
    inputs: QueueDepthInputs, configured: int, target: int, bottleneck: Bottleneck
) -> QueueDepthAdvice:
    depths = _divide(inputs, target)
    count = len(depths)
    hosts_per_lun = floor(target / max(one.device_queue_depth for one in depths))
    after = sum(one.advised_queue_depth for one in depths)
    most_hosts_per_lun, luns_needed = _spread(depths, after, target)
    span = sorted({one.advised_queue_depth for one in depths})
    advised = f"{span[0]}" if len(span) == 1 else f"{span[0]} to {span[-1]}"
    why = _why_target(bottleneck, target)
    place = f"datastore {inputs.datastore}"
    if luns_needed > 1:
        kind = QueueDepthKind.HOSTS_PER_LUN
        summary = (
            f"Spread the {count} hosts of {place} over {luns_needed} LUNs, at most "
            f"{most_hosts_per_lun} hosts per LUN, with a queue depth of {advised}: even so they "
            f"add up to {after}, now to {configured}, and {why}"
        )
    else:
        kind = QueueDepthKind.QUEUE_DEPTH
        summary = (
            f"Set the queue depth of {count} hosts of {place} to {advised}: now they add up to "
            f"{configured}, and {why}"
        )
    return QueueDepthAdvice(
        kind=kind,
        summary=summary,
        depths=depths,
        configured=configured,
        target=target,
        bottleneck=bottleneck,
        hosts_per_lun=hosts_per_lun,
        most_hosts_per_lun=most_hosts_per_lun,
        luns_needed=luns_needed,
        formula=f"depth = {target} · shares of the host / shares of all hosts, rounded down, "
        f"from {SMALLEST_DEPTH} to the depth the host has",
        effects=_effects(inputs, configured, min(after, target)),
        alternatives=_alternatives(inputs, configured, target, hosts_per_lun),
        confidence=_confidence(inputs, target),
        reversibility=REVERSIBILITY,
        model_version=MODEL_VERSION,
    )


def _spread(depths: Sequence[AdvisedDepth], after: int, target: int) -> tuple[int, int]:
    """How many hosts one LUN takes at the advised depths, and how many LUNs all of them need."""
    count = len(depths)
    if after <= target:
        return max(floor(target * count / after), 1), 1
    # Whichever hosts meet on a LUN, and a host is on one LUN as a whole.
    most = max(floor(target / max(one.advised_queue_depth for one in depths)), 1)
    return most, max(ceil(count / most), ceil(after / target))


def _divide(inputs: QueueDepthInputs, target: int) -> tuple[AdvisedDepth, ...]:
    allocations = [
        Allocation(
            reservation=min(SMALLEST_DEPTH, one.device_queue_depth),
            limit=one.device_queue_depth,
            shares=one.shares,
        )
        for one in inputs.hosts
    ]
    amounts = entitlements(target, allocations, ReservationMode.FLOOR)
    return tuple(
        AdvisedDepth(
            host=one.host,
            device_queue_depth=one.device_queue_depth,
            # Where not even the smallest depths fit, the solver scales them down.
            advised_queue_depth=max(
                floor(amount * (1 + TOLERANCE)), min(SMALLEST_DEPTH, one.device_queue_depth)
            ),
        )
        for one, amount in zip(inputs.hosts, amounts, strict=True)
    )


def _effects(inputs: QueueDepthInputs, before: int, after: int) -> tuple[Effect, ...]:
    worst = Effect(
        quantity="outstanding on a LUN when every host uses its depth",
        unit="commands",
        before=before,
        after=after,
        how="sum of the depths of the hosts on it",
    )
    device = saturation_of(inputs.points)
    if device is None:
        return (worst,)
    return (
        worst,
        Effect(
            quantity="latency of the datastore then",
            unit="ms",
            before=device.latency_ms(before),
            after=device.latency_ms(after),
            how=f"max({device.base_ms:.3g} ms, N / {device.peak_iops:.0f} IOPS); what no longer "
            "waits in the LUN waits on the hosts, where shares order it",
        ),
        Effect(
            quantity="throughput of the datastore then",
            unit="iops",
            before=device.iops(before),
            after=device.iops(after),
            how=f"min(N / {device.base_ms:.3g} ms, {device.peak_iops:.0f} IOPS)",
        ),
    )


def _alternatives(
    inputs: QueueDepthInputs, configured: int, target: int, hosts_per_lun: int
) -> tuple[Alternative, ...]:
    device = saturation_of(inputs.points)
    stays = (
        f"up to {configured - target} commands wait or are refused"
        if device is None
        else f"latency rises to {device.latency_ms(configured):.0f} ms when all depths are used"
    )
    fewer = Alternative(
        name=f"at most {hosts_per_lun} hosts per LUN at the depth they have",
        reason=f"fits {target} as well, but {len(inputs.hosts)} hosts then need "
        f"{ceil(len(inputs.hosts) / max(hosts_per_lun, 1))} LUNs and workloads have to move",
    )
    return (
        Alternative(name="keep the depths", reason=stays),
        *([fewer] if hosts_per_lun > 0 else []),
        Alternative(
            name="let window control bound what is outstanding",
            reason="follows the load and keeps idle depth in use, but acts only where every host "
            "of the datastore runs the agent",
        ),
    )


def _confidence(inputs: QueueDepthInputs, target: int) -> Confidence:
    peak = inputs.peak_outstanding_io
    if peak is None:
        return weakest(
            ground("overflow", UNMEASURED, "nobody measured how many commands are outstanding")
        )
    windows = ground(
        "windows",
        inputs.peak_windows / ENOUGH_WINDOWS,
        f"{inputs.peak_windows} windows, {ENOUGH_WINDOWS} are plenty",
    )
    seen = f"up to {peak:.0f} commands outstanding on average in a window, {target} are taken"
    overflow = 1.0 if peak > target else UNSEEN_OVERFLOW
    return weakest(windows, ground("overflow", overflow, seen))
