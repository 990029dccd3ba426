"""Detect external load on a datastore: latency rises, our own I/O does not.

Examples are another system on the same disks, a rebuild, a backup inside the array. Our controls
could only slow our own workloads, so they are suspended meanwhile.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from statistics import median

import numpy as np

from advisor.core.detection.change_point import cusum
from advisor.core.detection.own_mix import OwnMix, difference, mean_mix
from advisor.core.explanation.answer import Confidence
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.rounding import round_all
from advisor.core.number_checks import check_amount, check_aware

ENOUGH_RECENT = 6
ENOUGH_COMPARABLE = 12
PLENTY_COMPARABLE = 60
COMPARABLE_RATIO = 0.8
"""Past windows with at least this fraction of today's own load are comparable."""
NEAR_PEAK_RATIO = 0.7
"""Above this fraction of the highest load seen, only windows with at least the same load are
comparable, because a few percent more may double the latency. Below it, a queue (1 / (1 - load))
grows by less than `RISE` from 0.8 of a load to the whole of it."""
RISE = 1.5
"""Latency must be this many times the normal to count as external load."""
QUEUED_RISE = 1.5
"""A device whose latency was so many times that of its calm windows had a queue."""
CALM_PERCENTILE = 10
UNSEEN = "no I/Os whose kind was measured"
SPREAD_OF_MAD = 1.4826
SMALLEST_SPREAD_RATIO = 0.1


class ExternalState(StrEnum):
    """Whether external load is seen; `unknown` means that the data do not decide."""

    EXTERNAL = "external"
    NONE = "none"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWindow:
    """One window: our own device time per second, and normalised latency.

    None is a window without a measurement, or with latency caused by our own limit. `mix` is the
    composition of the load; None means that it was not measured.
    """

    at: datetime
    own_load: float | None
    latency_ms: float | None
    mix: OwnMix | None = None

    def __post_init__(self) -> None:
        check_aware("at", self.at)
        check_amount("own_load", self.own_load)
        check_amount("latency_ms", self.latency_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalLoad:
    """The conclusion about the recent windows, with its numbers.

    `normal_ms` is the median latency of past windows with at least as much own load, of the same
    kind if that is known.
    """

    state: ExternalState
    began_at: datetime | None
    normal_ms: float | None
    recent_ms: float | None
    own_load: float | None
    comparable_windows: int
    confidence: Confidence
    reason: str


def detect_external_load(
    reference: Sequence[LoadWindow], recent: Sequence[LoadWindow]
) -> ExternalLoad:
    """Compare recent latency with that of past windows with the same own load."""
    now = [one for one in sorted(recent, key=lambda one: one.at) if _is_known(one)]
    if len(now) < ENOUGH_RECENT:
        return _unknown(f"{len(now)} recent windows with latency, {ENOUGH_RECENT} are needed")
    own_load = median(one.own_load or 0.0 for one in now)
    part = _comparable_part(reference, own_load)
    as_much = [
        one for one in reference if _is_known(one) and (one.own_load or 0.0) >= part * own_load
    ]
    if len(as_much) < ENOUGH_COMPARABLE:
        return _unknown(
            f"{len(as_much)} past windows had as much load of our own, "
            f"{ENOUGH_COMPARABLE} are needed: our own load may explain the latency"
        )
    differences = _differences(as_much, now, part)
    normal = [
        one.latency_ms or 0.0 for one, other in zip(as_much, differences, strict=True) if not other
    ]
    if len(normal) < ENOUGH_COMPARABLE:
        (most, count), *_ = Counter(filter(None, differences)).most_common(1)
        return _unknown(
            f"{len(as_much)} past windows had as much load of our own, but {count} of them had "
            f"{most}: our own load may explain the latency"
        )
    found = _compare(now, normal, own_load)
    queued = _own_queue(reference, median(normal), own_load)
    if found.state is ExternalState.EXTERNAL and queued:
        return _unknown(queued)
    return round_all(found)


def hidden_by(silence: str) -> ExternalLoad:
    """The conclusion if our own load is not fully measured, for this reason."""
    return _unknown(f"{silence}: unseen load of our own may explain the latency")


def _differences(
    as_much: Sequence[LoadWindow], now: Sequence[LoadWindow], part: float
) -> list[str]:
    """How the load of each past window differs from today's; empty if it does not."""
    today = mean_mix([one.mix for one in now if one.mix is not None])
    if today is None:
        return [""] * len(as_much)
    return [
        UNSEEN if one.mix is None else difference(one.mix, today, part=part) for one in as_much
    ]


def _own_queue(reference: Sequence[LoadWindow], normal_ms: float, own_load: float) -> str:
    """Why a deeper queue of our own may explain the latency; empty if it may not.

    A device that our own load fills does not do more if more of our I/Os are outstanding: its
    latency rises with them, at the same load. Load from outside would take from our own.
    """
    most = max(one.own_load or 0.0 for one in reference)
    calm_ms = float(
        np.percentile(
            [one.latency_ms or 0.0 for one in reference if _is_known(one)], CALM_PERCENTILE
        )
    )
    if own_load <= NEAR_PEAK_RATIO * most or normal_ms < QUEUED_RISE * calm_ms:
        return ""
    return (
        f"our own load fills the device as before, when it waited {normal_ms:.3g} ms, against "
        f"{calm_ms:.3g} ms when calm: a deeper queue of our own may explain the latency"
    )


def _comparable_part(reference: Sequence[LoadWindow], own_load: float) -> float:
    most = max((one.own_load or 0.0 for one in reference), default=0.0)
    return 1.0 if own_load > NEAR_PEAK_RATIO * most else COMPARABLE_RATIO


def _is_known(window: LoadWindow) -> bool:
    return window.own_load is not None and window.latency_ms is not None


def _unknown(reason: str) -> ExternalLoad:
    return ExternalLoad(
        state=ExternalState.UNKNOWN,
        began_at=None,
        normal_ms=None,
        recent_ms=None,
        own_load=None,
        comparable_windows=0,
        confidence=weakest(ground("windows", 0.0, reason)),
        reason=reason,
    )


def _compare(now: Sequence[LoadWindow], normal: Sequence[float], own_load: float) -> ExternalLoad:
    middle = median(normal)
    spread = max(
        SPREAD_OF_MAD * median(abs(value - middle) for value in normal),
        SMALLEST_SPREAD_RATIO * middle,
    )
    latencies = [one.latency_ms or 0.0 for one in now]
    began = None if spread == 0 else cusum(latencies, mean=middle, spread=spread).began_index
    since = 0 if began is None else began
    recent_ms = median(latencies[since:])
    is_external = began is not None and recent_ms >= RISE * middle
    numbers = f"{recent_ms:.3g} ms, against {middle:.3g} ms at the same load of our own"
    return ExternalLoad(
        state=ExternalState.EXTERNAL if is_external else ExternalState.NONE,
        began_at=now[since].at if is_external else None,
        normal_ms=middle,
        recent_ms=recent_ms,
        own_load=own_load,
        comparable_windows=len(normal),
        confidence=weakest(
            ground(
                "comparable windows",
                len(normal) / PLENTY_COMPARABLE,
                f"{len(normal)} past windows with as much own load, "
                f"{PLENTY_COMPARABLE} give full confidence",
            ),
            ground(
                "agreement",
                _agreement(latencies[since:], middle, above=is_external),
                f"fraction of recent windows on that side of {RISE:g} times the normal",
            ),
        ),
        reason=f"{numbers}: another system loads the disks, or they have become slower; "
        "check the storage"
        if is_external
        else f"{numbers}: no external load is seen",
    )


def _agreement(latencies: Sequence[float], middle: float, *, above: bool) -> float:
    over = sum(value >= RISE * middle for value in latencies)
    return (over if above else len(latencies) - over) / len(latencies)
