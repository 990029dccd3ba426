"""Several requests commit together: whoever comes first does it for all that wait meanwhile.

While one thread commits, others put what they have into the queue. When it is done, the first of
them commits for all of these. So a commit is shared by as many as came during the one before and
a moment after it, and one request alone waits for nobody.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Event, Lock
from typing import Generic, TypeVar

Item = TypeVar("Item")

MOST_ROWS = 20_000
"""So many rows may wait, and be committed together."""
GATHER_S = 0.002
"""Where several came together, the next wait so long for more: a commit costs more than a body."""
LONGEST_WAIT_S = 30.0
"""A commit takes milliseconds; who waits so long is told that nothing is stored."""


class NotCommittedError(Exception):
    """The item was not stored, or nobody knows; it can be sent again.

    NotCommittedError
    ├── QueueFullError      more waits than can be stored soon
    └── CommitLostError     whoever committed ended or stands still
    """


class QueueFullError(NotCommittedError):
    pass


class CommitLostError(NotCommittedError):
    pass


class CommitQueue(Generic[Item]):
    """Items of several threads, stored together by `commit`, which takes all of them or none.

    If it takes several of them not, each is tried alone, so none fails for another's sake.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Item]], None],
        *,
        most_rows: int = MOST_ROWS,
        gather_s: float = GATHER_S,
        longest_wait_s: float = LONGEST_WAIT_S,
    ) -> None:
        self._commit = commit
        self._most_rows = most_rows
        self._gather_s = gather_s
        self._longest_wait_s = longest_wait_s
        self._lock = Lock()
        self._waiting: deque[_Ticket[Item]] = deque()
        self._rows = 0
        self._is_committing = False
        self._came_together = 1

    def put(self, item: Item, *, rows: int) -> None:
        """Return when the item is committed; raises what `commit` raises of it.

        Raises a `NotCommittedError` if it cannot wait, or waited too long.
        """
        ticket = _Ticket(item, rows)
        with self._lock:
            if self._rows + rows > self._most_rows:
                raise QueueFullError("more samples wait than can be stored soon")
            self._waiting.append(ticket)
            self._rows += rows
            leads, self._is_committing = not self._is_committing, True
        if not leads and not ticket.event.wait(self._longest_wait_s):
            self._give_up(ticket)
        if not ticket.is_done:
            self._lead()
        if ticket.error is not None:
            raise ticket.error
        if not ticket.is_committed:
            raise CommitLostError("who committed the samples ended before it was done")

    def _give_up(self, ticket: _Ticket[Item]) -> None:
        """Leave the queue; raises unless something happened to the ticket this moment."""
        with self._lock:
            if ticket.event.is_set():
                return
            if ticket in self._waiting:
                # Else it may yet be committed; then it is stored twice as if once.
                self._waiting.remove(ticket)
                self._rows -= ticket.rows
        raise CommitLostError("the samples waited too long for others to be stored")

    def _lead(self) -> None:
        """Commit all that waits, and let the first that came meanwhile do the same."""
        if self._came_together > 1:
            time.sleep(self._gather_s)
        with self._lock:
            tickets = list(self._waiting)
            self._waiting.clear()
            self._came_together = len(tickets)
        try:
            self._commit_all(tickets)
        finally:
            with self._lock:
                self._rows -= sum(ticket.rows for ticket in tickets)
                following = self._waiting[0] if self._waiting else None
                self._is_committing = following is not None
                for ticket in tickets:
                    ticket.is_done = True
                    ticket.event.set()
                if following is not None:
                    following.event.set()

    def _commit_all(self, tickets: Sequence[_Ticket[Item]]) -> None:
        error = self._try(tickets)
        if error is not None and len(tickets) > 1:
            for ticket in tickets:
                ticket.error = self._try([ticket])
        elif tickets:
            tickets[0].error = error

    def _try(self, tickets: Sequence[_Ticket[Item]]) -> Exception | None:
        """Commit them together; what is wrong if that cannot be done."""
        try:
            self._commit([ticket.item for ticket in tickets])
        except Exception as error:  # noqa: BLE001  the thread of each item raises it
            return error
        for ticket in tickets:
            ticket.is_committed = True
        return None


class _Ticket(Generic[Item]):
    """An item that waits, and what became of it."""

    __slots__ = ("error", "event", "is_committed", "is_done", "item", "rows")

    def __init__(self, item: Item, rows: int) -> None:
        self.item, self.rows = item, rows
        self.event = Event()
        self.is_done = self.is_committed = False
        self.error: Exception | None = None
