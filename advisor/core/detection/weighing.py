"""Compare one window with its threshold: above or low, and how severe.

A datastore's window is above by its latency, an uplink's by its utilisation or another signal.
"""

from dataclasses import dataclass, replace

from advisor.core.detection.nic_signals import (
    NicEvidence,
    NicFinding,
    NicWindow,
    find,
    offered_bits_per_s,
    signals_of,
)
from advisor.core.enumeration import listed

GRAVE_OVERLOAD = 1.5
"""Offered so many times its capacity, an uplink's window is grave."""
MOST_SEVERE = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A window compared with its threshold; `why` is empty if the value alone decides.

    `severity` of a window above is how many times the threshold it was, from 1 on.
    """

    above: bool
    below: bool
    severity: float = 1.0
    why: str = ""
    signals: tuple[NicEvidence, ...] = ()


LOW = Weighed(above=False, below=True)
HUNG = Weighed(above=True, below=False)


def weigh(
    value: float, nic: NicWindow | None, limit: float, *, exit_ratio: float, grave: float
) -> Weighed:
    """The window with this value, and signals if it is of an uplink, against the threshold.

    `grave` is the severity at which one window suffices.
    """
    is_low = value <= limit * exit_ratio
    if nic is None:
        above = value > limit
        severity = _rounded(value / limit) if above and limit > 0 else 1.0
        return Weighed(above=above, below=is_low, severity=severity)
    weighed = _weigh_uplink(nic, limit, is_low=is_low)
    return replace(weighed, severity=_overload_severity(nic, grave)) if weighed.above else weighed


def _rounded(severity: float) -> float:
    # It is kept as text with the state of each resource.
    return round(min(severity, MOST_SEVERE), 2)


def _overload_severity(nic: NicWindow, grave: float) -> float:
    """By what was offered: 1 up to the capacity, `grave` at `GRAVE_OVERLOAD` times of it."""
    if nic.tx_bits_per_s is None or nic.capacity_bits_per_s is None:
        return 1.0
    overload = max(offered_bits_per_s(nic) / nic.capacity_bits_per_s - 1, 0.0)
    return _rounded(1 + (grave - 1) * overload / (GRAVE_OVERLOAD - 1))


def _weigh_uplink(nic: NicWindow, limit: float, *, is_low: bool) -> Weighed:
    evidence = signals_of([nic], full_ratio=limit)
    signals = tuple(one for one in evidence if one.present)
    finding, why = find(evidence)
    if nic.unmet:
        why = f"below the reservation while wanting more: {listed(nic.unmet)}"
    if finding is NicFinding.FULL:
        why = why if nic.nobody_waits else ""
        return Weighed(
            above=not nic.nobody_waits, below=nic.nobody_waits, why=why, signals=signals
        )
    if finding in (NicFinding.CLEAR, NicFinding.UNKNOWN):
        return Weighed(above=False, below=is_low or nic.nobody_waits)
    above = finding is NicFinding.CONGESTED
    return Weighed(above=above, below=is_low and not above, why=why, signals=signals)
