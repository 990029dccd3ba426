"""A test client whose requests pass the layer that answers writes, as those of a web server do."""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    Callable,
    Coroutine,
    Hashable,
    Iterator,
    MutableMapping,
    Sequence,
)
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.test import Client
from django.test.client import ClientHandler

from accounts.models import Scope
from accounts.remembered_tokens import RememberedTokens
from ingest.asgi import Receive, Send, ServerScope
from ingest.write_app import OWNER, Writes
from ingest.write_queue import MOST_HELD_BYTES, Room
from ingest.writer import Writer

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Value = TypeVar("Value")


class LayeredClient(Client):
    """Keeps its writer, and so what that remembers, from request to request."""

    def __init__(self) -> None:
        super().__init__(headers={"Host": "testserver"})
        self.layer = self.handler = _Layered(self.handler)


class _AtOnce(Generic[Item, Answer]):
    """A queue without threads: in the test's own transaction, which no other thread sees."""

    def __init__(
        self,
        together: Callable[[Sequence[Item]], Sequence[Answer | None]],
        alone: Callable[[Item], Answer],
    ) -> None:
        self._together, self._alone = together, alone

    @contextmanager
    def room(self, owner: Hashable) -> Iterator[Room]:
        yield Room(Counter(), owner, MOST_HELD_BYTES)

    async def run(self, function: Callable[[], Value]) -> Value:
        return function()

    async def answer(self, item: Item, *, size_bytes: int) -> Answer:
        (answer,) = self._together([item])
        return self._alone(item) if answer is None else answer


class _Layered:
    """Takes the place of the client's handler; `handed_on` counts what Django answered.

    `owner` is the organisation of the last of these, as the layer told it.
    """

    def __init__(self, django: ClientHandler) -> None:
        self._django = django
        self._writes = Writes(
            self._hand_on,
            writer=Writer(notes_by_itself=False),
            # However slow the machine, a token is remembered until the test is over.
            tokens=RememberedTokens(Scope.INGEST, remembered_s=3600),
            queue=_AtOnce,
        )
        self._environ: dict[str, Any] = {}
        self._answer = HttpResponse()
        self.handed_on = 0
        self.owner: object = None

    def __call__(self, environ: dict[str, Any]) -> HttpResponse:
        self._environ = environ
        answer = self._answer = HttpResponse()
        answer.wsgi_request = WSGIRequest(environ)  # type: ignore[attr-defined]
        body = environ["wsgi.input"]

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body.read(), "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                answer.status_code = message["status"]
                for name, value in message["headers"]:
                    answer[name.decode()] = value.decode()
            else:
                answer.content = message["body"]

        _finish(self._writes(_scope(environ), receive, send))
        return self._answer

    async def _hand_on(self, scope: ServerScope, _receive: Receive, _send: Send) -> None:
        self.handed_on += 1
        self.owner = scope.get(OWNER)
        self._answer = self._django(self._environ)


def _scope(environ: dict[str, Any]) -> dict[str, Any]:
    names = {name: name.removeprefix("HTTP_") for name in environ if name.startswith("HTTP_")}
    names |= {name: name for name in ("CONTENT_LENGTH", "CONTENT_TYPE") if environ.get(name)}
    return {
        "type": "http",
        "method": environ["REQUEST_METHOD"],
        "path": environ["PATH_INFO"],
        "query_string": environ.get("QUERY_STRING", "").encode(),
        "scheme": environ["wsgi.url_scheme"],
        "headers": [
            (short.replace("_", "-").lower().encode(), str(environ[name]).encode("latin-1"))
            for name, short in names.items()
        ],
    }


def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Run what waits for nothing, without an event loop: in one the database is not asked."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("the layer waited")
