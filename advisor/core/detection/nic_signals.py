"""The signals of an uplink, each with its value and threshold, and its state from all together.

A full link without waiting workloads is well used, not congested. Retransmits on a link that is
neither full nor dropping have their cause elsewhere. So no signal decides alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from advisor.core.explanation.answer import Confidence
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.rounding import round_all

FULL_RATIO = 0.9
STANDING_QUEUE_S = 0.005
"""A queue that takes longer to drain is a standing queue, not a burst (CoDel)."""
DROP_RATIO = 1e-4
RETRANSMIT_RATIO = 0.01
MOST_WINDOWS = 0.5
ENOUGH_WINDOWS = 3
PLENTY_WINDOWS = 12


class NicSignal(StrEnum):
    """What is measured of an uplink."""

    UTILISATION = "utilisation"
    BACKLOG = "backlog"
    DROPS = "drops"
    RETRANSMITS = "retransmits"
    UNMET_RESERVATION = "unmet_reservation"


@dataclass(frozen=True, slots=True, kw_only=True)
class NicWindow:
    """One window of an uplink, counters as increments; None means not measured.

    `unmet` names the workloads that wanted their reservation and did not get it. `nobody_waits`
    means that all workloads on the uplink were observed and none had a queue; False includes
    unknown.
    """

    tx_bits_per_s: float | None = None
    capacity_bits_per_s: float | None = None
    packets: float | None = None
    drops: float | None = None
    backlog_bytes: float | None = None
    segments: float | None = None
    retransmits: float | None = None
    unmet: tuple[str, ...] = ()
    nobody_waits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NicEvidence:
    """One signal: its value, its threshold, and whether it is beyond it."""

    signal: NicSignal
    value: float
    threshold: float
    unit: str
    present: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalCount:
    """In how many windows a signal was beyond its threshold, and the worst value."""

    signal: NicSignal
    windows: int
    worst: float
    threshold: float
    unit: str


def signal_text(value: float, unit: str) -> str:
    """The value of a signal as text: a fraction in percent, a time in milliseconds."""
    number, shown = (1000 * value, "ms") if unit == "s" else (100 * value, "%")
    return f"{number:.3g} {shown}"


def signals_of(
    windows: Sequence[NicWindow], *, full_ratio: float = FULL_RATIO
) -> tuple[NicEvidence, ...]:
    """Every signal over all the windows together; one that was not measured is absent."""
    found = (
        _utilisation(windows, full_ratio),
        _backlog(windows),
        _ratio(
            NicSignal.DROPS,
            DROP_RATIO,
            [(one.drops, _offered(one.packets, one.drops)) for one in windows],
        ),
        _ratio(
            NicSignal.RETRANSMITS,
            RETRANSMIT_RATIO,
            [(one.retransmits, one.segments) for one in windows],
        ),
        _unmet(windows),
    )
    return tuple(one for one in found if one is not None)


def count_signals(
    windows: Iterable[Sequence[NicEvidence]], before: Sequence[SignalCount] = ()
) -> tuple[SignalCount, ...]:
    """The signals that fired in any of the windows, in the order of `NicSignal`.

    `before` are the counts of earlier windows, to which these are added.
    """
    counts = {one.signal: one for one in before}
    for evidence in windows:
        for one in evidence:
            if one.present:
                counts[one.signal] = _counted(one, counts.get(one.signal))
    return tuple(counts[signal] for signal in NicSignal if signal in counts)


def _counted(fired: NicEvidence, before: SignalCount | None) -> SignalCount:
    windows = 1 + (before.windows if before else 0)
    if before and (fired.value, -fired.threshold) <= (before.worst, -before.threshold):
        return replace(before, windows=windows)
    return SignalCount(
        signal=fired.signal,
        windows=windows,
        worst=fired.value,
        threshold=fired.threshold,
        unit=fired.unit,
    )


def _utilisation(windows: Sequence[NicWindow], full_ratio: float) -> NicEvidence | None:
    used = [
        one.tx_bits_per_s / one.capacity_bits_per_s
        for one in windows
        if one.tx_bits_per_s is not None and one.capacity_bits_per_s is not None
    ]
    if not used:
        return None
    return _compared(NicSignal.UTILISATION, median(used), full_ratio, "ratio")


def _backlog(windows: Sequence[NicWindow]) -> NicEvidence | None:
    """Time that the queue takes to drain at the line rate."""
    times = [
        one.backlog_bytes * 8 / one.capacity_bits_per_s
        for one in windows
        if one.backlog_bytes is not None and one.capacity_bits_per_s is not None
    ]
    if not times:
        return None
    return _compared(NicSignal.BACKLOG, median(times), STANDING_QUEUE_S, "s")


def offered_bits_per_s(window: NicWindow) -> float:
    """What it sent and what it dropped, packets of one size being assumed; 0 if unknown."""
    sent, offered = window.tx_bits_per_s or 0.0, _offered(window.packets, window.drops)
    return sent * offered / window.packets if offered and window.packets else sent


def _offered(sent: float | None, dropped: float | None) -> float | None:
    return None if sent is None or dropped is None else sent + dropped


def _ratio(
    signal: NicSignal, threshold: float, pairs: Sequence[tuple[float | None, float | None]]
) -> NicEvidence | None:
    """Fraction of packets lost, over the windows in which both were counted."""
    known = [(lost, all_) for lost, all_ in pairs if lost is not None and all_ is not None]
    total = sum(all_ for _, all_ in known)
    lost = sum(one for one, _ in known)
    if not known:
        return None
    # Losses without a single success: all were lost.
    value = min(lost / total, 1.0) if total > 0 else float(lost > 0)
    return _compared(signal, value, threshold, "ratio")


def _unmet(windows: Sequence[NicWindow]) -> NicEvidence | None:
    if not windows:
        return None
    part = sum(bool(one.unmet) for one in windows) / len(windows)
    return _compared(NicSignal.UNMET_RESERVATION, part, MOST_WINDOWS, "ratio")


def _compared(signal: NicSignal, value: float, threshold: float, unit: str) -> NicEvidence:
    return NicEvidence(
        signal=signal, value=value, threshold=threshold, unit=unit, present=value > threshold
    )


class NicFinding(StrEnum):
    """What the signals mean together."""

    CONGESTED = "congested"
    BURSTS = "bursts"
    LOSS_ELSEWHERE = "loss_elsewhere"
    FULL = "full"
    CLEAR = "clear"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class NicJudgement:
    """What the signals mean together; signals that were not measured are absent."""

    finding: NicFinding
    evidence: tuple[NicEvidence, ...]
    unmet: tuple[str, ...]
    confidence: Confidence
    reason: str


def judge_uplink(windows: Sequence[NicWindow]) -> NicJudgement:
    """The signals over all the windows together."""
    if len(windows) < ENOUGH_WINDOWS:
        reason = f"{len(windows)} windows, {ENOUGH_WINDOWS} are needed"
        return _judgement(NicFinding.UNKNOWN, (), windows, reason)
    evidence = signals_of(windows)
    finding, reason = find(evidence)
    return _judgement(finding, evidence, windows, reason)


def find(evidence: Sequence[NicEvidence]) -> tuple[NicFinding, str]:
    """What these signals mean together, and why."""
    seen = {one.signal for one in evidence}
    present = {one.signal for one in evidence if one.present}
    if NicSignal.UNMET_RESERVATION in present:
        return NicFinding.CONGESTED, "a reservation is not met although its workload wants more"
    if NicSignal.BACKLOG in present:
        return NicFinding.CONGESTED, "packets wait in a queue that does not drain"
    if NicSignal.DROPS in present:
        if NicSignal.UTILISATION in present:
            return NicFinding.CONGESTED, "it is full and drops packets"
        return (
            NicFinding.BURSTS,
            "it drops packets although it is not full: bursts overflow its queue",
        )
    if NicSignal.RETRANSMITS in present:
        if NicSignal.UTILISATION in present:
            return NicFinding.CONGESTED, "it is full and packets are retransmitted"
        text = "packets are lost elsewhere: this uplink is neither full nor dropping"
        return NicFinding.LOSS_ELSEWHERE, text
    if NicSignal.UTILISATION in present:
        return NicFinding.FULL, "it is full, but no workload waits"
    if NicSignal.UTILISATION not in seen:
        return NicFinding.UNKNOWN, "its rate or its capacity was not measured"
    return NicFinding.CLEAR, "it has free capacity"


def _judgement(
    finding: NicFinding,
    evidence: tuple[NicEvidence, ...],
    windows: Sequence[NicWindow],
    reason: str,
) -> NicJudgement:
    measured = len(evidence)
    return round_all(
        NicJudgement(
            finding=finding,
            evidence=evidence,
            unmet=tuple(sorted({name for one in windows for name in one.unmet})),
            confidence=weakest(
                ground(
                    "windows",
                    len(windows) / PLENTY_WINDOWS,
                    f"{len(windows)} windows, {PLENTY_WINDOWS} give full confidence",
                ),
                ground(
                    "signals",
                    measured / len(NicSignal),
                    f"{measured} of {len(NicSignal)} signals were measured",
                ),
            ),
            reason=reason,
        )
    )
