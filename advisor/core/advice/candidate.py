"""Policies that could be recommended, and the rates the solver predicts under them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.core.admission import Admission, RequestedReservation, admit
from advisor.core.advice.policy_inputs import AdviceAllocation, AdviceInputs
from advisor.core.allocation import Allocation, entitlements
from advisor.core.grant import Grant
from advisor.core.quantity import significant
from advisor.core.resource import ResourceKind, Tier
from advisor.core.standing import UNALLOCATED

SHORT_TOLERANCE = 0.05
"""A predicted rate this part below what a workload usually takes is not short of it."""
LIMIT_HEADROOM = 1.15
_TIER_ORDER = (Tier.HIGH, Tier.MEDIUM, Tier.LOW)

Policy = tuple[Grant, ...]
"""One grant per allocation, in the order of the allocations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The inputs as the solver needs them: capacity, demands, and whom to help."""

    inputs: AdviceInputs
    capacity: float
    capacity_source: str
    demands: tuple[float | None, ...]
    victims: frozenset[str]
    aggressors: frozenset[str]

    def rates(
        self, policy: Policy, *, demands: Sequence[float | None] | None = None
    ) -> list[float]:
        """What each one gets under the policy; `demands` None means those of the incident."""
        wanted = self.demands if demands is None else demands
        allocations = [
            Allocation(grant.reservation, grant.limit, grant.shares, demand)
            for grant, demand in zip(policy, wanted, strict=True)
        ]
        return entitlements(self.capacity, allocations, self.inputs.mode)


def setting_of(inputs: AdviceInputs, delivered: float) -> Setting:
    """Capacity and demands of the incident; `delivered` is the sum of the measured rates."""
    assert inputs.incident is not None
    victims = frozenset(victim.workload for victim in inputs.incident.victims)
    aggressors = frozenset(aggressor.workload for aggressor in inputs.incident.aggressors)
    capacity, source = _capacity(inputs, delivered)
    return Setting(
        inputs=inputs,
        capacity=capacity,
        capacity_source=source,
        demands=tuple(
            _demand(allocation, victims | aggressors) for allocation in inputs.allocations
        ),
        victims=victims,
        aggressors=aggressors,
    )


def _capacity(inputs: AdviceInputs, delivered: float) -> tuple[float, str]:
    """An uplink has its rate; a datastore gives what it gave while it was congested.

    What other traffic took is not there to be divided.
    """
    assert inputs.incident is not None
    stated = inputs.capacity
    if stated is None or (inputs.kind is ResourceKind.DATASTORE and stated > delivered):
        return delivered, "delivered while congested"
    foreign = sum(one.rate for one in inputs.incident.aggressors if one.workload == UNALLOCATED)
    if foreign == 0:
        return stated, "stated"
    return max(delivered, stated - foreign), "stated, less what belongs to no allocation"


def _demand(allocation: AdviceAllocation, contending: frozenset[str]) -> float | None:
    """What the allocation wants: unknown if contention held it back, else a high percentile."""
    if not allocation.active or allocation.congested is None:
        return 0.0
    if allocation.throttled or allocation.backlogged is False:
        return allocation.congested.p95
    if allocation.backlogged or allocation.workload in contending:
        return None
    return allocation.congested.p95


def plain_sharing(inputs: AdviceInputs) -> Policy:
    """What happens without any policy: everybody counts the same."""
    return tuple(
        Grant(allocation=allocation.allocation, reservation=0.0, limit=None, shares=1)
        for allocation in inputs.allocations
    )


def in_force(inputs: AdviceInputs) -> Policy:
    """The policy that hosts enforce; an unknown allocation has the medium tier's shares."""
    if not inputs.in_force:
        return plain_sharing(inputs)
    known = {grant.allocation: grant for grant in inputs.in_force}
    return tuple(
        known.get(
            allocation.allocation,
            Grant(
                allocation=allocation.allocation,
                reservation=0.0,
                limit=None,
                shares=allocation.stated_shares,
            ),
        )
        for allocation in inputs.allocations
    )


def by_shares(inputs: AdviceInputs) -> Policy:
    """Stated shares and limits, no reservations."""
    return tuple(
        Grant(
            allocation=allocation.allocation,
            reservation=0.0,
            limit=allocation.limit,
            shares=allocation.stated_shares,
        )
        for allocation in inputs.allocations
    )


def with_reservations(
    inputs: AdviceInputs, wanted: Mapping[int, float], capacity: float
) -> tuple[Policy, Admission]:
    """Stated shares and limits with the reservations wanted, as far as they are admitted.

    What is in force comes first, then the higher tier, then the order of the allocations.
    """
    reservable = capacity if inputs.reservable is None else inputs.reservable
    granted = {grant.allocation for grant in inputs.in_force if grant.reservation > 0}
    order = sorted(
        (
            allocation
            for allocation in inputs.allocations
            if wanted.get(allocation.allocation, 0.0) > 0
        ),
        key=lambda allocation: (
            allocation.allocation not in granted,
            _TIER_ORDER.index(allocation.tier),
            allocation.allocation,
        ),
    )
    asked = [
        RequestedReservation(
            workload=allocation.workload, reservation=wanted[allocation.allocation]
        )
        for allocation in order
    ]
    admission = admit(reservable, asked)
    refused = set(admission.refused)
    admitted = {
        allocation.allocation: wanted[allocation.allocation]
        for allocation in order
        if allocation.workload not in refused
    }
    policy = tuple(
        replace(grant, reservation=admitted.get(grant.allocation, 0.0))
        for grant in by_shares(inputs)
    )
    return policy, admission


def stated_reservations(inputs: AdviceInputs) -> dict[int, float]:
    """The promised reservations, by allocation; where a limit is lower, the limit wins."""
    return {
        allocation.allocation: _within_limit(allocation, allocation.reservation)
        for allocation in inputs.allocations
        if allocation.reservation > 0
    }


def _within_limit(allocation: AdviceAllocation, amount: float) -> float:
    return amount if allocation.limit is None else min(amount, allocation.limit)


def usual_reservations(setting: Setting, policy: Policy) -> dict[int, float]:
    """Reservations for victims of the high tier that the policy leaves below their usual rate.

    The reservation is the 90th percentile of the rate while nothing held the workload back.
    """
    found = {}
    for allocation, rate in zip(setting.inputs.allocations, setting.rates(policy), strict=True):
        usual = allocation.usual
        if (
            allocation.workload in setting.victims
            and allocation.tier is Tier.HIGH
            and allocation.reservation == 0
            and usual is not None
            and usual.sample_count >= setting.inputs.samples_needed
            and rate < usual.p90 * (1 - SHORT_TOLERANCE)
        ):
            found[allocation.allocation] = _within_limit(allocation, float(significant(usual.p90)))
    return found


def with_limits_in_force(inputs: AdviceInputs, policy: Policy) -> Policy:
    """The policy with the limits that are in force for allocations that state none.

    They were recommended or drafted once, and other advice does not lift them; but a reservation
    above such a limit does.
    """
    held = {grant.allocation: grant.limit for grant in inputs.in_force}
    return tuple(_held(grant, held.get(grant.allocation)) for grant in policy)


def _held(grant: Grant, limit: float | None) -> Grant:
    if grant.limit is not None or limit is None or limit < grant.reservation:
        return grant
    return replace(grant, limit=limit)


def with_limits(setting: Setting, policy: Policy) -> tuple[Policy, tuple[AdviceAllocation, ...]]:
    """The policy with limits on aggressors without a reservation, and who they are.

    The limit lets a workload have its usual maximum: max(p99, 1.15·p95)·(1 + 1/days), and never
    less than its entitlement. Where that would not have held it in the incident there is none. A
    limit in force that nobody stated stays: under it the usual rate is that of the limit.
    """
    due = setting.rates(policy, demands=[None] * len(policy))
    grants, limited = [], []
    for allocation, grant, entitlement in zip(
        setting.inputs.allocations, policy, due, strict=True
    ):
        limit = _usual_maximum(setting, allocation)
        if limit is None or grant.reservation > 0 or grant.limit != allocation.limit:
            grants.append(grant)
            continue
        limit = float(significant(max(limit, entitlement)))
        assert allocation.congested is not None
        if limit >= _within_limit(allocation, allocation.congested.mean) * (1 - SHORT_TOLERANCE):
            grants.append(grant)
            continue
        grants.append(replace(grant, limit=limit))
        limited.append(allocation)
    return tuple(grants), tuple(limited)


def _usual_maximum(setting: Setting, allocation: AdviceAllocation) -> float | None:
    usual = allocation.usual
    if (
        allocation.workload not in setting.aggressors
        or allocation.congested is None
        or usual is None
        or usual.sample_count < setting.inputs.samples_needed
        or usual.span_days <= 0
    ):
        return None
    return max(usual.p99, LIMIT_HEADROOM * usual.p95) * (1 + 1 / usual.span_days)


def capped_at_entitlement(setting: Setting, policy: Policy) -> Policy:
    """The policy with every aggressor limited to its entitlement, which wastes what is idle."""
    due = setting.rates(policy, demands=[None] * len(policy))
    return tuple(
        replace(grant, limit=entitlement, reservation=min(grant.reservation, entitlement))
        if allocation.workload in setting.aggressors
        else grant
        for allocation, grant, entitlement in zip(
            setting.inputs.allocations, policy, due, strict=True
        )
    )


def same(one: Policy, other: Iterable[Grant]) -> bool:
    """Whether two policies grant the same."""
    return sorted(one, key=_number) == sorted(other, key=_number)


def _number(grant: Grant) -> int:
    return grant.allocation
