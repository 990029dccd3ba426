"""A host's part of the window loop: what it tells in a period, and what it does with the answer.

Pure: what was counted comes in, the next state goes out. It counts periods and reads no clock, so
that a clock that is set changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from enforcers.exchange import KEPT_PERIODS, DatastoreLoad, HostPart, pooled
from enforcers.window import Demand, WindowLaw, WindowState, claim_of, next_state


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopState:
    """The window, the last answer of the service and how many periods ago it was given."""

    window: WindowState
    heard: DatastoreLoad | None = None
    periods_since: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """What a host counted on a datastore in a period.

    `ios` completed; `outstanding_io` were at the datastore on average, without those that waited
    in the host. The latency is that of the device, None without I/O.
    """

    ios: int
    mean_device_latency_ms: float | None
    outstanding_io: float
    demands: tuple[Demand, ...]


def part_of(state: LoopState, period: Period, *, law: WindowLaw) -> HostPart:
    """What the host tells the others."""
    claim = claim_of(state.window, period.demands, law=law)
    return HostPart(
        ios=period.ios,
        mean_device_latency_ms=period.mean_device_latency_ms,
        outstanding_io=period.outstanding_io,
        active_shares=claim.active_shares,
        met_io=claim.met_io,
    )


def after_period(
    state: LoopState,
    period: Period,
    answer: DatastoreLoad | None,
    *,
    law: WindowLaw,
    split_window: float,
) -> LoopState:
    """The state of the next period; an answer of None means that the service gave none.

    Then the last answer counts for three periods, and after them what the host itself measured:
    each host then keeps the datastore at the threshold, and the windows their ratio. A host that
    measured nothing either takes `split_window`, its part of the capacity by the policy.
    """
    if answer is not None:
        return LoopState(window=_next(state, period.demands, answer, law=law), heard=answer)
    since = state.periods_since + 1
    if state.heard is not None and since <= KEPT_PERIODS:
        window = _next(state, period.demands, state.heard, law=law)
        return LoopState(window=window, heard=state.heard, periods_since=since)
    if period.mean_device_latency_ms is None:
        return LoopState(window=WindowState(window=law.bounded(split_window)), periods_since=since)
    alone = pooled([part_of(state, period, law=law)])
    return LoopState(window=_next(state, period.demands, alone, law=law), periods_since=since)


def _next(
    state: LoopState, demands: Sequence[Demand], load: DatastoreLoad, *, law: WindowLaw
) -> WindowState:
    return next_state(state.window, demands, load, law=law)
