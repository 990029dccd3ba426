"""Runs a WSGI application in threads, which do not wait until the event loop takes an answer.

`a2wsgi` waits for the loop with each part of an answer: three times for a page of one piece. With
much to do that was most of the time that a thread had a request.
"""

from __future__ import annotations

from typing import Any

from a2wsgi.wsgi import WSGIMiddleware, WSGIResponder

AT_ONCE = 8
AT_ONCE_BYTES = 256 * 1024
"""So many parts of an answer are handed over without waiting; then the client's pace counts."""


class ThreadedAnswers(WSGIMiddleware):
    """`WSGIMiddleware` whose threads hand over the begin of an answer without waiting."""

    def __init__(self, app: Any, *, workers: int) -> None:
        # What is handed over at once and one more must have room.
        super().__init__(app, workers=workers, send_queue_size=AT_ONCE + 2)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request (ASGI 3)."""
        if scope["type"] != "http":
            return await super().__call__(scope, receive, send)
        answer = _Answer(self.app, self.executor, self.send_queue_size)
        return await answer(scope, receive, send)


class _Answer(WSGIResponder):
    _parts = 0
    _bytes = 0

    def send(self, message: Any) -> None:
        self._parts += 1
        self._bytes += len(message.get("body", b""))
        if self._parts > AT_ONCE or self._bytes > AT_ONCE_BYTES:
            super().send(message)
        else:
            # The loop runs what it is given in this order, so no part overtakes another.
            self.loop.call_soon_threadsafe(self.send_queue.put_nowait, message)
