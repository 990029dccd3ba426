"""Check whether reservations fit before they are accepted.

A kernel does not refuse reservations that exceed a link but breaks them, so we check. On a host's
uplinks at most 75 % of the smallest can be reserved, on a datastore a set fraction of its measured
capacity. The rest keeps other workloads from starving.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.enumeration import listed
from advisor.core.number_checks import check_amount, check_ratio
from advisor.core.quantity import format_rate

UPLINK_RESERVABLE_RATIO = 0.75
"""NetIOC's rule."""
TOLERANCE = 1e-9
"""Relative; sums that differ by rounding only still fit exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedReservation:
    """A present or requested reservation, in the unit of the capacity."""

    workload: str
    reservation: float

    def __post_init__(self) -> None:
        check_amount(f"reservation of {self.workload}", self.reservation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The result; `refused` names the allocations that do not fit."""

    reservable: float
    reserved: float
    refused: tuple[str, ...]

    @property
    def admitted(self) -> bool:
        """Whether all allocations fit."""
        return not self.refused


def reservable_on_host(
    uplink_rates: Sequence[float], *, ratio: float = UPLINK_RESERVABLE_RATIO
) -> float:
    """What can be reserved on a host: this ratio of its smallest uplink's line rate."""
    check_ratio("ratio", ratio)
    for rate in uplink_rates:
        check_amount("uplink rate", rate)
    return ratio * min(uplink_rates, default=0.0)


def reservable_in_pool(
    uplink_rates: Sequence[float], *, ratio: float = UPLINK_RESERVABLE_RATIO
) -> float:
    """What a network resource pool can reserve over all uplinks of its hosts together."""
    return sum(reservable_on_host([rate], ratio=ratio) for rate in uplink_rates)


def admit(reservable: float, allocations: Sequence[RequestedReservation]) -> Admission:
    """Accept the allocations in their order, as long as they fit; give present ones first.

    An allocation that does not fit is refused; a smaller one after it may still fit.
    """
    check_amount("reservable", reservable)
    reserved = 0.0
    refused = []
    for allocation in allocations:
        if reserved + allocation.reservation <= reservable * (1 + TOLERANCE):
            reserved += allocation.reservation
        else:
            refused.append(allocation)
    return Admission(
        reservable=reservable,
        reserved=reserved,
        refused=tuple(allocation.workload for allocation in refused),
    )


def refusal_text(
    admission: Admission, allocations: Sequence[RequestedReservation], unit: str
) -> str:
    """How much the refused ones of these allocations ask for, and how much is free."""
    asked = listed(
        f"{allocation.workload} asks for {format_rate(allocation.reservation, unit)}"
        for allocation in allocations
        if allocation.workload in admission.refused
    )
    free = format_rate(max(0.0, admission.reservable - admission.reserved), unit)
    most = format_rate(admission.reservable, unit)
    return f"{asked}; {free} of {most} that may be reserved is free"
