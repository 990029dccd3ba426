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

Whole experiments are served request by request, so what runs for each of them compares instead of
calling `min` and `max`.
"""

from collections.abc import Sequence
from enum import StrEnum
from math import inf, isinf
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


class Dispatch(NamedTuple):
    """A request handed to the device: whose, its cost, and by which right."""

    path: str
    cost: float
    phase: Phase


_Turn = tuple[Tags, Tags, bool, float, list[Tags]]
"""Of a node that is served: itself, the child whose turn it is, whether that is due by its
reservation, the lowest share tag of all that are allowed, and who is held at a limit.

No class, for a turn is taken with every request.
"""


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
        self._is_floor = mode is ReservationMode.FLOOR
        self._burst = burst
        self._largest_cost = 0.0
        self._lines = dict(lines_of(self._root))
        reserve_upwards(self._root, with_idle=True)
        self._always_fit = reserve_downwards(self._root, capacity)
        self._is_simple = (
            self._always_fit
            and self._root.limit == inf
            and bool(self._root.children)
            and all(child.is_plain for child in self._root.children)
        )

    def enqueue(self, path: str, cost: float, now: float) -> None:
        """Add a request of the leaf at this path. KeyError if there is no such leaf."""
        if not (0 < cost < inf and 0 <= now < inf):
            _refuse(cost, now)
        if cost > self._largest_cost:
            self._largest_cost = cost
        parent, woken = None, False
        for node in self._lines[path]:
            if not node.waiting:
                self._wake(parent, node, now)
                woken = True
            node.waiting += 1
            parent = node
        node.queue.append(cost)
        if woken and not self._always_fit:
            self._scale_reservations()

    def dequeue(self, now: float) -> Dispatch | None:
        """The request to serve now, None if there is none or none is allowed."""
        if not 0 <= now < inf:
            _refuse(1.0, now)
        root = node = self._root
        if not root.waiting or root.open_at > now:
            return None
        is_due, turns = False, []
        while node.children:
            turn = _choose(node, now)
            if turn is None:
                return None
            turns.append(turn)
            _, node, is_due, _, _ = turn
        cost = node.queue.popleft()
        if root.limit < inf:
            self._charge_limit(root, cost, now)
        root.waiting -= 1
        for turn in turns:
            turn[1].waiting -= 1
            self._charge(turn, cost, now)
        if not (node.waiting or self._always_fit):
            self._scale_reservations()
        return Dispatch(node.path, cost, Phase.RESERVATION if is_due else Phase.SHARES)

    def pass_through(self, path: str, cost: float, now: float) -> bool:
        """Serve a request at once where nothing waits; False if it is to be enqueued.

        The tags are those that `enqueue` and `dequeue` would leave. A short way for what is most
        common: leaves with shares right below a root without limit.
        """
        root, leaf = self._root, self._lines[path][-1]
        if root.waiting or not self._is_simple or leaf.open_at > now:
            return False
        if not (0 < cost < inf and 0 <= now < inf):
            _refuse(cost, now)
        if cost > self._largest_cost:
            self._largest_cost = cost
        self._wake(root, leaf, now)
        is_due = leaf.reservation > 0 and leaf.due_at <= now
        self._charge((root, leaf, is_due, leaf.share_tag, []), cost, now)
        return True

    def next_at(self) -> float | None:
        """When the next request may be served; None if nothing waits for time to pass."""
        at = self._root.allowed_at()
        return None if isinf(at) and at > 0 else at

    def _wake(self, parent: Tags | None, node: Tags, now: float) -> None:
        """Set the tags of a node that was idle as if it had just come."""
        if node.due_at < now:
            node.due_at = now
        if node.open_at < now:
            node.open_at = now
        if parent is None or node.shares == 0:
            return
        virtual_time = parent.virtual_time
        # It is counted in its parent already.
        if parent.waiting > 1:
            lowest = min(child.share_tag for child in parent.children if child.waiting)
            virtual_time = max(virtual_time, lowest)
        least = virtual_time - self._burst / node.shares
        if node.share_tag < least:
            node.share_tag = least

    def _charge(self, turn: _Turn, cost: float, now: float) -> None:
        parent, child, is_due, lowest, held = turn
        # Virtual time follows the lowest share tag.
        if lowest > parent.virtual_time:
            parent.virtual_time = lowest
        if held:
            self._keep_close(held, parent.virtual_time, cost)
        if child.limit < inf:
            self._charge_limit(child, cost, now)
        if is_due and child.reservation > 0:
            ahead = LATE_SERVICES * child.leaves * self._largest_cost / child.reservation
            child.due_at = min(child.due_at, now + ahead) + cost / child.reservation
        if child.shares > 0 and (self._is_floor or not is_due):
            step = cost / child.shares
            if step > parent.step:
                parent.step = step
            # Reserved service beyond the shares is nothing to pay back once the others leave.
            lead = LATE_SERVICES * child.leaves * step
            if lead < 2 * parent.step:
                lead = 2 * parent.step
            most = parent.virtual_time + lead
            if child.share_tag > most:
                child.share_tag = most
            child.share_tag += step

    def _charge_limit(self, node: Tags, cost: float, now: float) -> None:
        period = cost / node.limit
        behind = max(LATE_SERVICES * cost, LATE_LARGE_SERVICES * self._largest_cost)
        late = period + behind / self._capacity
        node.open_at = max(node.open_at, now - late) + period

    def _keep_close(self, held: Sequence[Tags], virtual_time: float, cost: float) -> None:
        """Keep clients held at their limits close behind virtual time.

        A turn that is late by a moment still counts; otherwise a limit just below the share
        would not be reached.
        """
        kept = max(self._burst, LATE_SERVICES * cost)
        for child in held:
            if child.shares > 0:
                child.share_tag = max(child.share_tag, virtual_time - kept / child.shares)

    def _scale_reservations(self) -> None:
        """Set what each waiting node may count on, as not everything can be promised at once."""
        reserve_upwards(self._root)
        reserve_downwards(self._root, self._capacity)


def _refuse(cost: float, now: float) -> None:
    """Say what is wrong; with millions of requests only that is worth a call."""
    check_positive("cost", cost)
    check_amount("now", now)


def _choose(node: Tags, now: float) -> _Turn | None:
    """The child to serve: the longest due, else the lowest share tag; the first among equals."""
    due = first = None
    since, lowest = now, 0.0
    held = []
    for child in node.children:
        if not child.waiting:
            continue
        own: float | None = None
        if child.open_at <= now:
            # Most are leaves with shares, and that is worth a short way.
            own = (
                (child.due_at if child.reservation > 0 else inf)
                if child.is_plain
                else child.due_since(now)
            )
        if own is None:
            held.append(child)
            continue
        if own <= since and (own < since or due is None):
            due, since = child, own
        if child.shares > 0 and (first is None or child.share_tag < lowest):
            first, lowest = child, child.share_tag
    # Without shares a child is allowed only while it is due.
    chosen = due or first
    return None if chosen is None else (node, chosen, due is not None, lowest, held)


def _check_depth(root: Node) -> None:
    level = [root]
    for _ in range(MOST_LEVELS + 1):
        level = [child for node in level for child in node.children]
        if not level:
            return
    raise ValueError(f"/{root.name}: the tree has more than {MOST_LEVELS} levels below the root")
