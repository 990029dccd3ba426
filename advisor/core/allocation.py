"""Divide a capacity among allocations by reservation, limit, shares and demand, exactly.

Two meanings of reservation exist, so it is a field of the resource:
`floor` (storage: mClock, SIOC) gives clamp(λ·shares, reservation, min(limit, demand));
`additive` (network: NetIOC) gives the reservation plus a part of the rest by shares.
Both use the same water-filling (`waterfill.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

import numpy as np

from advisor.core.entitlement_checks import check_entitlements
from advisor.core.waterfill import Floats, Groups, Indexes, fill, groups_of

LARGEST = 1e300
"""Largest capacity, reservation or shares, so that sums over millions stay finite."""


class ReservationMode(StrEnum):
    """What a reservation means on a resource."""

    FLOOR = "floor"
    ADDITIVE = "additive"


@dataclass(frozen=True, slots=True)
class Allocation:
    """Reservation, limit, shares and demand of one workload, in the unit of the capacity.

    `limit=None` is unlimited, `demand=None` is unknown and counts as unlimited; so does infinity.
    If the reservation exceeds the limit, the limit wins.
    The order of the fields is part of the interface, so they may be given by position.
    """

    reservation: float = 0.0
    limit: float | None = None
    shares: float = 1.0
    demand: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A named allocation in a tree; an inner node bounds and guarantees its children's sum."""

    name: str
    reservation: float = 0.0
    limit: float | None = None
    shares: float = 1.0
    demand: float | None = None
    children: tuple["Node", ...] = ()


def entitlements(
    capacity: float, allocations: Sequence[Allocation], mode: ReservationMode
) -> list[float]:
    """What each allocation gets of the capacity, in the order of the allocations.

    Reservations that do not fit are scaled down in proportion. What an allocation cannot use goes
    to the others by shares; an allocation with shares 0 gets only its reservation.
    ValueError names the allocation and field that is negative, NaN or too large.
    """
    total = _checked_capacity(capacity)
    if not allocations:
        return []
    reservation, cap, shares = _columns(allocations, lambda index: f"allocation {index}")
    one = groups_of(np.array([len(allocations)]))
    amount = solve(np.array([total]), reservation, cap, shares, mode=mode, groups=one)
    result: list[float] = amount.tolist()
    return result


def entitlements_tree(capacity: float, root: Node, mode: ReservationMode) -> dict[str, float]:
    """What each node gets, by its path ("/uplink/class/workload"), parents before children.

    A node can take what its children can take, and its reservation is at least the sum of theirs.
    What idle children do not use goes to their siblings before it leaves the parent.
    ValueError names the path that is ambiguous, or whose number is negative, NaN or too large.
    """
    total = _checked_capacity(capacity)
    tree = _flatten(root)
    reservation, cap, shares = _columns(tree.nodes, lambda index: tree.paths[index])
    for level in reversed(tree.levels):
        low, high = level.children
        inside = np.minimum(reservation[low:high], cap[low:high])
        takes = np.where(shares[low:high] > 0, cap[low:high], inside)
        parents = level.parents
        cap[parents] = np.minimum(cap[parents], level.groups.total(takes))
        reservation[parents] = np.maximum(reservation[parents], level.groups.total(inside))
    amount = np.empty_like(cap)
    amount[0] = min(total, cap[0])
    for level in tree.levels:
        part = slice(*level.children)
        whole = amount[level.parents]
        amount[part] = solve(
            whole, reservation[part], cap[part], shares[part], mode=mode, groups=level.groups
        )
    return dict(zip(tree.paths, amount.tolist(), strict=True))


def check_tree(root: Node) -> None:
    """Refuse a tree with ambiguous paths or bad numbers, as `entitlements_tree` does."""
    tree = _flatten(root)
    _columns(tree.nodes, lambda index: tree.paths[index])


def solve(
    capacity: Floats,
    reservation: Floats,
    cap: Floats,
    shares: Floats,
    *,
    mode: ReservationMode,
    groups: Groups,
) -> Floats:
    """Divide the capacity of many independent groups of allocations at once.

    `capacity` is (groups), the other arrays and the result (allocations), groups one after the
    other. `cap` is min(limit, demand) and may be infinite; all other numbers are finite and not
    negative.
    """
    whole = capacity
    most = np.minimum(cap, groups.spread(whole))
    least = np.minimum(reservation, most)
    # Powers of two change no digit and keep breakpoints of 1e-300 and 1e300 representable.
    capacity, exponent = np.frexp(capacity)
    exponent = np.repeat(exponent, groups.sizes)
    cap, floor = np.ldexp(most, -exponent), np.ldexp(least, -exponent)
    reserved = groups.total(floor)
    fits = reserved < capacity
    fitting = np.repeat(fits, groups.sizes)
    weight = np.where(fitting, shares, reservation)
    floor_or_none = np.where(fitting, floor, 0.0)
    match mode:
        case ReservationMode.FLOOR:
            room = np.where(fitting, cap, floor)
            amount = fill(capacity, floor_or_none, room, weight, groups)
        case ReservationMode.ADDITIVE:
            room = np.where(fitting, cap - floor, floor)
            rest = np.where(fits, capacity - reserved, capacity)
            amount = floor_or_none + fill(rest, np.zeros_like(floor), room, weight, groups)
        case _:
            assert_never(mode)
    # Rounding must not break a reservation or a limit.
    bounded: Floats = np.clip(np.ldexp(amount, exponent), np.where(fitting, least, 0.0), most)
    check_entitlements(bounded, capacity=whole, most=most, groups=groups)
    return bounded


def _checked_capacity(capacity: float) -> float:
    if not 0 <= capacity <= LARGEST:
        raise ValueError(f"capacity is {capacity!r}; it must be a number from 0 to {LARGEST:g}")
    return float(capacity)


def _columns(
    allocations: Sequence[Allocation] | Sequence[Node], where: Callable[[int], str]
) -> tuple[Floats, Floats, Floats]:
    """Checked reservations, caps (min of limit and demand) and shares, each (allocations)."""
    reservation = _column(
        [allocation.reservation for allocation in allocations], "reservation", where
    )
    shares = _column([allocation.shares for allocation in allocations], "shares", where)
    unlimited = np.inf
    limits = [
        unlimited if allocation.limit is None else allocation.limit for allocation in allocations
    ]
    demands = [
        unlimited if allocation.demand is None else allocation.demand for allocation in allocations
    ]
    limit = _column(limits, "limit", where, most=unlimited)
    demand = _column(demands, "demand", where, most=unlimited)
    return reservation, np.minimum(limit, demand), shares


def _column(
    values: list[float], field: str, where: Callable[[int], str], *, most: float = LARGEST
) -> Floats:
    try:
        column = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        # Slow, but only used on errors: find the wrong value.
        column = np.array([_number(value) for value in values])
    wrong = ~((column >= 0) & (column <= most))
    if wrong.any():
        index = int(np.argmax(wrong))
        expected = f"a number from 0 to {LARGEST:g}" if most == LARGEST else "None or 0 and above"
        raise ValueError(f"{where(index)}: {field} is {values[index]!r}; it must be {expected}")
    return column


def _number(value: object) -> float:
    """The value as float, NaN if it is not a number."""
    try:
        return float(value)  # type: ignore[arg-type]  # The caller may pass any type.
    except (TypeError, ValueError, OverflowError):
        return float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """The nodes of one depth: their places, their parents, and one group per parent."""

    children: tuple[int, int]
    parents: Indexes
    groups: Groups


@dataclass(frozen=True, slots=True, kw_only=True)
class _FlatTree:
    """All nodes breadth first, their paths, and the levels below the root."""

    nodes: list[Node]
    paths: list[str]
    levels: list[_Level]


def _flatten(root: Node) -> _FlatTree:
    """Breadth-first order makes siblings neighbours; without recursion, for any depth."""
    nodes, paths = [root], [f"/{_checked_name(root, '')}"]
    levels: list[_Level] = []
    begin, end = 0, 1
    while True:
        parents = [index for index in range(begin, end) if nodes[index].children]
        if not parents:
            return _FlatTree(nodes=nodes, paths=paths, levels=levels)
        for index in parents:
            _append_children(nodes, paths, index)
        sizes = np.array([len(nodes[index].children) for index in parents])
        begin, end = end, len(nodes)
        level = _Level(children=(begin, end), parents=np.array(parents), groups=groups_of(sizes))
        levels.append(level)


def _append_children(nodes: list[Node], paths: list[str], parent: int) -> None:
    children = nodes[parent].children
    names = {_checked_name(child, paths[parent]) for child in children}
    if len(names) < len(children):
        raise ValueError(f"{paths[parent]}: two children have the same name")
    nodes.extend(children)
    paths.extend(f"{paths[parent]}/{child.name}" for child in children)


def _checked_name(node: Node, parent: str) -> str:
    if not node.name or "/" in node.name:
        raise ValueError(f'{parent or "root"}: the name {node.name!r} is empty or contains "/"')
    return node.name
