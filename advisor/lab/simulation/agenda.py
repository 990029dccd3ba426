"""What happens when: simulated time and the events to come."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Action = Callable[[Any], None]

MOST_EVENTS = 30_000_000
"""More than any experiment needs by far; a load that takes no time would go on for ever."""


class Agenda:
    """Events in the order of their time, and of two at the same time the one planned first."""

    __slots__ = ("_events", "_most", "_planned", "now")

    def __init__(self, *, most_events: int = MOST_EVENTS) -> None:
        self._most = most_events
        self.now = 0.0
        self._events: list[tuple[float, int, Action, Any]] = []
        self._planned = 0

    def at(self, time: float, action: Action, about: Any = None) -> None:
        """Call `action(about)` when simulated time reaches `time`.

        ValueError if this is one event more than the agenda takes.
        """
        self._planned = planned = self._planned + 1
        if planned > self._most:
            raise ValueError(
                f"the simulation needs more than {self._most:,} events by {self.now:g} s; "
                "simulate a shorter time or a slower datastore"
            )
        heappush(self._events, (time, planned, action, about))

    def run_until(self, end: float) -> None:
        """Let everything happen that is planned up to and including `end`."""
        events = self._events
        while events and events[0][0] <= end:
            self.now, _, action, about = heappop(events)
            action(about)
        self.now = end
