"""Requests wait for a thread in the event loop, where one whose sender has gone loses its place.

In a thread pool's own queue it would keep it. Whoever sends with a deadline and again after it,
as agents do, would then find the threads busy with questions that nobody waits for any more: once
the queue is longer than the deadline, no answer arrives in time, however fast the threads are.

While the first of the queue has waited for long, the newest one is next: the others may be near
their deadlines, and a thread that ends after it has worked for nobody. So a queue that grew long
for a moment does not stay long (Maurer, "Fail at Scale", ACM Queue 13(8), 2015: adaptive LIFO).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from ingest.asgi import ClientGoneError, Receive

LONGEST_WAIT_S = 30.0
LONG_WAIT_S = 5.0
"""Agents give up after 10 s. A queue that is shorter ends by itself, and nobody is left out."""


class NoTurnError(Exception):
    """It took too long until a thread was free."""


class Turns:
    """So many at once: in the order in which they came, or while that takes long the newest."""

    def __init__(
        self,
        at_once: int,
        *,
        longest_wait_s: float = LONGEST_WAIT_S,
        long_wait_s: float = LONG_WAIT_S,
    ) -> None:
        self._free = at_once
        self._longest_wait_s, self._long_wait_s = longest_wait_s, long_wait_s
        # In the order in which they came, and since when they wait.
        self._waiting: OrderedDict[asyncio.Future[None], float] = OrderedDict()

    @asynccontextmanager
    async def turn(self, receive: Receive | None = None) -> AsyncIterator[None]:
        """Within it one has a thread.

        `receive` is that of a request whose body is there, so it can only tell that its sender is
        gone: then ClientGoneError is raised. Raises NoTurnError after the longest wait.
        """
        if self._free:
            self._free -= 1
        else:
            await self._wait(receive)
        try:
            yield
        finally:
            self._give_on()

    async def _wait(self, receive: Receive | None) -> None:
        loop = asyncio.get_running_loop()
        has_turn: asyncio.Future[None] = loop.create_future()
        self._waiting[has_turn] = loop.time()
        watched: set[asyncio.Future[Any]] = {has_turn}
        if receive is not None:
            watched.add(is_gone := asyncio.ensure_future(receive()))
        try:
            done, _ = await asyncio.wait(
                watched, timeout=self._longest_wait_s, return_when=asyncio.FIRST_COMPLETED
            )
            await _end(watched - {has_turn})
        except asyncio.CancelledError:
            self._leave(has_turn)
            await _end(watched)
            raise
        if done == {has_turn}:
            return
        self._leave(has_turn)
        if done:
            await is_gone
            raise ClientGoneError("the sender is gone")
        raise NoTurnError(f"no thread was free for {self._longest_wait_s:g} s")

    def _leave(self, place: asyncio.Future[None]) -> None:
        if self._waiting.pop(place, None) is None:
            # It had its turn in this moment.
            self._give_on()

    def _give_on(self) -> None:
        if not self._waiting:
            self._free += 1
            return
        first_s = next(iter(self._waiting.values()))
        is_long = asyncio.get_running_loop().time() - first_s > self._long_wait_s
        place, _ = self._waiting.popitem(last=is_long)
        place.set_result(None)


async def _end(futures: set[asyncio.Future[Any]]) -> None:
    for future in futures:
        future.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await future
