"""The state of an uplink from all its signals together.

A full link without waiting workloads is well used, not congested. Retransmits on a link that is
neither full nor dropping have their cause elsewhere. So no signal decides alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from advisor.core.detection.nic_signals import NicEvidence, NicSignal, NicWindow, signals_of
from advisor.core.explanation.answer import Confidence
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.rounding import round_all

ENOUGH_WINDOWS = 3
PLENTY_WINDOWS = 12


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
