"""Policies that could be recommended, and the rates the solver predicts under them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import fmean

import numpy as np

from advisor.advice.policy.decide.demand import demands, rate_wanted
from advisor.advice.policy.decide.policy_inputs import AdviceAllocation, AdviceInputs
from advisor.core.admission import Admission, RequestedReservation
from advisor.core.demand.kind import Demand
from advisor.core.grant import Grant
from advisor.core.iosize import unit_cost
from advisor.core.let_through import delivered_parts
from advisor.core.pooled import PoolPlaces, places_of, solve_pooled
from advisor.core.pools import PoolTerms, admit_beside_pools
from advisor.core.quantity import significant
from advisor.core.resource import Tier
from advisor.core.standing import UNALLOCATED
from advisor.core.waterfill import Floats
from advisor.resource_kinds.registry import traits_of

SHORT_TOLERANCE = 0.05
"""A predicted rate this part below what a workload usually takes is not short of it."""
LIMIT_HEADROOM = 1.15
_TIER_ORDER = (Tier.HIGH, Tier.MEDIUM, Tier.LOW)

Policy = tuple[Grant, ...]
"""One grant per allocation, in the order of the allocations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The inputs as the solver needs them: capacity, wants, and whom to help.

    `io_costs` is the device time of a unit of each allocation's rate, in units of the mean over
    all
    allocations in the incident. So the capacity is what there was of that mix, every rate is of
    the allocation's own I/O size, and rates times costs add up to no more than the capacity.
    """

    inputs: AdviceInputs
    capacity: float
    capacity_source: str
    wants: tuple[Demand, ...]
    io_costs: tuple[float, ...]
    victims: frozenset[str]
    aggressors: frozenset[str]

    @property
    def accused(self) -> frozenset[str]:
        """The aggressors by whom the incident came about, as far as that was studied."""
        cause = self.inputs.cause
        if cause is None:
            return self.aggressors
        return frozenset(one.workload for one in cause.aggressors)

    @property
    def limitable(self) -> frozenset[str]:
        """Those of the accused that have an allocation, which a limit may be put on."""
        return self.accused & {one.workload for one in self.inputs.allocations}

    @property
    def demands(self) -> tuple[float | None, ...]:
        """What each allocation is expected to want; None is more than it got."""
        return tuple(rate_wanted(one) for one in self.wants)

    @property
    def pressing(self) -> tuple[float | None, ...]:
        """The demands if every victim and aggressor wanted all it can get."""
        contending = self.victims | self.aggressors
        return tuple(
            None if allocation.active and allocation.workload in contending else demand
            for allocation, demand in zip(self.inputs.allocations, self.demands, strict=True)
        )

    @property
    def delivered(self) -> tuple[float, float]:
        """The least and the most part of the capacity that comes through under a new policy."""
        return delivered_parts(self.inputs.unit, is_enforced=bool(self.inputs.in_force))

    def rates(
        self, policy: Policy, *, demands: Sequence[float | None] | None = None
    ) -> list[float]:
        """What each one gets under the policy; `demands` None means those of the incident."""
        asked = self.demands if demands is None else demands
        found: list[float] = self.divide(policy, _one_draw(asked))[0].tolist()
        return found

    def rates_enforced(
        self, policy: Policy, *, demands: Sequence[float | None] | None = None
    ) -> list[float]:
        """What hosts would give each under the policy, of what comes through on the mean."""
        asked = self.demands if demands is None else demands
        part = np.array([fmean(self.delivered)])
        found: list[float] = self.divide_as_enforced(policy, _one_draw(asked), part)[0].tolist()
        return found

    def rates_at_present(self) -> list[float]:
        """What each gets: by the policy in force as hosts enforce it, else by the device."""
        if not self.inputs.in_force:
            return self.rates(in_force(self.inputs))
        part = np.array([fmean(self.delivered)])
        found: list[float] = self.divide_at_present(_one_draw(self.demands), part)[0].tolist()
        return found

    def divide_at_present(self, demands: Floats, parts: Floats) -> Floats:
        """As `divide_as_enforced`, by the policy in force with its pools."""
        costs, capacities = np.ones(len(self.io_costs)), self.capacity * parts
        held = in_force(self.inputs)
        return self._divided(held, demands, capacities, costs, self.pools_before)

    def divide(self, policy: Policy, demands: Floats) -> Floats:
        """The same for many rows of demands; both are (draws, allocations), infinite unknown.

        A policy has the pools that are stated, plain sharing has none.
        """
        whole = np.full(len(demands), self.capacity)
        pools = () if policy == plain_sharing(self.inputs) else self.pools_after
        return self._divided(policy, demands, whole, np.array(self.io_costs), pools)

    def divide_as_enforced(self, policy: Policy, demands: Floats, parts: Floats) -> Floats:
        """The same as hosts do it, to whom I/Os of all sizes count alike.

        Of a disk they are told the capacity alone; what is due is in device time (`divide`).
        `parts` of the capacity come through, (draws).
        """
        costs = np.ones(len(self.io_costs))
        return self._divided(policy, demands, self.capacity * parts, costs, self.pools_after)

    @property
    def pools_before(self) -> tuple[PoolPlaces, ...]:
        """The pools in force, by the places of their members."""
        return self._places(self.inputs.pools_before)

    @property
    def pools_after(self) -> tuple[PoolPlaces, ...]:
        """Those that a new policy has."""
        return self._places(self.inputs.pools_after)

    def _places(self, pools: Sequence[PoolTerms]) -> tuple[PoolPlaces, ...]:
        return places_of(pools, [one.allocation for one in self.inputs.allocations])

    def _divided(
        self,
        policy: Policy,
        demands: Floats,
        capacities: Floats,
        costs: Floats,
        pools: Sequence[PoolPlaces],
    ) -> Floats:
        limits = np.array([inf if grant.limit is None else grant.limit for grant in policy])
        reserved = np.array([grant.reservation for grant in policy]) * costs
        shares = np.array([float(grant.shares) for grant in policy])
        caps = np.minimum(demands, limits) * costs
        if self.inputs.host_traffic is not None:
            is_managed = policy != plain_sharing(self.inputs)
            host = self.inputs.host_traffic.beside(
                [grant.shares for grant in policy], is_managed=is_managed
            )
            wants = np.full((len(caps), 1), inf if host.demand is None else host.demand)
            caps = np.hstack([caps, wants])
            reserved = np.append(reserved, host.reservation)
            shares = np.append(shares, host.shares)
        found = solve_pooled(
            capacities,
            np.broadcast_to(reserved, caps.shape),
            caps,
            np.broadcast_to(shares, caps.shape),
            mode=self.inputs.mode,
            pools=pools,
        )
        rates: Floats = found[:, : len(policy)] / costs
        return rates


def _one_draw(demands: Sequence[float | None]) -> Floats:
    return np.array([[inf if one is None else one for one in demands]], dtype=np.float64)


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
        wants=demands(inputs, capacity=capacity),
        io_costs=_io_costs(inputs),
        victims=victims,
        aggressors=aggressors,
    )


def _io_costs(inputs: AdviceInputs) -> tuple[float, ...]:
    """Device time of a unit of each rate over that of the mean; all 1 where size costs nothing."""
    if not traits_of(inputs.kind).costs_by_size:
        return (1.0,) * len(inputs.allocations)
    costs = [
        unit_cost(inputs.unit, one.mean_io_bytes, size_term_bytes=inputs.size_term_bytes)
        for one in inputs.allocations
    ]
    rates = [
        allocation.congested.mean if allocation.active and allocation.congested else 0.0
        for allocation in inputs.allocations
    ]
    total = sum(rates)
    if len(set(costs)) == 1 or total == 0:
        return (1.0,) * len(inputs.allocations)
    mean = sum(rate / total * cost for rate, cost in zip(rates, costs, strict=True))
    return tuple(cost / mean for cost in costs)


def _capacity(inputs: AdviceInputs, delivered: float) -> tuple[float, str]:
    """An uplink has its rate; a datastore gives what it gave while it was congested.

    What other traffic took is not there to be divided.
    """
    assert inputs.incident is not None
    stated = inputs.capacity
    if stated is None or (not traits_of(inputs.kind).fixed_capacity and stated > delivered):
        return delivered, "delivered while congested"
    if inputs.host_traffic is not None:
        # What belongs to no allocation takes part in the division.
        return stated, "stated"
    foreign = sum(one.rate for one in inputs.incident.aggressors if one.workload == UNALLOCATED)
    if foreign == 0:
        return stated, "stated"
    return max(delivered, stated - foreign), "stated, less what belongs to no allocation"


def plain_sharing(inputs: AdviceInputs) -> Policy:
    """The division without any policy: all workloads have equal shares."""
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

    Those of pools are there before. What is in force comes first, then the higher tier, then the
    order of the allocations.
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
        (
            allocation.allocation,
            RequestedReservation(
                workload=allocation.workload, reservation=wanted[allocation.allocation]
            ),
        )
        for allocation in order
    ]
    admission = admit_beside_pools(reservable, asked, inputs.pools_after)
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

    The reservation is the 90th percentile of the rate while nothing held the workload back. What
    counts is what the policy would leave it if it asked, not what it wants on the mean.
    """
    found = {}
    could = setting.rates_enforced(policy, demands=setting.pressing)
    for allocation, rate in zip(setting.inputs.allocations, could, strict=True):
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


def beside_pools(setting: Setting) -> Setting:
    """The setting without victims that the pools in force hold back, and without aggressors that
    those let take what they took.

    Who judges incidents counts no pools.
    """
    inputs = setting.inputs
    if not inputs.pools_before or inputs.incident is None:
        return setting
    due: dict[str, float] = {}
    rates = setting.divide_at_present(_one_draw(setting.pressing), np.ones(1))[0].tolist()
    for allocation, rate in zip(inputs.allocations, rates, strict=True):
        due[allocation.workload] = due.get(allocation.workload, 0.0) + rate
    victims = [
        one.workload
        for one in inputs.incident.victims
        if one.rate < due.get(one.workload, one.entitlement) * (1 - SHORT_TOLERANCE)
    ]
    aggressors = [
        one.workload
        for one in inputs.incident.aggressors
        if one.rate > due.get(one.workload, one.entitlement) * (1 + SHORT_TOLERANCE)
    ]
    return replace(setting, victims=frozenset(victims), aggressors=frozenset(aggressors))


def due_of(setting: Setting) -> dict[str, float]:
    """What was due to each workload in the incident by what was promised, over all its
    allocations.

    Victims and aggressors may want anything, the others want what they want; all is divided at
    once, so that in device time it adds up to no more than the capacity.
    """
    inputs = setting.inputs
    policy, _ = with_reservations(inputs, stated_reservations(inputs), setting.capacity)
    found: dict[str, float] = {}
    for allocation, rate in zip(
        inputs.allocations, setting.rates(policy, demands=setting.pressing), strict=True
    ):
        found[allocation.workload] = found.get(allocation.workload, 0.0) + rate
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
    """The policy with limits on those accused without a reservation, and who they are.

    The limit lets a workload have its usual maximum: max(p99, 1.15·p95)·(1 + 1/days), and never
    less than its entitlement. If that would not have limited it in the incident there is none.
    A limit of the policy in force stays, because the usual rate under it is that of the limit.
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
        allocation.workload not in setting.accused
        or allocation.congested is None
        or usual is None
        or usual.sample_count < setting.inputs.samples_needed
        or usual.span_days <= 0
    ):
        return None
    return max(usual.p99, LIMIT_HEADROOM * usual.p95) * (1 + 1 / usual.span_days)


def capped_at_entitlement(setting: Setting, policy: Policy) -> Policy:
    """The policy with all accused limited to their entitlements, which wastes what is idle."""
    due = setting.rates(policy, demands=[None] * len(policy))
    return tuple(
        replace(grant, limit=entitlement, reservation=min(grant.reservation, entitlement))
        if allocation.workload in setting.accused
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
