"""Policies that could be recommended, and the rates the solver predicts under them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.core.admission import Admission, ReservationClaim, admit
from advisor.core.advice.policy_inputs import AdviceClaim, AdviceInputs
from advisor.core.allocation import Claim, allocate
from advisor.core.grant import Grant
from advisor.core.quantity import significant
from advisor.core.resource import ResourceKind, Tier
from advisor.core.standing import UNCLAIMED

SHORT_TOLERANCE = 0.05
"""A predicted rate this part below what a workload usually takes is not short of it."""
LIMIT_HEADROOM = 1.15
_TIER_ORDER = (Tier.HIGH, Tier.MEDIUM, Tier.LOW)

Policy = tuple[Grant, ...]
"""One grant per claim, in the order of the claims."""


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
        """What each claim gets under the policy; without `demands`, with those of the episode."""
        wanted = self.demands if demands is None else demands
        claims = [
            Claim(grant.reservation, grant.limit, grant.shares, demand)
            for grant, demand in zip(policy, wanted, strict=True)
        ]
        return allocate(self.capacity, claims, self.inputs.mode)


def setting_of(inputs: AdviceInputs, delivered: float) -> Setting:
    """Capacity and demands of the episode; `delivered` is the sum of the measured rates."""
    assert inputs.episode is not None
    victims = frozenset(victim.workload for victim in inputs.episode.victims)
    aggressors = frozenset(aggressor.workload for aggressor in inputs.episode.aggressors)
    capacity, source = _capacity(inputs, delivered)
    return Setting(
        inputs=inputs,
        capacity=capacity,
        capacity_source=source,
        demands=tuple(_demand(claim, victims | aggressors) for claim in inputs.claims),
        victims=victims,
        aggressors=aggressors,
    )


def _capacity(inputs: AdviceInputs, delivered: float) -> tuple[float, str]:
    """An uplink has its rate; a datastore gives what it gave while it was congested.

    What traffic without a claim took is not there to be divided.
    """
    assert inputs.episode is not None
    stated = inputs.capacity
    if stated is None or (inputs.kind is ResourceKind.DATASTORE and stated > delivered):
        return delivered, "delivered while congested"
    foreign = sum(one.rate for one in inputs.episode.aggressors if one.workload == UNCLAIMED)
    if foreign == 0:
        return stated, "stated"
    return max(delivered, stated - foreign), "stated, less what belongs to no claim"


def _demand(claim: AdviceClaim, contending: frozenset[str]) -> float | None:
    """What the claim wants: unknown if contention held it back, else a high percentile."""
    if not claim.active or claim.congested is None:
        return 0.0
    if claim.throttled or claim.backlogged is False:
        return claim.congested.p95
    if claim.backlogged or claim.workload in contending:
        return None
    return claim.congested.p95


def plain_sharing(inputs: AdviceInputs) -> Policy:
    """What happens without any policy: everybody counts the same."""
    return tuple(
        Grant(claim=claim.claim, reservation=0.0, limit=None, shares=1) for claim in inputs.claims
    )


def in_force(inputs: AdviceInputs) -> Policy:
    """The policy that hosts enforce; a claim it does not know has the medium tier's shares."""
    if not inputs.in_force:
        return plain_sharing(inputs)
    known = {grant.claim: grant for grant in inputs.in_force}
    return tuple(
        known.get(
            claim.claim,
            Grant(claim=claim.claim, reservation=0.0, limit=None, shares=claim.stated_shares),
        )
        for claim in inputs.claims
    )


def by_shares(inputs: AdviceInputs) -> Policy:
    """Stated shares and limits, no reservations."""
    return tuple(
        Grant(claim=claim.claim, reservation=0.0, limit=claim.limit, shares=claim.stated_shares)
        for claim in inputs.claims
    )


def with_reservations(
    inputs: AdviceInputs, wanted: Mapping[int, float], capacity: float
) -> tuple[Policy, Admission]:
    """Stated shares and limits with the reservations wanted, as far as they are admitted.

    What is in force comes first, then the higher tier, then the order of the claims.
    """
    reservable = capacity if inputs.reservable is None else inputs.reservable
    granted = {grant.claim for grant in inputs.in_force if grant.reservation > 0}
    order = sorted(
        (claim for claim in inputs.claims if wanted.get(claim.claim, 0.0) > 0),
        key=lambda claim: (claim.claim not in granted, _TIER_ORDER.index(claim.tier), claim.claim),
    )
    asked = [
        ReservationClaim(workload=claim.workload, reservation=wanted[claim.claim])
        for claim in order
    ]
    admission = admit(reservable, asked)
    refused = set(admission.refused)
    admitted = {
        claim.claim: wanted[claim.claim] for claim in order if claim.workload not in refused
    }
    policy = tuple(
        replace(grant, reservation=admitted.get(grant.claim, 0.0)) for grant in by_shares(inputs)
    )
    return policy, admission


def stated_reservations(inputs: AdviceInputs) -> dict[int, float]:
    """The reservations that were promised, by claim; where a limit is lower, the limit wins."""
    return {
        claim.claim: _within_limit(claim, claim.reservation)
        for claim in inputs.claims
        if claim.reservation > 0
    }


def _within_limit(claim: AdviceClaim, amount: float) -> float:
    return amount if claim.limit is None else min(amount, claim.limit)


def usual_reservations(setting: Setting, policy: Policy) -> dict[int, float]:
    """Reservations for victims of the high tier that the policy leaves below their usual rate.

    The reservation is the 90th percentile of the rate while nothing held the workload back.
    """
    found = {}
    for claim, rate in zip(setting.inputs.claims, setting.rates(policy), strict=True):
        usual = claim.usual
        if (
            claim.workload in setting.victims
            and claim.tier is Tier.HIGH
            and claim.reservation == 0
            and usual is not None
            and usual.sample_count >= setting.inputs.samples_needed
            and rate < usual.p90 * (1 - SHORT_TOLERANCE)
        ):
            found[claim.claim] = _within_limit(claim, float(significant(usual.p90)))
    return found


def with_limits_in_force(inputs: AdviceInputs, policy: Policy) -> Policy:
    """The policy with the limits that are in force for claims that state none.

    They were recommended or drafted once, and other advice does not lift them; but a reservation
    above such a limit does.
    """
    held = {grant.claim: grant.limit for grant in inputs.in_force}
    return tuple(_held(grant, held.get(grant.claim)) for grant in policy)


def _held(grant: Grant, limit: float | None) -> Grant:
    if grant.limit is not None or limit is None or limit < grant.reservation:
        return grant
    return replace(grant, limit=limit)


def with_limits(setting: Setting, policy: Policy) -> tuple[Policy, tuple[AdviceClaim, ...]]:
    """The policy with limits on aggressors without a reservation, and who they are.

    The limit lets a workload have its usual maximum: max(p99, 1.15·p95)·(1 + 1/days), and never
    less than its entitlement. Where that would not have held it in the episode there is none. A
    limit in force that nobody stated stays: under it the usual rate is that of the limit.
    """
    entitlements = setting.rates(policy, demands=[None] * len(policy))
    grants, limited = [], []
    for claim, grant, entitlement in zip(setting.inputs.claims, policy, entitlements, strict=True):
        limit = _usual_maximum(setting, claim)
        if limit is None or grant.reservation > 0 or grant.limit != claim.limit:
            grants.append(grant)
            continue
        limit = float(significant(max(limit, entitlement)))
        assert claim.congested is not None
        if limit >= _within_limit(claim, claim.congested.mean) * (1 - SHORT_TOLERANCE):
            grants.append(grant)
            continue
        grants.append(replace(grant, limit=limit))
        limited.append(claim)
    return tuple(grants), tuple(limited)


def _usual_maximum(setting: Setting, claim: AdviceClaim) -> float | None:
    usual = claim.usual
    if (
        claim.workload not in setting.aggressors
        or claim.congested is None
        or usual is None
        or usual.sample_count < setting.inputs.samples_needed
        or usual.span_days <= 0
    ):
        return None
    return max(usual.p99, LIMIT_HEADROOM * usual.p95) * (1 + 1 / usual.span_days)


def capped_at_entitlement(setting: Setting, policy: Policy) -> Policy:
    """The policy with every aggressor limited to its entitlement, which wastes what is idle."""
    entitlements = setting.rates(policy, demands=[None] * len(policy))
    return tuple(
        replace(grant, limit=entitlement, reservation=min(grant.reservation, entitlement))
        if claim.workload in setting.aggressors
        else grant
        for claim, grant, entitlement in zip(
            setting.inputs.claims, policy, entitlements, strict=True
        )
    )


def same(one: Policy, other: Iterable[Grant]) -> bool:
    """Whether two policies grant the same."""
    return sorted(one, key=_number) == sorted(other, key=_number)


def _number(grant: Grant) -> int:
    return grant.claim
