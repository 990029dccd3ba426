"""How slowly a body may come, and how many slow ones of a sender at a time.

A slow body costs a socket and room for what came of it, so it may be slow, but not for ever.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from ingest.asgi import Receive, SenderStandsStillError

GRACE_S = 30.0
LEAST_BYTES_PER_S = 4096
"""On the mean, once the grace is over."""
LONGEST_S = 600.0
"""For samples, whatever comes meanwhile: 32 MiB in that time take 0.45 Mbit/s."""
SLOW_AFTER_S = 5.0
"""Most bodies come in milliseconds, also where a thousand hosts begin with one at a time."""
MOST_SLOW_OF_ONE = 64


class SenderTooSlowError(SenderStandsStillError):
    """Its body comes, and would take too long."""


class TooManySlowError(SenderStandsStillError):
    """More slow bodies of one sender than may be."""


class Pace:
    """How fast one body comes."""

    def __init__(self, longest_s: float = float("inf")) -> None:
        self._began_s, self._longest_s = time.monotonic(), longest_s
        self._came_bytes = 0

    def add(self, size_bytes: int) -> float:
        """So much more came, and it was not the end: the seconds since the begin.

        Raises SenderTooSlowError.
        """
        self._came_bytes += size_bytes
        took_s = time.monotonic() - self._began_s
        is_slow = took_s > GRACE_S and self._came_bytes < LEAST_BYTES_PER_S * took_s
        if is_slow or took_s > self._longest_s:
            raise SenderTooSlowError("the body comes too slowly")
        return took_s


class SlowBodies:
    """Those of one event loop, counted by whose they are."""

    def __init__(self, most_of_one: int = MOST_SLOW_OF_ONE) -> None:
        self.most_of_one = most_of_one
        self.of: Counter[Hashable] = Counter()

    @contextmanager
    def watched(self, owner: Hashable, receive: Receive) -> Iterator[Receive]:
        """`receive` for the body of samples of this owner.

        It raises SenderTooSlowError, or TooManySlowError.
        """
        body = _Watched(self, owner, receive)
        try:
            yield body
        finally:
            body.leave()


class _Watched:
    def __init__(self, all_slow: SlowBodies, owner: Hashable, receive: Receive) -> None:
        self._all, self._owner, self._receive = all_slow, owner, receive
        self._pace = Pace(LONGEST_S)
        self._is_counted = False

    async def __call__(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        if not message.get("more_body", False):
            self.leave()
            return message
        took_s = self._pace.add(len(message.get("body", b"")))
        if took_s > SLOW_AFTER_S and not self._is_counted:
            self._come()
        return message

    def _come(self) -> None:
        most = self._all.most_of_one
        if self._all.of[self._owner] >= most:
            raise TooManySlowError(f"{most} slow bodies of this token come at once")
        self._all.of[self._owner] += 1
        self._is_counted = True

    def leave(self) -> None:
        """It is here, or will not be."""
        if self._is_counted:
            self._is_counted = False
            self._all.of[self._owner] -= 1
            if not self._all.of[self._owner]:
                del self._all.of[self._owner]
