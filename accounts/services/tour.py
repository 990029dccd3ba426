"""Where a member is in the tour of a sample organisation."""

from __future__ import annotations

from accounts.models import Membership


def go_to_step(membership: Membership, step: int) -> None:
    """Be at this step, counted from 1, with the tour open."""
    _keep(membership, step=step, closed=False)


def close_tour(membership: Membership) -> None:
    """Show no step until the tour is opened again, at the step where it was."""
    _keep(membership, step=membership.tour_step, closed=True)


def _keep(membership: Membership, *, step: int, closed: bool) -> None:
    membership.tour_step, membership.tour_closed = step, closed
    membership.save(update_fields=["tour_step", "tour_closed"])
