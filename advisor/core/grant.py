"""What a policy gives one claim."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Reservation, limit and shares of one claim; the amounts are in the resource's unit."""

    claim: int
    reservation: float
    limit: float | None
    shares: int
