"""Virtual time: what shall happen is done in the order of its time, and nobody ever waits."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

Act = Callable[[], None]


class Agenda:
    """Acts with their times in seconds since the beginning; equal times in the order given."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._orders = count()
        self._acts: list[tuple[float, int, Act]] = []

    def at(self, at_s: float, act: Act) -> None:
        """Do something at a time; what is past already happens next."""
        heapq.heappush(self._acts, (max(at_s, self.now_s), next(self._orders), act))

    def after(self, after_s: float, act: Act) -> None:
        """Do something after a while."""
        self.at(self.now_s + after_s, act)

    def run_until(self, end_s: float) -> None:
        """Do all that is due up to a time, which it then is.

        Called by an act it lets others happen while that act waits.
        """
        while self._acts and self._acts[0][0] <= end_s:
            at_s, _, act = heapq.heappop(self._acts)
            self.now_s = max(self.now_s, at_s)
            act()
        self.now_s = max(self.now_s, end_s)
