"""Writes of many senders are stored together by one thread of the process.

While it commits, others come and wait, and the next transaction is theirs. So a commit is shared
by as many as came during the one before and a moment after it, and one write alone waits for
nobody. What is large or may take longer is stored by other threads, each by itself: a sender whose
writes take their time holds up no other one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from asyncio import AbstractEventLoop, Future
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Value = TypeVar("Value")

LARGE_BYTES = 32 * 1024
"""Packed; a body of so many bytes has some thousand rows, and a transaction of its own."""
MOST_TOGETHER_BYTES = 1024 * 1024
"""Packed; some ten thousand rows are committed at once."""
MOST_HELD_BYTES = 64 * 1024 * 1024
"""Packed; who comes when so much is held is sent away for a while."""
MOST_OF_ONE_RATIO = 0.5
"""So much of that may be of one organisation."""
GATHER_S = 0.002
"""Where several came together, the next wait so long for more: a commit costs more than a body."""
LONGEST_WAIT_S = 30.0
"""A commit takes milliseconds; who waits so long is told that nothing is stored."""
LONGEST_LARGE_S = 300.0
"""The same for a large body, of which every line may be of a new series."""
_THREADS = 4


class NotCommittedError(Exception):
    """The item was not stored, or nobody knows; it can be sent again.

    NotCommittedError
    ├── QueueFullError      more waits than can be stored soon
    └── CommitLostError     whoever stores it ended or stands still
    """


class QueueFullError(NotCommittedError):
    pass


class CommitLostError(NotCommittedError):
    pass


class Room:
    """What one sender's body takes of the memory for bodies."""

    def __init__(self, held: Counter[Hashable], owner: Hashable, most_bytes: int) -> None:
        self._held, self._owner, self._most_bytes = held, owner, most_bytes
        self._own_bytes = 0

    def check(self, size_bytes: int) -> None:
        """Raise a `QueueFullError` if so much more cannot be held."""
        most_of_one = self._most_bytes * MOST_OF_ONE_RATIO
        if (
            self._held.total() + size_bytes > self._most_bytes
            or self._held[self._owner] + size_bytes > most_of_one
        ):
            raise QueueFullError("more samples wait than can be stored soon")

    def take(self, size_bytes: int) -> None:
        """Hold so much more."""
        self.check(size_bytes)
        self._held[self._owner] += size_bytes
        self._own_bytes += size_bytes

    def leave(self) -> None:
        """Hold nothing any more."""
        self._held[self._owner] -= self._own_bytes
        if self._held[self._owner] <= 0:
            del self._held[self._owner]


class WriteQueue(Generic[Item, Answer]):
    """Items of one event loop, answered by threads.

    `together` answers several, with None for each that is to be answered by `alone`.
    """

    def __init__(
        self,
        together: Callable[[Sequence[Item]], Sequence[Answer | None]],
        alone: Callable[[Item], Answer],
        *,
        gather_s: float = GATHER_S,
        longest_wait_s: float = LONGEST_WAIT_S,
        most_held_bytes: int = MOST_HELD_BYTES,
    ) -> None:
        self._together, self._alone = together, alone
        self._gather_s = gather_s
        self._longest_wait_s = longest_wait_s
        self._most_held_bytes = most_held_bytes
        self._held: Counter[Hashable] = Counter()
        self._inbox: SimpleQueue[_Ticket[Item, Answer]] = SimpleQueue()
        self._lock = Lock()
        self._thread: Thread | None = None
        self._others = ThreadPoolExecutor(_THREADS, thread_name_prefix="write")

    @contextmanager
    def room(self, owner: Hashable) -> Iterator[Room]:
        """For a body of this owner, until it is answered."""
        room = Room(self._held, owner, self._most_held_bytes)
        try:
            yield room
        finally:
            room.leave()

    async def run(self, function: Callable[[], Value]) -> Value:
        """Run what asks the database where that holds nobody up."""
        return await asyncio.get_running_loop().run_in_executor(self._others, function)

    async def answer(self, item: Item, *, size_bytes: int) -> Answer:
        """The answer to an item, once it is there; raises a `NotCommittedError` without one."""
        ticket = _Ticket[Item, Answer](item, size_bytes, asyncio.get_running_loop())
        is_large = size_bytes >= LARGE_BYTES
        if is_large:
            self._others.submit(self._answer_alone, ticket)
        else:
            self._ensure_thread()
            self._inbox.put(ticket)
        longest_s = LONGEST_LARGE_S if is_large else self._longest_wait_s
        try:
            return await asyncio.wait_for(ticket.answer, longest_s)
        except TimeoutError:
            raise CommitLostError("the samples waited too long to be stored") from None

    def _ensure_thread(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._store_for_ever, name="writes", daemon=True)
                self._thread.start()

    def _store_for_ever(self) -> None:
        came_together = 1
        while True:
            first = self._inbox.get()
            if came_together > 1:
                time.sleep(self._gather_s)
            tickets = self._gathered(first)
            came_together = len(tickets)
            # Those who waited too long have left.
            tickets = [ticket for ticket in tickets if not ticket.answer.done()]
            if tickets:
                self._answer_all(tickets)

    def _gathered(self, first: _Ticket[Item, Answer]) -> list[_Ticket[Item, Answer]]:
        found, size_bytes = [first], first.size_bytes
        while size_bytes < MOST_TOGETHER_BYTES:
            try:
                found.append(self._inbox.get_nowait())
            except Empty:
                break
            size_bytes += found[-1].size_bytes
        return found

    def _answer_all(self, tickets: Sequence[_Ticket[Item, Answer]]) -> None:
        answers: Sequence[Answer | Exception | None]
        try:
            answers = self._together([ticket.item for ticket in tickets])
        except BaseException:
            # It answers errors, too; so this is a fault of ours, and the next may be stored.
            log.exception("bodies were not stored")
            answers = [CommitLostError("the samples could not be stored") for _ in tickets]
        answered = []
        for ticket, answer in zip(tickets, answers, strict=True):
            if answer is None:
                self._others.submit(self._answer_alone, ticket)
            else:
                answered.append((ticket, answer))
        _tell(answered)

    def _answer_alone(self, ticket: _Ticket[Item, Answer]) -> None:
        if ticket.answer.done():
            return
        answer: Answer | Exception
        try:
            answer = self._alone(ticket.item)
        except BaseException:
            log.exception("a body was not stored")
            answer = CommitLostError("the samples could not be stored")
        _tell([(ticket, answer)])


class _Ticket(Generic[Item, Answer]):
    """An item that waits, and where its answer is expected."""

    __slots__ = ("answer", "item", "loop", "size_bytes")

    def __init__(self, item: Item, size_bytes: int, loop: AbstractEventLoop) -> None:
        self.item, self.size_bytes, self.loop = item, size_bytes, loop
        self.answer: Future[Answer] = loop.create_future()


def _tell(answered: Sequence[tuple[_Ticket[Item, Answer], Answer | Exception]]) -> None:
    """Wake the loop once for all of them."""
    if answered:
        # The server may have stopped meanwhile.
        with suppress(RuntimeError):
            answered[0][0].loop.call_soon_threadsafe(_resolve, answered)


def _resolve(answered: Sequence[tuple[_Ticket[Item, Answer], Answer | Exception]]) -> None:
    for ticket, answer in answered:
        if ticket.answer.done():
            continue
        if isinstance(answer, Exception):
            ticket.answer.set_exception(answer)
        else:
            ticket.answer.set_result(answer)
