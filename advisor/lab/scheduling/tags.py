"""The nodes of a tag scheduler: their tags, and what of their reservations they may count on."""

import math
from collections import deque
from collections.abc import Iterator
from itertools import accumulate

from advisor.core.allocation import Node


class Tags:
    """A node of the tree with its tags; times in seconds, share tags in cost per share.

    `stated` is its reservation as given, `wanted` what it counts with everything reserved below,
    `most` the most it can take, and `reservation` what it may count on for itself.
    Tags of a leaf with shares are plain: nothing below them decides whether it may be served.
    `virtual_time` is the share tag that its children have reached, `step` the most that one
    request has advanced one of them.
    """

    __slots__ = (
        "children",
        "due_at",
        "is_plain",
        "leaves",
        "limit",
        "most",
        "open_at",
        "path",
        "queue",
        "reservation",
        "share_tag",
        "shares",
        "stated",
        "step",
        "virtual_time",
        "waiting",
        "wanted",
    )

    def __init__(self, node: Node, path: str) -> None:
        self.path = path
        self.stated = node.reservation
        self.limit = math.inf if node.limit is None else node.limit
        self.shares = node.shares
        self.children = [Tags(child, f"{path}/{child.name}") for child in node.children]
        self.leaves: int = sum(child.leaves for child in self.children) or 1
        self.is_plain = not node.children and node.shares > 0
        self.queue: deque[float] = deque()
        self.waiting = 0
        self.wanted = self.most = self.reservation = 0.0
        self.due_at = -math.inf
        self.open_at = math.inf if self.limit == 0 else -math.inf
        self.share_tag = 0.0
        self.virtual_time = self.step = 0.0

    def due_since(self, now: float) -> float | None:
        """Since when service is due that is reserved for this node or below; inf if it is not.

        None if no request below may be served now.
        """
        if not self.waiting or self.open_at > now:
            return None
        since = self.due_at if self.reservation > 0 else math.inf
        if self.children:
            below = [one for child in self.children if (one := child.due_since(now)) is not None]
            if not below:
                return None
            since = min(since, *below)
        return None if self.shares == 0 and since > now else since

    def allowed_at(self) -> float:
        """When a request below this node may be served, if no other is served before."""
        if not self.waiting:
            return math.inf
        below = (child.allowed_at() for child in self.children)
        opens = max(self.open_at, min(below, default=-math.inf))
        return max(opens, self.next_due_at()) if self.shares == 0 else opens

    def next_due_at(self) -> float:
        """When service that is reserved for this node or below may take place."""
        waiting = (child for child in self.children if child.waiting)
        below = (max(child.open_at, child.next_due_at()) for child in waiting)
        own = self.due_at if self.reservation > 0 else math.inf
        return min(own, min(below, default=math.inf))


def lines_of(node: Tags, above: tuple[Tags, ...] = ()) -> Iterator[tuple[str, list[Tags]]]:
    """For each leaf its path, and the nodes from the root to it."""
    line = (*above, node)
    if not node.children:
        yield node.path, list(line)
    for child in node.children:
        yield from lines_of(child, line)


def reserve_upwards(node: Tags, *, with_idle: bool = False) -> None:
    """Set how much each node from here down wants reserved and the most that it can take."""
    for child in node.children:
        reserve_upwards(child, with_idle=with_idle)
    if not (node.waiting or with_idle):
        node.wanted = node.most = 0.0
        return
    node.wanted, node.most = node.stated, node.limit
    if node.children:
        node.wanted = max(node.wanted, sum(min(one.wanted, one.most) for one in node.children))
        node.most = min(node.most, sum(one.most for one in node.children))


def reserve_downwards(node: Tags, amount: float) -> bool:
    """Set the reservations from here down within an amount; say whether all get what they want.

    Where they do not, each gets in proportion to what it wants, and none more than it can take.
    """
    amount, fits = min(amount, node.wanted, node.most), amount >= min(node.wanted, node.most)
    # A class keeps only its own reservation; its children have theirs.
    node.reservation = min(amount, node.stated)
    # Who can take the least part of what it wants comes first, so what it leaves goes to the rest.
    children = sorted(node.children, key=_part_it_can_take)
    weights = list(accumulate(child.wanted for child in reversed(children)))[::-1]
    left = amount
    for child, weight in zip(children, weights, strict=True):
        part = left * (child.wanted / weight) if child.wanted > 0 else 0.0
        fits = reserve_downwards(child, part) and fits
        left -= min(part, child.wanted, child.most)
    return fits


def _part_it_can_take(node: Tags) -> float:
    return min(node.wanted, node.most) / node.wanted if node.wanted > 0 else math.inf
