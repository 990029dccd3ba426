"""What an uplink's own signs say: full, waiting, dropping, or losing packets somewhere else.

A full link that keeps nobody waiting is well used, not congested; retransmits beside a link that
is neither full nor dropping point beyond it. So no sign is believed alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from statistics import median

from advisor.core.explanation.answer import Confidence
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.rounding import round_all
from advisor.core.number_checks import check_amount, check_aware, check_positive

ENOUGH_WINDOWS = 3
PLENTY_WINDOWS = 12
FULL_RATIO = 0.9
STANDING_QUEUE_S = 0.005
"""A queue that takes longer to drain stands, it does not just even out bursts (CoDel)."""
DROP_RATIO = 1e-4
RETRANSMIT_RATIO = 0.01
MOST_WINDOWS = 0.5


class NicSign(StrEnum):
    """What can be seen of an uplink."""

    UTILISATION = "utilisation"
    BACKLOG = "backlog"
    DROPS = "drops"
    RETRANSMITS = "retransmits"
    UNMET_RESERVATION = "unmet_reservation"


class NicFinding(StrEnum):
    """What the signs mean together."""

    CONGESTED = "congested"
    BURSTS = "bursts"
    LOSS_ELSEWHERE = "loss_elsewhere"
    FULL = "full"
    CLEAR = "clear"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class NicWindow:
    """One window of an uplink, counters as increments; None was not measured.

    `unmet` names the workloads that wanted their reservation and did not get it.
    """

    at: datetime
    window_s: float
    tx_bits_per_s: float | None = None
    capacity_bits_per_s: float | None = None
    packets: float | None = None
    drops: float | None = None
    backlog_bytes: float | None = None
    segments: float | None = None
    retransmits: float | None = None
    unmet: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_aware("at", self.at)
        check_positive("window_s", self.window_s)
        check_positive("capacity_bits_per_s", self.capacity_bits_per_s)
        for name in (
            "tx_bits_per_s",
            "packets",
            "drops",
            "backlog_bytes",
            "segments",
            "retransmits",
        ):
            check_amount(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class NicEvidence:
    """One sign: its value, what it is compared with, and whether it is beyond that."""

    sign: NicSign
    value: float
    threshold: float
    unit: str
    present: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NicJudgement:
    """What the signs mean, with each of them; signs that were not measured are absent."""

    finding: NicFinding
    evidence: tuple[NicEvidence, ...]
    unmet: tuple[str, ...]
    confidence: Confidence
    reason: str


def judge_uplink(windows: Sequence[NicWindow]) -> NicJudgement:
    """The signs over all the windows together."""
    if len(windows) < ENOUGH_WINDOWS:
        reason = f"{len(windows)} windows, {ENOUGH_WINDOWS} are needed"
        return _judgement(NicFinding.UNKNOWN, (), windows, reason)
    evidence = tuple(
        one
        for one in (
            _utilisation(windows),
            _backlog(windows),
            _ratio(
                NicSign.DROPS,
                DROP_RATIO,
                [(one.drops, _offered(one.packets, one.drops)) for one in windows],
            ),
            _ratio(
                NicSign.RETRANSMITS,
                RETRANSMIT_RATIO,
                [(one.retransmits, one.segments) for one in windows],
            ),
            _unmet(windows),
        )
        if one is not None
    )
    finding, reason = _find(
        {one.sign for one in evidence}, {x.sign for x in evidence if x.present}
    )
    return _judgement(finding, evidence, windows, reason)


def _find(seen: set[NicSign], present: set[NicSign]) -> tuple[NicFinding, str]:
    if NicSign.UNMET_RESERVATION in present:
        return NicFinding.CONGESTED, "a reservation is not met though more is waiting"
    if NicSign.BACKLOG in present:
        return NicFinding.CONGESTED, "packets wait in a queue that never drains"
    if NicSign.DROPS in present:
        if NicSign.UTILISATION in present:
            return NicFinding.CONGESTED, "it is full and drops packets"
        return (
            NicFinding.BURSTS,
            "it drops packets though it is not full: bursts overflow its queue",
        )
    if NicSign.RETRANSMITS in present:
        if NicSign.UTILISATION in present:
            return NicFinding.CONGESTED, "it is full and packets have to be sent again"
        text = "packets are lost, but not here: it is neither full nor does it drop any"
        return NicFinding.LOSS_ELSEWHERE, text
    if NicSign.UTILISATION in present:
        return NicFinding.FULL, "it is full, and nobody is seen to wait"
    if NicSign.UTILISATION not in seen:
        return NicFinding.UNKNOWN, "its rate or its capacity was not measured"
    return NicFinding.CLEAR, "it has room"


def _utilisation(windows: Sequence[NicWindow]) -> NicEvidence | None:
    used = [
        one.tx_bits_per_s / one.capacity_bits_per_s
        for one in windows
        if one.tx_bits_per_s is not None and one.capacity_bits_per_s is not None
    ]
    if not used:
        return None
    return _compared(NicSign.UTILISATION, median(used), FULL_RATIO, "ratio")


def _backlog(windows: Sequence[NicWindow]) -> NicEvidence | None:
    """Time the queue takes to drain at the line's rate."""
    times = [
        one.backlog_bytes * 8 / one.capacity_bits_per_s
        for one in windows
        if one.backlog_bytes is not None and one.capacity_bits_per_s is not None
    ]
    if not times:
        return None
    return _compared(NicSign.BACKLOG, median(times), STANDING_QUEUE_S, "s")


def _offered(sent: float | None, dropped: float | None) -> float | None:
    return None if sent is None or dropped is None else sent + dropped


def _ratio(
    sign: NicSign, threshold: float, pairs: Sequence[tuple[float | None, float | None]]
) -> NicEvidence | None:
    """Lost in relation to all, over the windows in which both were counted."""
    known = [(lost, all_) for lost, all_ in pairs if lost is not None and all_ is not None]
    total = sum(all_ for _, all_ in known)
    lost = sum(one for one, _ in known)
    if not known:
        return None
    # Losses without a single success are as bad as it gets.
    value = min(lost / total, 1.0) if total > 0 else float(lost > 0)
    return _compared(sign, value, threshold, "ratio")


def _unmet(windows: Sequence[NicWindow]) -> NicEvidence:
    part = sum(bool(one.unmet) for one in windows) / len(windows)
    return _compared(NicSign.UNMET_RESERVATION, part, MOST_WINDOWS, "ratio")


def _compared(sign: NicSign, value: float, threshold: float, unit: str) -> NicEvidence:
    return NicEvidence(
        sign=sign, value=value, threshold=threshold, unit=unit, present=value >= threshold
    )


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
                    f"{len(windows)} windows, {PLENTY_WINDOWS} are plenty",
                ),
                ground(
                    "signs",
                    measured / len(NicSign),
                    f"{measured} of {len(NicSign)} signs were measured",
                ),
            ),
            reason=reason,
        )
    )
