"""What happens when: simulated time and the events to come."""

import heapq
from collections.abc import Callable
from typing import Any

Action = Callable[[Any], None]


class Agenda:
    """Events in the order of their time, and of two at the same time the one planned first."""

    __slots__ = ("_events", "_planned", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Action, Any]] = []
        self._planned = 0

    def at(self, time: float, action: Action, about: Any = None) -> None:
        """Call `action(about)` when simulated time reaches `time`."""
        self._planned += 1
        heapq.heappush(self._events, (time, self._planned, action, about))

    def run_until(self, end: float) -> None:
        """Let everything happen that is planned up to and including `end`."""
        events, pop = self._events, heapq.heappop
        while events and events[0][0] <= end:
            time, _, action, about = pop(events)
            self.now = time
            action(about)
        self.now = end
