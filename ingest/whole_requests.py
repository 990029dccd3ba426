"""An ASGI layer that gives a request to a thread once its body is there and a thread is free.

A thread reads a body as it comes, so eight slow senders would leave none for anybody else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, MutableMapping, Sequence
from dataclasses import dataclass, field
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
from ingest.slow_bodies import Pace
from ingest.turns import NoTurnError, Turns
from ingest.write_app import OWNER, send_answer
from ingest.write_queue import MOST_OF_ONE_RATIO

IN_MEMORY_BYTES = 64 * 1024
"""A longer body goes to a file; a shorter one always has room."""
ROOM_BYTES = 1024**3
"""For all longer bodies that a process keeps."""
_PART_BYTES = 256 * 1024


@dataclass(slots=True)
class Room:
    """What bodies in files take of a process, in bytes; of one organisation half at most."""

    most: int = ROOM_BYTES
    taken: int = 0
    of: Counter[Hashable] = field(default_factory=Counter)

    def has(self, size: int, owner: Hashable | None) -> bool:
        """Whether so much more can be kept."""
        of_owner = 0 if owner is None else self.of[owner] + size
        return self.taken + size <= self.most and of_owner <= self.most * MOST_OF_ONE_RATIO

    def take(self, size: int, owner: Hashable | None) -> None:
        """Keep so much more, or less if it is below 0."""
        self.taken += size
        if owner is not None:
            self.of[owner] += size
            if self.of[owner] <= 0:
                del self.of[owner]


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """Requests whose paths begin so wait for no others: they have threads and room of their own.

    `are_sent_again`: their senders drop what is answered 408, and keep what is answered 503.
    """

    begins: tuple[str, ...]
    threads: int
    longest_bytes: int
    room: Room
    are_sent_again: bool = False


class WholeRequests:
    """Wraps an application: it is called with a body that is complete."""

    def __init__(
        self,
        application: Application,
        *,
        longest_bytes: int,
        threads: int,
        out_of_turn: Collection[str] = (),
        apart: Sequence[Apart] = (),
        room: Room | None = None,
    ) -> None:
        """`longest_bytes`, `threads` and `room` are those of requests that are not `apart`.

        Those `out_of_turn` wait for none of the threads: the application has one more for them.
        """
        self._application = application
        self._out_of_turn = frozenset(out_of_turn)
        rest = Apart(
            begins=("",), threads=threads, longest_bytes=longest_bytes, room=room or Room()
        )
        self._kinds = [(kind, Turns(kind.threads)) for kind in (*apart, rest)]

    async def __call__(self, scope: ServerScope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI 3)."""
        if scope["type"] != "http":
            return await self._application(scope, receive, send)
        kind, turns = self._kind_of(scope["path"])
        try:
            first, more = await next_part(receive)
            if not more and scope["path"] in self._out_of_turn:
                return await self._application(scope, _Kept(first, None), send)
            if not more:
                async with turns.turn(receive):
                    return await self._application(scope, _Kept(first, None), send)
            with _Body(kind.room, scope.get(OWNER)) as body:
                await _fill(body, first, receive, longest_bytes=kind.longest_bytes)
                async with turns.turn(receive):
                    return await self._application(scope, _Kept(b"", body.file), send)
        except NoTurnError as error:
            return await _refuse(_busy(error), send)
        except SenderStandsStillError as error:
            status, code = (503, "unavailable") if kind.are_sent_again else (408, "timeout")
            return await _refuse(_Refused(status, code, str(error)), send)
        except _Refused as error:
            return await _refuse(error, send)
        except ClientGoneError:
            return None

    def _kind_of(self, path: str) -> tuple[Apart, Turns]:
        return next(one for one in self._kinds if path.startswith(one[0].begins))


async def _fill(body: _Body, part: bytes, receive: Receive, *, longest_bytes: int) -> None:
    pace, more = Pace(), True
    while True:
        body.add(part)
        if body.size > longest_bytes:
            raise _Refused(413, "too_large", f"a body has {longest_bytes} bytes at most")
        if not more:
            return body.rewind()
        pace.add(len(part))
        part, more = await next_part(receive)


async def _refuse(error: _Refused, send: Send) -> None:
    answer = error_answer(*error.args)
    # What is left of the body is for nobody.
    answer["Connection"] = "close"
    await send_answer(answer, send)


class _Refused(Exception):
    """Status, name and reason."""


def _busy(error: NoTurnError) -> _Refused:
    return _Refused(503, "busy", f"{error}; come again later")


class _Body:
    """A body while it comes; its file is gone afterwards."""

    def __init__(self, room: Room, owner: Hashable | None) -> None:
        self._room, self._owner, self._taken = room, owner, 0
        self.size = 0
        self.file: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115

    def __enter__(self) -> _Body:
        return self

    def __exit__(self, *_: object) -> None:
        self._room.take(-self._taken, self._owner)
        self.file.close()

    def add(self, part: bytes) -> None:
        """Keep one more part; raises `_Refused` where there is no room."""
        self.size += len(part)
        more = self.size - self._taken if self.size > IN_MEMORY_BYTES else 0
        if more and not self._room.has(more, self._owner):
            raise _Refused(503, "busy", "many long bodies come at once; come again later")
        self._room.take(more, self._owner)
        self._taken += more
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
