"""What a policy gives one allocation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Reservation, limit and shares of one allocation; the amounts are in the resource's unit."""

    allocation: int
    reservation: float
    limit: float | None
    shares: int
