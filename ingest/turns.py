"""Requests wait for a thread in the event loop, where one whose sender has gone loses its place.

In a thread pool's own queue it would keep it. Whoever sends with a deadline and again after it,
as agents do, would then find the threads busy with questions that nobody waits for any more: once
the queue is longer than the deadline, no answer arrives in time, however fast the threads are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from ingest.asgi import ClientGoneError, Receive

LONGEST_WAIT_S = 30.0


class NoTurnError(Exception):
    """It took too long until a thread was free."""


class Turns:
    """So many at once, in the order in which they came."""

    def __init__(self, at_once: int, *, longest_wait_s: float = LONGEST_WAIT_S) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._longest_wait_s = longest_wait_s

    @asynccontextmanager
    async def turn(self, receive: Receive | None = None) -> AsyncIterator[None]:
        """Within it one has a thread.

        `receive` is that of a request whose body is there, so it can only tell that its sender is
        gone: then ClientGoneError is raised. Raises NoTurnError after the longest wait.
        """
        if self._free.locked():
            await self._wait(receive)
        else:
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()

    async def _wait(self, receive: Receive | None) -> None:
        has_turn = asyncio.ensure_future(self._free.acquire())
        watched: set[asyncio.Future[Any]] = {has_turn}
        if receive is not None:
            watched.add(is_gone := asyncio.ensure_future(receive()))
        try:
            done, _ = await asyncio.wait(
                watched, timeout=self._longest_wait_s, return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            await self._give_up(watched, has_turn)
            raise
        if done == {has_turn}:
            await _end(watched - {has_turn})
            return
        await self._give_up(watched, has_turn)
        if done:
            await is_gone
            raise ClientGoneError("the sender is gone")
        raise NoTurnError(f"no thread was free for {self._longest_wait_s:g} s")

    async def _give_up(
        self, watched: set[asyncio.Future[Any]], has_turn: asyncio.Future[Any]
    ) -> None:
        await _end(watched)
        if not has_turn.cancelled() and has_turn.exception() is None:
            self._free.release()


async def _end(futures: set[asyncio.Future[Any]]) -> None:
    for future in futures:
        future.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await future
