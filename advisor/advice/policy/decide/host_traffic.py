"""The host's own traffic on an uplink, which takes part in every division."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.allocation import Allocation
from advisor.core.number_checks import check_amount
from advisor.core.resource import normal_shares


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTraffic:
    """What is kept for it, and what it wants; what it does not want is shared by the others.

    Numbers are in the resource's unit. `demand` None is not known; then it counts with its
    reservation.
    """

    reservation: float
    demand: float | None

    def __post_init__(self) -> None:
        check_amount("reservation of the host's own traffic", self.reservation)
        check_amount("demand of the host's own traffic", self.demand)

    def beside(self, shares: Sequence[int], *, is_managed: bool) -> Allocation:
        """Its allocation beside workloads with these shares.

        Where no policy is in force nothing is kept for it, and it shares like everybody.
        """
        return Allocation(
            reservation=self.reservation if is_managed else 0.0,
            shares=normal_shares(shares),
            demand=self.reservation if self.demand is None else self.demand,
        )
