"""Inputs of policy advice: an uplink with a promise unmet, a datastore crowded by a batch job."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from advisor.advice.policy.decide.policy_inputs import (
    AdviceAllocation,
    AdviceInputs,
    summarize_rates,
)
from advisor.core.allocation import ReservationMode
from advisor.core.detection.incident import Incident
from advisor.core.detection.parties import Aggressor, Victim
from advisor.core.grant import Grant
from advisor.core.resource import ResourceKind, Tier, Unit

MBIT = 1e6
BEGAN = datetime(2026, 3, 2, 12, tzinfo=UTC)
ENDED = BEGAN + timedelta(minutes=10)
SHOWN = 40
"""So many windows of each kind are looked at one by one."""


def steady(rate, *, samples=60, span_days=1.0):
    """A rate that never changed; None without samples."""
    return summarize_rates([rate] * samples, span_days=span_days) if samples else None


def seen_calm(rate, *, samples=60):
    """Fields of an allocation that took this rate, unchanging, while nothing held it back."""
    return {
        "usual": steady(rate, samples=samples),
        "calm_rates": (rate,) * min(samples, SHOWN),
    }


def allocation(number, workload, rate, *, samples=60, **fields):
    """An allocation whose workload took this rate, unchanging, during the incident."""
    return AdviceAllocation(
        allocation=number,
        workload=workload,
        host="h1",
        tier=fields.pop("tier", Tier.MEDIUM),
        congested=steady(rate, samples=samples),
        congested_rates=(rate,) * min(samples, SHOWN),
        **fields,
    )


def incident(victims, aggressors):
    """`victims` and `aggressors` map names to (rate, entitlement)."""
    total = sum(rate for rate, _ in [*victims.values(), *aggressors.values()])
    excess = sum(rate - due for rate, due in aggressors.values())
    return Incident(
        started_at=BEGAN,
        ended_at=None,
        peak_value=1.0,
        threshold=0.9,
        windows=60,
        victims=tuple(
            Victim(
                workload=name,
                rate=rate,
                entitlement=due,
                reservation=0.0,
                shortfall_ratio=1 - rate / due,
            )
            for name, (rate, due) in victims.items()
        ),
        aggressors=tuple(
            Aggressor(
                workload=name,
                rate=rate,
                entitlement=due,
                part_ratio=rate / total,
                excess_ratio=(rate - due) / excess,
            )
            for name, (rate, due) in aggressors.items()
        ),
        evidence=(),
    )


def uplink(**fields):
    """NetIOC study, step a at 1:10: 75 of 94 Mbit/s promised to web-1, which gets a third."""
    third, rest = 31.2 * MBIT, 19 / 3 * MBIT
    inputs = AdviceInputs(
        resource="h1/eth0",
        kind=ResourceKind.UPLINK,
        unit=Unit.BITS_PER_S,
        mode=ReservationMode.ADDITIVE,
        capacity=94 * MBIT,
        reservable=75 * MBIT,
        began_at=BEGAN,
        ended_at=ENDED,
        allocations=(
            allocation(1, "web-1", third, reservation=75 * MBIT, backlogged=True),
            allocation(2, "web-2", third),
            allocation(3, "web-3", third),
        ),
        incident=incident(
            {"web-1": (third, 75 * MBIT + rest)}, {"web-2": (third, rest), "web-3": (third, rest)}
        ),
    )
    return replace(inputs, **fields)


def datastore(**fields):
    """A batch job takes 700 of 1,000 IOPS from two workloads of a higher tier."""
    inputs = AdviceInputs(
        resource="nfs-07",
        kind=ResourceKind.DATASTORE,
        unit=Unit.IOPS,
        mode=ReservationMode.FLOOR,
        capacity=None,
        reservable=750.0,
        began_at=BEGAN,
        ended_at=ENDED,
        allocations=(
            allocation(1, "db", 200.0, tier=Tier.HIGH, backlogged=True),
            allocation(2, "app", 100.0, backlogged=True),
            allocation(3, "batch", 700.0, tier=Tier.LOW),
        ),
        incident=incident(
            {"db": (200.0, 571.0), "app": (100.0, 286.0)}, {"batch": (700.0, 143.0)}
        ),
    )
    return replace(inputs, **fields)


def in_force(inputs):
    """Shares alone in force, as the allocations state them."""
    return tuple(
        Grant(allocation=c.allocation, reservation=0.0, limit=None, shares=c.stated_shares)
        for c in inputs.allocations
    )


def crowded(past, **batch):
    """The datastore with its shares in force, which did not help; `batch` changes the batch job.

    It usually takes 200 of the 700 IOPS that it took in the incident.
    """
    inputs = datastore()
    usual = {"usual": steady(200.0, span_days=20.0)}
    changed = replace(inputs.allocations[2], **(usual | batch))
    inputs = replace(inputs, allocations=(*inputs.allocations[:2], changed), past=past)
    return replace(inputs, in_force=in_force(inputs))
