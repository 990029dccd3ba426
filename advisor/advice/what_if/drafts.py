"""What-if on a resource: the candidate settings against stored history, and drafts of policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction

from advisor.access import require_operator
from advisor.advice.recommendation_store import VALID_FOR
from advisor.advice.what_if.decide.what_if_draft import PolicyDraft, changed_controls
from advisor.advice.what_if.kind import WHAT_IF
from advisor.core.allocation import ReservationMode
from advisor.core.canonical import dumps, from_plain, loads
from advisor.core.enumeration import listed
from advisor.core.forecast.prediction_interval import Outcome
from advisor.core.forecast.what_if import CandidateAllocation, WhatIfInputs, what_if
from advisor.core.grant import Grant
from advisor.core.pools import PoolTerms
from advisor.core.quantity import format_rate
from advisor.core.resource import Unit
from advisor.errors import DecisionRefused, InventoryError
from advisor.history.allocation_history import (
    AllocationHistory,
    allocation_history,
    past_outcomes,
)
from advisor.history.held_policies import partial_rollouts
from advisor.history.inventory import inventory_of
from advisor.history.policy_state import policy_state
from advisor.history.stated_pools import pool_terms
from advisor.history.whole_windows import whole_windows
from advisor.models import (
    Allocation,
    Policy,
    Recommendation,
    Resource,
    ResourceStatus,
)
from advisor.models.workload import WORKLOAD_DETAILS
from advisor.pipeline.recommendation_life import NEWER, supersede

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

EVEN_SHARES = 1000
"""Where nothing is enforced everybody counts the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfScene:
    """What a what-if starts from: the allocations with what holds now and what a form proposes.

    `now` is what the policy of each host grants where it is in force, and plain sharing elsewhere.
    `proposed` is what that policy grants, or what the allocations state without one. `policy` is
    None if it is in force on no host; `gap` says which link is missing, empty where it is in
    force and not measured otherwise. Pools are proposed as they are stated.
    """

    resource: Resource
    policy: Policy | None
    gap: str
    allocations: tuple[Allocation, ...]
    now: tuple[Grant, ...]
    proposed: tuple[Grant, ...]
    pools_now: tuple[PoolTerms, ...] = ()
    pools_stated: tuple[PoolTerms, ...] = ()


def scene_of(resource: Resource, *, now: datetime) -> WhatIfScene:
    """The allocations in a stable order, the largest promise first; none of what is gone."""
    rows = resource.allocations.filter(vanished_at=None)
    rows = rows.select_related("workload", "host").defer(*WORKLOAD_DETAILS)
    allocations = tuple(rows.order_by("-reservation", "workload__name", "host__name", "pk"))
    policy = resource.policies.order_by("-version").first()
    even = tuple(_plain(allocation, EVEN_SHARES) for allocation in allocations)
    if policy is None or not policy.allocations:
        stated = tuple(_stated(allocation) for allocation in allocations)
        return WhatIfScene(
            resource=resource,
            policy=None,
            gap="",
            allocations=allocations,
            now=even,
            proposed=stated,
            pools_stated=pool_terms(resource),
        )
    state = policy_state(policy, now=now)
    known = _granted(policy)
    kept = _kept_meanwhile(policy, now)
    proposed = tuple(
        known.get(allocation.pk) or _plain(allocation, allocation.weight)
        for allocation in allocations
    )
    return WhatIfScene(
        resource=resource,
        policy=policy if state.allocations else None,
        gap=""
        if not state.is_doubtful
        else f"version {policy.version} of the policy is {state.text}",
        allocations=allocations,
        # An allocation that the policy does not know has its own shares among those that have it.
        now=tuple(
            granted
            if allocation.pk in state.allocations
            or (state.allocations and allocation.pk not in known)
            else kept.get(allocation.pk, none)
            for allocation, granted, none in zip(allocations, proposed, even, strict=True)
        ),
        proposed=proposed,
        pools_now=_pools_of(policy) if state.allocations else (),
        pools_stated=pool_terms(resource),
    )


def _kept_meanwhile(policy: Policy, now: datetime) -> dict[int, Grant]:
    """What the former version grants where it is in force, as hosts wait for their stage."""
    partial = partial_rollouts([policy]).get(policy.pk)
    if partial is None or partial.former is None:
        return {}
    in_force = policy_state(partial.former, now=now).allocations
    return {key: one for key, one in _granted(partial.former).items() if key in in_force}


def _pools_of(policy: Policy) -> tuple[PoolTerms, ...]:
    return tuple(from_plain(PoolTerms, plain) for plain in policy.pools)


def _granted(policy: Policy) -> dict[int, Grant]:
    return {
        item["allocation"]: Grant(
            allocation=item["allocation"],
            reservation=item["reservation"],
            limit=item["limit"],
            shares=item["shares"],
        )
        for item in policy.allocations
    }


def _plain(allocation: Allocation, shares: int) -> Grant:
    return Grant(allocation=allocation.pk, reservation=0.0, limit=None, shares=shares)


def _stated(allocation: Allocation) -> Grant:
    return Grant(
        allocation=allocation.pk,
        reservation=allocation.reservation,
        limit=allocation.limit,
        shares=allocation.weight,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfPast:
    """What was measured of a scene's allocations, and how earlier predictions came out."""

    history: AllocationHistory
    outcomes: tuple[Outcome, ...]


def past_of(scene: WhatIfScene, *, length: timedelta, now: datetime) -> WhatIfPast:
    """The last `length` that is stored."""
    resource, rows = scene.resource, scene.allocations
    return WhatIfPast(
        history=allocation_history(
            lambda: inventory_of([resource], rows).workloads(resource, rows),
            resource=resource,
            allocations=rows,
            policy=scene.policy,
            length=length,
            until=whole_windows(resource, now=now),
        ),
        outcomes=past_outcomes(resource),
    )


def what_if_inputs(
    *,
    scene: WhatIfScene,
    past: WhatIfPast,
    candidate: Mapping[int, Grant],
    capacity: float | None,
) -> WhatIfInputs:
    """Everything the answer is computed from; an allocation without a candidate keeps what is
    proposed.

    Raises InventoryError if the capacity is unknown, or a limit is below a reservation.
    """
    resource, history = scene.resource, past.history
    known, source = _capacity(scene, history.largest)
    after = capacity or known
    try:
        return WhatIfInputs(
            resource=resource.name,
            kind=resource.kind,
            unit=Unit(resource.unit),
            mode=ReservationMode(resource.mode),
            capacity=known,
            capacity_source=source,
            capacity_after=after,
            reservable=_reservable(resource, known, after),
            enforced=scene.policy is not None,
            began_at=history.began_at,
            ended_at=history.ended_at,
            allocations=tuple(
                CandidateAllocation(
                    allocation=allocation.pk,
                    workload=allocation.workload.name,
                    host=allocation.host.name,
                    before=before,
                    after=candidate.get(allocation.pk, proposed),
                    measured=measured,
                )
                for allocation, before, proposed, measured in zip(
                    scene.allocations, scene.now, scene.proposed, history.measured, strict=True
                )
            ),
            pools_before=scene.pools_now,
            pools_after=scene.pools_stated,
            past=replace(
                history.past,
                gap=_silent(scene.allocations, history.measured),
                outcomes=past.outcomes,
            ),
        )
    except ValueError as error:
        raise InventoryError(str(error)) from error


def _capacity(scene: WhatIfScene, largest: float) -> tuple[float, str]:
    resource = scene.resource
    if resource.capacity is not None:
        return resource.capacity, "stated"
    if largest > 0:
        return largest, "the most that its allocations got together"
    if not scene.allocations:
        raise InventoryError(
            f"the capacity of {resource.name} is not set, "
            "and no workload has an allocation on it; "
            f"state who uses it with: sluice allocation set {resource.name} WORKLOAD"
        )
    raise InventoryError(
        f"the capacity of {resource.name} is not set and nothing was measured; set it with: "
        f"sluice resource set {resource.name} --capacity RATE"
    )


def _reservable(resource: Resource, known: float, after: float) -> float:
    """A stated line rate grows with the capacity: the link would be another one."""
    return (resource.reservable or resource.reservable_ratio * known) * after / known


def _silent(allocations: Sequence[Allocation], measured: Sequence[float | None]) -> str:
    names = sorted(
        {
            allocation.workload.name
            for allocation, rate in zip(allocations, measured, strict=True)
            if rate is None
        }
    )
    if not names:
        return ""
    hosts = sorted(
        {allocation.host.name for allocation in allocations if allocation.workload.name in names}
    )
    return f"no samples of {listed(names)} in that time; is Telegraf running on {listed(hosts)}?"


@transaction.atomic
def save_draft(
    *, inputs: WhatIfInputs, resource: Resource, user: AbstractBaseUser, now: datetime
) -> Recommendation:
    """Put the candidate to the vote: it takes the place of the open policy recommendation.

    Raises DecisionRefused if the user may not operate, if nothing would change, if reservations
    do not fit, or if it would take another capacity than there is.
    """
    require_operator(user, resource.organisation)
    if inputs.capacity_after != inputs.capacity:
        raise DecisionRefused(
            "a policy cannot change a capacity; set it with: "
            f"sluice resource set {resource.name} --capacity "
            f"{format_rate(inputs.capacity_after, inputs.unit).replace(' ', '')}"
        )
    if not changed_controls(inputs):
        raise DecisionRefused("nothing differs from what holds now, so there is nothing to decide")
    if repeated := repeated_policy(inputs, resource):
        raise DecisionRefused(repeated)
    refused = what_if(inputs)
    if refused.refused:
        raise DecisionRefused(f"reservations do not fit: {refused.refusal}")
    # One adviser a resource at a time.
    ResourceStatus.objects.get_or_create(resource=resource)
    ResourceStatus.objects.select_for_update().get(resource=resource)
    text = dumps(inputs)
    found = WHAT_IF.answer(text)
    former = Recommendation.objects.filter(resource=resource, topic=WHAT_IF.topic)
    supersede(former, now=now, reason=NEWER)
    return Recommendation.objects.create(
        organisation=resource.organisation,
        resource=resource,
        topic=WHAT_IF.topic,
        kind=WHAT_IF.name,
        summary=loads(PolicyDraft, found).summary,
        inputs=text,
        answer=found,
        created_at=now,
        created_by_id=user.pk,
        expires_at=now + VALID_FOR,
    )


def repeated_policy(inputs: WhatIfInputs, resource: Resource) -> str:
    """That the newest policy says the same; empty if it does not."""
    policy = resource.policies.order_by("-version").first()
    if policy is None:
        return ""
    granted = _granted(policy)
    if any(granted.get(one.allocation) != one.after for one in inputs.allocations):
        return ""
    if _pools_of(policy) != inputs.pools_after:
        return ""
    return f"version {policy.version} of the policy says the same already"
