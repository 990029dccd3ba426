"""Load on a datastore that comes from somewhere else: latency rises, our own I/O does not.

Another system on the same disks, a rebuild, a backup inside the array. Our controls can only make
our own workloads pay for it, so while it lasts control is better suspended.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from statistics import median

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
"""Windows with at least so much of today's own load say what latency it makes by itself."""
NEAR_PEAK_RATIO = 0.7
"""Above this part of the most that was ever seen only as much load is comparable: there a few
percent more may double the latency. Below it, a queue (1 / (1 - load)) grows by less than `RISE`
from 0.8 of a load to the whole of it."""
RISE = 1.5
"""Latency that is not so many times the normal is no reason to suspend anything."""
UNSEEN = "no I/Os whose kind was measured"
SPREAD_OF_MAD = 1.4826
SMALLEST_SPREAD_RATIO = 0.1


class ExternalState(StrEnum):
    """Whether load from outside is seen; `unknown` means that nothing can be said."""

    EXTERNAL = "external"
    NONE = "none"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWindow:
    """One window: our own device time per second, and normalised latency.

    None is a window without a measurement, or one whose latency was that of our own limit. `mix`
    is what the load was made of; None means that nobody looked.
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
    """The conclusion about the recent windows, with the numbers it rests on.

    `normal_ms` is the median latency of past windows with at least as much own load, and of the
    same kind where that is known.
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
    """Compare recent latency with what as much own load made in the past."""
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
    return round_all(_compare(now, normal, own_load))


def hidden_by(silence: str) -> ExternalLoad:
    """The conclusion where latency may follow load of our own that nobody measures."""
    return _unknown(f"{silence}: load of our own that is not seen may explain the latency")


def _differences(
    as_much: Sequence[LoadWindow], now: Sequence[LoadWindow], part: float
) -> list[str]:
    """In what each of the past windows was another load than today's; empty if in nothing."""
    today = mean_mix([one.mix for one in now if one.mix is not None])
    if today is None:
        return [""] * len(as_much)
    return [
        UNSEEN if one.mix is None else difference(one.mix, today, part=part) for one in as_much
    ]


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
    numbers = f"{recent_ms:.3g} ms where as much load of our own made {middle:.3g} ms"
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
                f"{PLENTY_COMPARABLE} are plenty",
            ),
            ground(
                "agreement",
                _agreement(latencies[since:], middle, above=is_external),
                f"part of the recent windows on that side of {RISE:g} times the normal",
            ),
        ),
        reason=f"{numbers}: something outside loads the disks, or they have become slower; "
        "suspend control and look there"
        if is_external
        else f"{numbers}: nothing from outside is seen",
    )


def _agreement(latencies: Sequence[float], middle: float, *, above: bool) -> float:
    over = sum(value >= RISE * middle for value in latencies)
    return (over if above else len(latencies) - over) / len(latencies)
