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
save up shares; a limit cannot be saved up either.
"""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from advisor.core.allocation import Node, ReservationMode, check_tree
from advisor.core.number_checks import check_amount, check_positive

LATE_SERVICES = 10
"""A turn that comes late behind so many services of others is not lost."""


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


class _Tags:
    """A node of the tree with its tags; times in seconds, share tags in cost per share."""

    __slots__ = (
        "children",
        "due_at",
        "limit",
        "open_at",
        "path",
        "queue",
        "reservation",
        "share_tag",
        "shares",
        "stated",
        "virtual_time",
        "waiting",
    )

    def __init__(self, node: Node, path: str) -> None:
        self.path = path
        self.stated = node.reservation
        self.limit = math.inf if node.limit is None else node.limit
        self.shares = node.shares
        self.children = [_Tags(child, f"{path}/{child.name}") for child in node.children]
        self.queue: deque[float] = deque()
        self.waiting = 0
        self.reservation = 0.0
        self.due_at = -math.inf
        self.open_at = math.inf if self.limit == 0 else -math.inf
        self.share_tag = 0.0
        self.virtual_time = 0.0

    def is_allowed(self, now: float) -> bool:
        """Whether a request below this node may be served."""
        if not self.waiting or self.open_at > now:
            return False
        if self.shares == 0 and not self.is_due(now):
            return False
        return not self.children or any(child.is_allowed(now) for child in self.children)

    def is_due(self, now: float) -> bool:
        """Whether reserved service is due."""
        return self.reservation > 0 and self.due_at <= now

    def allowed_at(self) -> float:
        """When a request below this node may be served, if no other is served before."""
        if not self.waiting:
            return math.inf
        own = self.open_at
        if self.shares == 0:
            own = max(own, self.due_at) if self.reservation > 0 else math.inf
        below = (child.allowed_at() for child in self.children)
        return max(own, min(below)) if self.children else own

    def walk(self) -> Iterator["_Tags"]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


class TagScheduler:
    """Decides which request is served next; the caller keeps the clock.

    `capacity` is what the device serves, in cost per second; reservations, limits and `burst` are
    in the same unit. `burst` is how much service a client that was idle may take ahead of its
    shares.
    """

    def __init__(
        self, root: Node, *, capacity: float, mode: ReservationMode, burst: float = 0.0
    ) -> None:
        check_positive("capacity", capacity)
        check_amount("burst", burst)
        check_tree(root)
        self._root = _Tags(root, f"/{root.name}")
        self._capacity = capacity
        self._mode = mode
        self._burst = burst
        self._lines = dict(_lines(self._root))
        self._fits = self._settle_reservations_that_fit()

    def enqueue(self, path: str, *, cost: float, now: float) -> None:
        """Add a request of the leaf at this path. KeyError if there is no such leaf."""
        check_positive("cost", cost)
        parent, woken = None, False
        for node in self._lines[path]:
            if not node.waiting:
                self._wake(parent, node, now)
                woken = True
            node.waiting += 1
            parent = node
        node.queue.append(cost)
        if woken and not self._fits:
            self._share_out_reservations()

    def dequeue(self, now: float) -> Dispatch | None:
        """The request to serve now, None if there is none or none is allowed."""
        node, line, phase = self._root, [], Phase.SHARES
        if not node.waiting or node.open_at > now:
            return None
        while node.children:
            chosen = _choose(node, now)
            if chosen is None:
                return None
            child, phase = chosen
            line.append((node, child, phase))
            node = child
        cost = node.queue.popleft()
        self._charge_limit(self._root, cost, now)
        self._root.waiting -= 1
        for parent, child, why in line:
            self._charge(parent, child, why, cost, now)
            child.waiting -= 1
        if not node.waiting and not self._fits:
            self._share_out_reservations()
        return Dispatch(path=node.path, cost=cost, phase=phase)

    def next_at(self) -> float | None:
        """When the next request may be served; None if nothing waits for time to pass."""
        at = self._root.allowed_at()
        return None if math.isinf(at) and at > 0 else at

    def _wake(self, parent: _Tags | None, node: _Tags, now: float) -> None:
        """Set the tags of a node that was idle as if it had just come."""
        node.due_at = max(node.due_at, now)
        node.open_at = max(node.open_at, now)
        if parent is not None and node.shares > 0:
            busy = [child.share_tag for child in parent.children if child.waiting]
            virtual_time = max(parent.virtual_time, min(busy, default=0.0))
            ahead = self._burst / node.shares
            node.share_tag = max(node.share_tag, virtual_time - ahead)

    def _charge(self, parent: _Tags, child: _Tags, phase: Phase, cost: float, now: float) -> None:
        self._charge_limit(child, cost, now)
        if phase is Phase.RESERVATION:
            child.due_at += cost / child.reservation
        else:
            parent.virtual_time = max(parent.virtual_time, child.share_tag)
            self._forfeit_what_limits_held_back(parent, cost, now)
        counts = phase is Phase.SHARES or self._mode is ReservationMode.FLOOR
        if counts and child.shares > 0:
            child.share_tag += cost / child.shares

    def _charge_limit(self, node: _Tags, cost: float, now: float) -> None:
        if math.isinf(node.limit):
            return
        period = cost / node.limit
        late = period + LATE_SERVICES * cost / self._capacity
        node.open_at = max(node.open_at, now - late) + period

    def _forfeit_what_limits_held_back(self, parent: _Tags, cost: float, now: float) -> None:
        # A turn missed by a moment is not forfeited, or a limit just below the share is not met.
        kept = max(self._burst, LATE_SERVICES * cost)
        for child in parent.children:
            if child.waiting and child.open_at > now and child.shares > 0:
                ahead = kept / child.shares
                child.share_tag = max(child.share_tag, parent.virtual_time - ahead)

    def _settle_reservations_that_fit(self) -> bool:
        """Set the reservations for good if all fit at once; say whether they do.

        That of a class depends on who waits in it, so it cannot be settled.
        """
        nodes = list(self._root.walk())
        if any(child.children for child in self._root.children):
            return False
        for node in nodes:
            node.waiting = 1
        _reserve_upwards(self._root)
        for node in nodes:
            node.waiting = 0
        return self._root.reservation <= self._capacity and all(
            sum(child.reservation for child in node.children) <= node.reservation for node in nodes
        )

    def _share_out_reservations(self) -> None:
        """What each waiting node may count on, as in `allocate_tree`: scaled where it must be."""
        _reserve_upwards(self._root)
        self._root.reservation = min(self._root.reservation, self._capacity)
        for node in self._root.walk():
            asked = sum(child.reservation for child in node.children)
            if asked > node.reservation:
                for child in node.children:
                    child.reservation *= node.reservation / asked


def _choose(node: _Tags, now: float) -> tuple[_Tags, Phase] | None:
    """The child to serve: the longest due, else the lowest share tag; the first among equals."""
    due: _Tags | None = None
    first: _Tags | None = None
    for child in node.children:
        if not child.waiting or not child.is_allowed(now):
            continue
        if child.is_due(now):
            if due is None or child.due_at < due.due_at:
                due = child
        elif first is None or child.share_tag < first.share_tag:
            first = child
    if due is not None:
        return due, Phase.RESERVATION
    return None if first is None else (first, Phase.SHARES)


def _reserve_upwards(node: _Tags) -> tuple[float, float]:
    """Set the reservation of all below, and return that and the limit of the node."""
    if not node.waiting:
        node.reservation = 0.0
        for child in node.children:
            _reserve_upwards(child)
        return 0.0, 0.0
    below = [_reserve_upwards(child) for child in node.children]
    most = min(node.limit, sum(limit for _, limit in below)) if below else node.limit
    node.reservation = min(most, max(node.stated, sum(least for least, _ in below)))
    return node.reservation, most


def _lines(node: _Tags, above: tuple[_Tags, ...] = ()) -> Iterator[tuple[str, list[_Tags]]]:
    """For each leaf its path, and the nodes from the root to it."""
    line = (*above, node)
    if not node.children:
        yield node.path, list(line)
    for child in node.children:
        yield from _lines(child, line)
