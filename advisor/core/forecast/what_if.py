"""Simulate other shares, reservations, limits or capacity, by entitlement and on the past.

The entitlement is what each workload gets at least if all want everything. The solver divides the
capacity of every past window, once with the present settings and once with the candidate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from statistics import fmean
from typing import ClassVar

from advisor.core.admission import RequestedReservation, admit, refusal_text
from advisor.core.allocation import Allocation, ReservationMode
from advisor.core.canonical import ADDED
from advisor.core.duration import duration_text
from advisor.core.explanation.rounding import round_all, rounded
from advisor.core.forecast.backtest import Change, WorkloadBacktest, change_between
from advisor.core.forecast.comparison import Comparison
from advisor.core.forecast.counterfactual import (
    AllocationEffect,
    Counterfactual,
    LatencyEffect,
    PlayedAllocation,
    counterfactual,
    latency_interval,
    unknown_latency,
)
from advisor.core.forecast.past import Past, StoredPast, bounds_of
from advisor.core.forecast.prediction_interval import Interval, interval_or_gap
from advisor.core.grant import Grant
from advisor.core.let_through import delivered_parts
from advisor.core.number_checks import check_amount, check_aware, check_positive
from advisor.core.pooled import places_of, pooled_entitlements
from advisor.core.pools import PoolTerms, check_members, reserved_together
from advisor.core.resource import Unit

NOT_COMPUTED = unknown_latency("it was not computed")
"""The latency in an answer of an earlier version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateAllocation:
    """One allocation with its present and its proposed grant.

    `measured` is its mean rate in the congested windows, or in all if there are none; None means
    not measured.
    """

    allocation: int
    workload: str
    host: str
    before: Grant
    after: Grant
    measured: float | None = None

    def __post_init__(self) -> None:
        check_amount(f"measured of {self.workload}", self.measured)
        for grant in (self.before, self.after):
            check_amount(f"reservation of {self.workload}", grant.reservation)
            check_positive(f"limit of {self.workload}", grant.limit)
            if grant.limit is not None and grant.limit < grant.reservation:
                raise ValueError(
                    f"limit of {self.workload} is {grant.limit:g}; "
                    f"it must be at least the reservation of {grant.reservation:g}"
                )
            if grant.shares < 1:
                raise ValueError(
                    f"shares of {self.workload} is {grant.shares}; it must be at least 1"
                )


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    """A resource with its present and proposed allocations, and the time of its past.

    `pools_before` are those in force. `reservable` is how much can be reserved with the candidate;
    None means all of it. `enforced` is False if no policy is in force, so that all workloads have
    equal shares. Without slots, because of the bases of a class only one can have them.
    """

    resource: str
    kind: str
    unit: Unit
    mode: ReservationMode
    capacity: float
    capacity_source: str
    capacity_after: float
    reservable: float | None
    enforced: bool
    began_at: datetime
    ended_at: datetime
    allocations: tuple[CandidateAllocation, ...]
    pools_before: tuple[PoolTerms, ...] = field(default=(), metadata=ADDED)
    pools_after: tuple[PoolTerms, ...] = field(default=(), metadata=ADDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWhatIfInputs(StoredPast, _Candidate):
    """`WhatIfInputs` as they are stored: a candidate beside the fields of its past."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfInputs(_Candidate):
    """A candidate, and the past of its resource with the demands of its allocations."""

    STORED: ClassVar[type[StoredWhatIfInputs]] = StoredWhatIfInputs

    past: Past = field(default_factory=Past)

    def __post_init__(self) -> None:
        check_positive("capacity", self.capacity)
        check_positive("capacity_after", self.capacity_after)
        check_amount("reservable", self.reservable)
        check_aware("began_at", self.began_at)
        check_aware("ended_at", self.ended_at)
        windows = self.past.windows
        if len(windows) and windows.demands.shape[1] != len(self.allocations):
            raise ValueError("every window must have one demand per allocation")
        for pools, grants in (
            (self.pools_before, [one.before for one in self.allocations]),
            (self.pools_after, [one.after for one in self.allocations]),
        ):
            check_members(pools, {one.allocation: one.reservation for one in grants})

    @property
    def delivered(self) -> tuple[float, float]:
        """The least and the most part of the capacity that comes through under the candidate."""
        return delivered_parts(self.unit, is_enforced=self.enforced)

    @classmethod
    def of(cls, stored: StoredWhatIfInputs) -> "WhatIfInputs":
        """The inputs that were stored."""
        return cls(**{name: getattr(stored, name) for name in _OWN}, past=Past.of(stored))

    def stored(self) -> StoredWhatIfInputs:
        """What is stored of them; `of` takes it back without the loss of a digit."""
        past = self.past.stored()
        return StoredWhatIfInputs(
            **{name: getattr(self, name) for name in _OWN},
            **{name: getattr(past, name) for name in _OF_PAST},
        )


_OF_PAST = tuple(one.name for one in fields(StoredPast))
_OWN = tuple(one.name for one in fields(_Candidate))


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfRow:
    """One allocation before and after.

    `past` covers all windows, `contended` the congested ones; None if there are none. `change`
    compares `now` with `then`: the mean rates in the congested windows if there are any, else the
    entitlements. Without a policy `now` is the measured rate, because no model knows which
    workload competes hardest; under a policy both come from the same model.
    `then_interval` and `latency_interval` come from the errors of earlier predictions;
    `interval_gap` says why there are none.
    """

    allocation: int
    workload: str
    host: str
    before: Grant
    after: Grant
    change: Change
    now: float
    then: float
    entitlement_before: float
    entitlement_after: float
    past: WorkloadBacktest | None
    contended: WorkloadBacktest | None
    latency: LatencyEffect = NOT_COMPUTED
    latency_interval: Interval | None = None
    then_interval: Interval | None = None
    interval_gap: str = "it was not computed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The effect of the candidate; `gap` says why the past shows none, or only a part.

    `refused` names the allocations whose reservations do not fit, `refusal` says by how much.
    """

    rows: tuple[WhatIfRow, ...]
    windows: int
    congested_windows: int
    window_s: float | None
    idle_ratio_before: float | None
    idle_ratio_after: float | None
    refused: tuple[str, ...]
    refusal: str
    gap: str


def what_if(inputs: WhatIfInputs) -> WhatIf:
    """Entitlements before and after, and the simulated past."""
    past = inputs.past
    before = [one.before for one in inputs.allocations]
    after = [one.after for one in inputs.allocations]
    entitled = _entitled(inputs.capacity, before, inputs.mode, inputs.pools_before)
    entitled_after = _entitled(inputs.capacity_after, after, inputs.mode, inputs.pools_after)
    played = _played(inputs, before, after)
    asked = _asked(inputs)
    admission = admit(
        inputs.capacity_after if inputs.reservable is None else inputs.reservable, asked
    )
    # What was played is rounded already.
    return WhatIf(
        rows=tuple(
            _row(
                inputs,
                one,
                (entitled[index], entitled_after[index]),
                played.allocations[index] if played else None,
            )
            for index, one in enumerate(inputs.allocations)
        ),
        windows=len(past.windows),
        congested_windows=int(past.congested.sum()),
        window_s=rounded(float(past.windows.window_s[0])) if len(past.windows) else None,
        idle_ratio_before=played.idle_ratio_before if played else None,
        idle_ratio_after=played.idle_ratio_after if played else None,
        refused=admission.refused,
        refusal=refusal_text(admission, asked, inputs.unit) if admission.refused else "",
        gap=_gap(inputs),
    )


def _asked(inputs: WhatIfInputs) -> list[RequestedReservation]:
    """What the candidate reserves, of each pool together."""
    pool_of = {
        member: number for number, pool in enumerate(inputs.pools_after) for member in pool.members
    }
    alone = [
        RequestedReservation(workload=one.workload, reservation=one.after.reservation)
        for one in inputs.allocations
        if one.after.reservation > 0 and one.allocation not in pool_of
    ]
    members = [
        (
            RequestedReservation(workload=one.workload, reservation=one.after.reservation),
            pool_of[one.allocation],
        )
        for one in inputs.allocations
        if one.allocation in pool_of
    ]
    pools = {
        number: RequestedReservation(workload=f"pool {pool.name}", reservation=pool.reservation)
        for number, pool in enumerate(inputs.pools_after)
    }
    together = reserved_together(members, pools).values()
    return [*alone, *(one for one in together if one.reservation > 0)]


def _played(
    inputs: WhatIfInputs, before: Sequence[Grant], after: Sequence[Grant]
) -> Counterfactual | None:
    """The past under both settings; None if nothing is stored of it."""
    past = inputs.past
    order = [one.allocation for one in inputs.allocations]
    return counterfactual(
        [
            PlayedAllocation(allocation=one.allocation, workload=one.workload, host=one.host)
            for one in inputs.allocations
        ],
        past,
        Comparison(
            mode=inputs.mode,
            before=before,
            after=after,
            capacity_ratio=fmean(inputs.delivered) * inputs.capacity_after / inputs.capacity,
            before_as_measured=not inputs.enforced,
            pools_before=places_of(inputs.pools_before, order),
            pools_after=places_of(inputs.pools_after, order),
        ),
        bounds=bounds_of(past),
    )


def _entitled(
    capacity: float, grants: Sequence[Grant], mode: ReservationMode, pools: Sequence[PoolTerms]
) -> list[float]:
    allocations = [
        Allocation(reservation=one.reservation, limit=one.limit, shares=one.shares)
        for one in grants
    ]
    places = places_of(pools, [one.allocation for one in grants])
    return pooled_entitlements(capacity, allocations, mode, places)


def _row(
    inputs: WhatIfInputs,
    one: CandidateAllocation,
    entitled: tuple[float, float],
    played: AllocationEffect | None,
) -> WhatIfRow:
    now, then = entitled
    contended = played.contended if played else None
    if contended is not None:
        is_modelled = inputs.enforced or one.measured is None
        now = contended.rate_before if is_modelled else one.measured or 0.0
        then = contended.rate_after
    interval, gap = interval_or_gap(then, inputs.past.outcomes)
    latency = played.latency if played else unknown_latency(_gap(inputs))
    return WhatIfRow(
        allocation=one.allocation,
        workload=one.workload,
        host=one.host,
        before=round_all(one.before),
        after=round_all(one.after),
        change=change_between(now, then),
        now=rounded(now),
        then=rounded(then),
        entitlement_before=rounded(entitled[0]),
        entitlement_after=rounded(entitled[1]),
        past=played.past if played else None,
        contended=contended,
        latency=latency,
        latency_interval=latency_interval(latency, then, interval),
        then_interval=round_all(interval),
        interval_gap=gap,
    )


def _gap(inputs: WhatIfInputs) -> str:
    past = inputs.past
    if not inputs.allocations:
        return "no workload has an allocation on it"
    if past.gap:
        return past.gap
    if not len(past.windows):
        return "no samples were stored in that time"
    if not past.congested.any():
        length = duration_text(timedelta(seconds=float(past.windows.window_s[0])))
        return (
            f"in no window of {length} was it congested for half of the time, so only limits and "
            "reservations would have had an effect; gains and losses are those of entitlements"
        )
    return ""
