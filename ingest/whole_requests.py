"""An ASGI layer that gives a request to a thread once its body is there and a thread is free.

A thread reads a body as it comes, so eight slow senders would leave none for anybody else.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from accounts.json_answers import error_answer
from ingest.asgi import (
    Application,
    ClientGoneError,
    Receive,
    Send,
    SenderStandsStillError,
    ServerScope,
    next_part,
)
from ingest.turns import NoTurnError, Turns
from ingest.write_app import send_answer

IN_MEMORY_BYTES = 64 * 1024
"""A longer body goes to a file; a shorter one always has room."""
GRACE_S = 30.0
LEAST_BYTES_PER_S = 4096
"""On the mean, once the grace is over."""
ROOM_BYTES = 1024**3
"""For all longer bodies that a process keeps."""
_PART_BYTES = 256 * 1024


@dataclass(slots=True)
class Room:
    """What bodies in files take of a process, in bytes."""

    most: int = ROOM_BYTES
    taken: int = 0


class WholeRequests:
    """Wraps an application: it is called with a body that is complete."""

    def __init__(
        self,
        application: Application,
        *,
        longest_bytes: int,
        threads: int,
        as_they_come: Collection[str] = (),
        out_of_turn: Collection[str] = (),
        apart: Mapping[str, int] | None = None,
        room: Room | None = None,
    ) -> None:
        """At paths `as_they_come` who has no valid token is refused before a body is read.

        Those `out_of_turn` wait for none of the `threads`: the application has one more for them.
        Requests whose paths begin alike may be kept `apart`: they have so many threads of their
        own, and wait for these alone.
        """
        self._application = application
        self._as_they_come = frozenset(as_they_come)
        self._longest = longest_bytes
        self._room = room or Room()
        self._out_of_turn = frozenset(out_of_turn)
        self._turns = Turns(threads)
        self._apart = [(begin, Turns(own)) for begin, own in (apart or {}).items()]

    async def __call__(self, scope: ServerScope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI 3)."""
        if scope["type"] != "http":
            return await self._application(scope, receive, send)
        if scope["path"] in self._as_they_come:
            try:
                async with self._turns.turn():
                    return await self._application(scope, _parts(receive), send)
            except NoTurnError as error:
                return await _refuse(_busy(error), send)
        try:
            first, more = await next_part(receive)
            if not more and scope["path"] in self._out_of_turn:
                return await self._application(scope, _Kept(first, None), send)
            turns = self._turns_of(scope["path"])
            if not more:
                async with turns.turn(receive):
                    return await self._application(scope, _Kept(first, None), send)
            with _Body(self._room) as body:
                await self._fill(body, first, receive)
                async with turns.turn(receive):
                    return await self._application(scope, _Kept(b"", body.file), send)
        except NoTurnError as error:
            return await _refuse(_busy(error), send)
        except (_Refused, SenderStandsStillError) as error:
            return await _refuse(error, send)
        except ClientGoneError:
            return None

    def _turns_of(self, path: str) -> Turns:
        own = (turns for begin, turns in self._apart if path.startswith(begin))
        return next(own, self._turns)

    async def _fill(self, body: _Body, part: bytes, receive: Receive) -> None:
        began, more = time.monotonic(), True
        while True:
            body.add(part)
            if body.size > self._longest:
                raise _Refused(413, "too_large", f"a body has {self._longest} bytes at most")
            if not more:
                return body.rewind()
            took_s = time.monotonic() - began
            if took_s > GRACE_S and body.size < LEAST_BYTES_PER_S * took_s:
                raise _Refused(408, "timeout", "the body comes too slowly")
            part, more = await next_part(receive)


def _parts(receive: Receive) -> Receive:
    """A body that was cut off raises an error where it is read."""

    async def receive_part() -> MutableMapping[str, Any]:
        part, more = await next_part(receive)
        return {"type": "http.request", "body": part, "more_body": more}

    return receive_part


async def _refuse(error: Exception, send: Send) -> None:
    reason = error.args if isinstance(error, _Refused) else (408, "timeout", str(error))
    answer = error_answer(*reason)
    # What is left of the body is for nobody.
    answer["Connection"] = "close"
    await send_answer(answer, send)


class _Refused(Exception):
    """Status, name and reason."""


def _busy(error: NoTurnError) -> _Refused:
    return _Refused(503, "busy", f"{error}; come again later")


class _Body:
    """A body while it comes; its file is gone afterwards."""

    def __init__(self, room: Room) -> None:
        self._room, self._taken = room, 0
        self.size = 0
        self.file: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115

    def __enter__(self) -> _Body:
        return self

    def __exit__(self, *_: object) -> None:
        self._room.taken -= self._taken
        self.file.close()

    def add(self, part: bytes) -> None:
        """Keep one more part; raises `_Refused` where there is no room."""
        self.size += len(part)
        wanted = self.size if self.size > IN_MEMORY_BYTES else 0
        if self._room.taken - self._taken + wanted > self._room.most:
            raise _Refused(503, "busy", "many long bodies come at once; come again later")
        self._room.taken += wanted - self._taken
        self._taken = wanted
        try:
            self.file.write(part)
        except OSError as error:
            raise _Refused(503, "no_room", f"the body cannot be kept: {error.strerror}") from error

    def rewind(self) -> None:
        """All is there."""
        self.file.seek(0)


class _Kept:
    """`receive` of a body that is there."""

    def __init__(self, body: bytes, file: IO[bytes] | None) -> None:
        self._body, self._file = body, file
        self._ended = False

    async def __call__(self) -> MutableMapping[str, Any]:
        if self._ended:
            return {"type": "http.disconnect"}
        part = self._body if self._file is None else self._file.read(_PART_BYTES)
        self._ended = self._file is None or len(part) < _PART_BYTES
        return {"type": "http.request", "body": part, "more_body": not self._ended}
