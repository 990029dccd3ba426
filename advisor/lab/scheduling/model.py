"""Reservation, limit and share tags as a discrete-event model: mClock, its additive twin, hClock.

Every node of a tree carries three tags. The reservation tag says when its next reserved service
is due, the limit tag when the next service is allowed at all, and the share tag orders what is
left. From the root down, the child whose reservation is longest due is served, else the allowed
child with the lowest share tag. A tree of one level is mClock (OSDI'10); deeper ones are hClock
(EuroSys'13). This is the oracle for packet schedulers and I/O enforcers: exact and slow.

The two meanings of a reservation differ in one place: with `floor`, reserved service advances the
share tag too, with `additive` it does not.

Where the papers' tags misbehave, these do not: share tags follow virtual time, not the clock;
reservations that do not fit are scaled down before tagging; whoever was held at its limit cannot
save up shares, nor a limit be saved up; and whoever got more than its shares because it was
reserved does not pay for that when others leave.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

from advisor.core.allocation import Node, ReservationMode, check_tree
from advisor.core.number_checks import check_amount, check_positive
from advisor.lab.scheduling.tags import Tags, lines_of, reserve_downwards, reserve_upwards

LATE_SERVICES = 10
"""A turn that comes late behind so many services of its own size is not lost."""
LATE_LARGE_SERVICES = 4
"""Nor one that comes late behind so many of the largest requests."""
MOST_LEVELS = 100
"""A tree may have so many below its root, for tags are looked up by recursion."""


class Phase(StrEnum):
    """Why a request was served when it was."""

    RESERVATION = "reservation"
    SHARES = "shares"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """A request handed to the device: whose, its cost, and by which right."""

    path: str
    cost: float
    phase: Phase


class _Turn(NamedTuple):
    """Which child of a node is served and why; `allowed` and `held` are all that wait there."""

    parent: Tags
    child: Tags
    phase: Phase
    allowed: list[Tags]
    held: list[Tags]


class TagScheduler:
    """Decides which request is served next; the caller keeps the clock.

    `capacity` is what the device serves, in cost per second; reservations and limits are in the
    same unit. `burst` is how much cost a client that was idle may take ahead of its shares.
    ValueError names the path of a node that `entitlements_tree` refuses too, or a tree too deep.
    """

    def __init__(
        self, root: Node, *, capacity: float, mode: ReservationMode, burst: float = 0.0
    ) -> None:
        check_positive("capacity", capacity)
        check_amount("burst", burst)
        check_tree(root)
        _check_depth(root)
        self._root = Tags(root, f"/{root.name}")
        self._root.shares = 1.0  # It has no siblings to share with.
        self._capacity = capacity
        self._mode = mode
        self._burst = burst
        self._largest_cost = 0.0
        self._lines = dict(lines_of(self._root))
        reserve_upwards(self._root, with_idle=True)
        self._always_fit = reserve_downwards(self._root, capacity)

    def enqueue(self, path: str, *, cost: float, now: float) -> None:
        """Add a request of the leaf at this path. KeyError if there is no such leaf."""
        check_positive("cost", cost)
        check_amount("now", now)
        self._largest_cost = max(self._largest_cost, cost)
        parent, woken = None, False
        for node in self._lines[path]:
            if not node.waiting:
                self._wake(parent, node, now)
                woken = True
            node.waiting += 1
            parent = node
        node.queue.append(cost)
        if woken:
            self._scale_reservations()

    def dequeue(self, now: float) -> Dispatch | None:
        """The request to serve now, None if there is none or none is allowed."""
        check_amount("now", now)
        node, phase = self._root, Phase.SHARES
        if not node.waiting or node.open_at > now:
            return None
        turns = []
        while node.children:
            turn = _choose(node, now)
            if turn is None:
                return None
            turns.append(turn)
            node, phase = turn.child, turn.phase
        cost = node.queue.popleft()
        self._charge_limit(self._root, cost, now)
        self._root.waiting -= 1
        for turn in turns:
            self._charge(turn, cost, now)
            turn.child.waiting -= 1
        if not node.waiting:
            self._scale_reservations()
        return Dispatch(path=node.path, cost=cost, phase=phase)

    def next_at(self) -> float | None:
        """When the next request may be served; None if nothing waits for time to pass."""
        at = self._root.allowed_at()
        return None if math.isinf(at) and at > 0 else at

    def _wake(self, parent: Tags | None, node: Tags, now: float) -> None:
        """Set the tags of a node that was idle as if it had just come."""
        node.due_at = max(node.due_at, now)
        node.open_at = max(node.open_at, now)
        if parent is not None and node.shares > 0:
            busy = [child.share_tag for child in parent.children if child.waiting]
            virtual_time = max(parent.virtual_time, min(busy, default=0.0))
            ahead = self._burst / node.shares
            node.share_tag = max(node.share_tag, virtual_time - ahead)

    def _charge(self, turn: _Turn, cost: float, now: float) -> None:
        parent, child = turn.parent, turn.child
        self._advance_virtual_time(turn, cost)
        self._charge_limit(child, cost, now)
        if turn.phase is Phase.RESERVATION and child.reservation > 0:
            ahead = LATE_SERVICES * child.leaves * self._largest_cost / child.reservation
            child.due_at = min(child.due_at, now + ahead) + cost / child.reservation
        counts = turn.phase is Phase.SHARES or self._mode is ReservationMode.FLOOR
        if counts and child.shares > 0:
            step = cost / child.shares
            parent.step = max(parent.step, step)
            # Reserved service beyond the shares is nothing to pay back once the others leave.
            lead = max(LATE_SERVICES * child.leaves * step, 2 * parent.step)
            most = parent.virtual_time + lead
            child.share_tag = min(child.share_tag, most) + step

    def _charge_limit(self, node: Tags, cost: float, now: float) -> None:
        if node.limit == math.inf:
            return
        period = cost / node.limit
        behind = max(LATE_SERVICES * cost, LATE_LARGE_SERVICES * self._largest_cost)
        late = period + behind / self._capacity
        node.open_at = max(node.open_at, now - late) + period

    def _advance_virtual_time(self, turn: _Turn, cost: float) -> None:
        """Follow the lowest share tag, and keep clients held at their limits close behind it."""
        parent = turn.parent
        tags = [child.share_tag for child in turn.allowed if child.shares > 0]
        parent.virtual_time = max(parent.virtual_time, min(tags, default=0.0))
        # A turn that is late by a moment still counts; otherwise a limit just below the share
        # would not be reached.
        kept = max(self._burst, LATE_SERVICES * cost)
        for child in turn.held:
            if child.shares > 0:
                least = parent.virtual_time - kept / child.shares
                child.share_tag = max(child.share_tag, least)

    def _scale_reservations(self) -> None:
        """Set what each waiting node may count on, if not everything can be promised at once."""
        if not self._always_fit:
            reserve_upwards(self._root)
            reserve_downwards(self._root, self._capacity)


def _choose(node: Tags, now: float) -> _Turn | None:
    """The child to serve: the longest due, else the lowest share tag; the first among equals."""
    due, since, allowed, held = None, now, [], []
    for child in node.children:
        if not child.waiting:
            continue
        own = child.due_since(now)
        if own is None:
            held.append(child)
            continue
        allowed.append(child)
        if own < since or (own == since and due is None):
            due, since = child, own
    if not allowed:
        return None
    chosen = due or min(allowed, key=attrgetter("share_tag"))
    phase = Phase.SHARES if due is None else Phase.RESERVATION
    return _Turn(parent=node, child=chosen, phase=phase, allowed=allowed, held=held)


def _check_depth(root: Node) -> None:
    level = [root]
    for _ in range(MOST_LEVELS + 1):
        level = [child for node in level for child in node.children]
        if not level:
            return
    raise ValueError(f"/{root.name}: the tree has more than {MOST_LEVELS} levels below the root")
