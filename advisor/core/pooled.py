"""Divide a capacity among allocations of which some are in pools.

A pool with shares is one claimant beside the others, and what it gets is divided among its
members. Where reservations do not fit, every pool is one, and is scaled down like the others.
Members of a pool without shares compete each by its own shares; where that breaks the pool's
bounds, it is held at them and the others are solved anew. Of all that break them only those below
are held first if holding all would take more, else only those above: the level then moves away
from them, so they stay there (as the flexible lengths of CSS, "Resolving Flexible Lengths").
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.core.allocation import Allocation, ReservationMode, entitlements, solve
from advisor.core.pools import PoolTerms
from advisor.core.waterfill import Booleans, Floats, groups_of

ROUNDING = 1e-12
"""Of the capacity; a bound that is broken by less is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlaces:
    """The terms of a pool whose members are at `places` among all allocations."""

    places: tuple[int, ...]
    reservation: float
    limit: float | None
    shares: int | None


def places_of(pools: Sequence[PoolTerms], allocations: Sequence[int]) -> tuple[PoolPlaces, ...]:
    """The pools by the places of their members among the allocations; none without a member."""
    place_of = {allocation: place for place, allocation in enumerate(allocations)}
    found = []
    for pool in pools:
        places = tuple(place_of[one] for one in pool.members if one in place_of)
        if places:
            found.append(
                PoolPlaces(
                    places=places,
                    reservation=pool.reservation,
                    limit=pool.limit,
                    shares=pool.shares,
                )
            )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """What each pool states to reserve, the least and the most that it takes, and what it reserves
    beyond its members, each (windows, pools)."""

    stated: Floats
    least: Floats
    most: Floats
    beyond: Floats


def pooled_entitlements(
    capacity: float,
    allocations: Sequence[Allocation],
    mode: ReservationMode,
    pools: Sequence[PoolPlaces],
) -> list[float]:
    """What each allocation gets of the capacity, as `entitlements` without pools."""
    if not pools:
        return entitlements(capacity, allocations, mode)
    caps = [
        min(np.inf if bound is None else bound for bound in (one.limit, one.demand))
        for one in allocations
    ]
    amounts = solve_pooled(
        np.array([capacity]),
        np.array([[one.reservation for one in allocations]]),
        np.array([caps]),
        np.array([[one.shares for one in allocations]]),
        mode=mode,
        pools=pools,
    )
    found: list[float] = amounts[0].tolist()
    return found


def solve_pooled(
    capacity: Floats,
    reservation: Floats,
    cap: Floats,
    shares: Floats,
    *,
    mode: ReservationMode,
    pools: Sequence[PoolPlaces],
) -> Floats:
    """As `solve`, of many windows: `capacity` is (windows), all else (windows, allocations)."""
    if not pools:
        return _solve(capacity, reservation, cap, shares, mode)
    amounts = _claims(capacity, reservation, cap, shares, mode=mode, pools=pools)
    own = amounts[:, : reservation.shape[1]].copy()
    for number, pool in enumerate(pools):
        places = list(pool.places)
        whole = amounts[:, reservation.shape[1] + number]
        own[:, places] = _solve(
            whole, reservation[:, places], cap[:, places], shares[:, places], mode
        )
    return own


def _claims(
    capacity: Floats,
    reservation: Floats,
    cap: Floats,
    shares: Floats,
    *,
    mode: ReservationMode,
    pools: Sequence[PoolPlaces],
) -> Floats:
    """What each allocation without a pool gets, then each pool; (windows, both)."""
    bounds = _bounds_of(reservation, cap, shares, pools)
    inside = np.zeros((len(pools), reservation.shape[1]))
    for number, pool in enumerate(pools):
        inside[number, list(pool.places)] = 1.0
    alone = 1.0 - inside.sum(axis=0)
    reserved = (np.minimum(reservation, cap) * alone).sum(axis=1) + bounds.least.sum(axis=1)
    weights = np.array([[0.0 if pool.shares is None else float(pool.shares) for pool in pools]])
    # Where reservations do not fit, all are scaled down as they were stated, as `solve` does, and
    # shares do not count.
    is_scaled = (reserved >= capacity)[:, None]
    is_claimant = (weights > 0) | is_scaled
    is_held = np.zeros_like(is_claimant)
    least, most = np.where(is_scaled, bounds.stated, bounds.least), bounds.most.copy()
    while True:
        is_whole = is_claimant | is_held
        # Members stand for themselves where their pool does not stand for them.
        is_shown = ((~is_whole).astype(float) @ inside + alone) > 0
        extra = bounds.beyond if mode is ReservationMode.ADDITIVE else np.zeros_like(least)
        amounts = _solve(
            capacity,
            np.hstack([reservation * is_shown, np.where(is_whole, least, extra)]),
            np.hstack([np.where(is_shown, cap, 0.0), np.where(is_whole, most, extra)]),
            np.hstack([shares * is_shown, np.where(is_whole, weights, 0.0)]),
            mode,
        )
        count = reservation.shape[1]
        of_pools = np.where(is_whole, 0.0, amounts[:, :count] @ inside.T) + amounts[:, count:]
        is_below, is_above = _broken(of_pools, bounds, capacity, ~is_whole)
        if not (is_below.any() or is_above.any()):
            return np.hstack([amounts[:, :count], of_pools])
        now_held = is_below | is_above
        least = np.where(is_below, bounds.least, np.where(is_above, bounds.most, least))
        most = np.where(now_held, least, most)
        is_held |= now_held


def _broken(
    amounts: Floats, bounds: _Bounds, capacity: Floats, is_free: Booleans
) -> tuple[Booleans, Booleans]:
    """Which free pools are to be held at their least, and which at their most."""
    slack = ROUNDING * capacity[:, None]
    below = np.where(is_free, np.maximum(bounds.least - amounts - slack, 0.0), 0.0)
    above = np.where(is_free, np.maximum(amounts - bounds.most - slack, 0.0), 0.0)
    takes_more = (below.sum(axis=1) > above.sum(axis=1))[:, None]
    return (below > 0) & takes_more, (above > 0) & ~takes_more


def _bounds_of(
    reservation: Floats, cap: Floats, shares: Floats, pools: Sequence[PoolPlaces]
) -> _Bounds:
    stated, least, most, beyond = [], [], [], []
    for pool in pools:
        places = list(pool.places)
        inside = np.minimum(reservation[:, places], cap[:, places])
        takes = np.where(shares[:, places] > 0, cap[:, places], inside).sum(axis=1)
        highest = takes if pool.limit is None else np.minimum(takes, pool.limit)
        reserved = inside.sum(axis=1)
        lowest = np.minimum(np.maximum(pool.reservation, reserved), highest)
        stated.append(np.maximum(pool.reservation, reserved))
        least.append(lowest)
        most.append(highest)
        beyond.append(np.maximum(lowest - reserved, 0.0))
    return _Bounds(
        stated=np.stack(stated, axis=1),
        least=np.stack(least, axis=1),
        most=np.stack(most, axis=1),
        beyond=np.stack(beyond, axis=1),
    )


def _solve(
    capacity: Floats, reservation: Floats, cap: Floats, shares: Floats, mode: ReservationMode
) -> Floats:
    found: Floats = solve(
        capacity,
        reservation.ravel(),
        cap.ravel(),
        shares.ravel(),
        mode=mode,
        groups=groups_of(np.full(cap.shape[0], cap.shape[1])),
    ).reshape(cap.shape)
    return found
