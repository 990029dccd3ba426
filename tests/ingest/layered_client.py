"""A test client whose requests pass the layer that answers writes, as those of a web server do."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.test import Client
from django.test.client import ClientHandler

from accounts.models import Scope
from accounts.remembered_tokens import RememberedTokens
from ingest.chunked_body import StartResponse
from ingest.write_app import Writes
from ingest.writer import Writer


class LayeredClient(Client):
    """Keeps its writer, and so what that remembers, from request to request."""

    def __init__(self) -> None:
        super().__init__(headers={"Host": "testserver"})
        self.layer = self.handler = _Layered(self.handler)


class _Layered:
    """Takes the place of the client's handler; `handed_on` counts what Django answered."""

    def __init__(self, django: ClientHandler) -> None:
        self._django = django
        self._writes = Writes(
            self._hand_on,
            writer=Writer(notes_by_itself=False),
            # However slow the machine, a token is remembered until the test is over.
            tokens=RememberedTokens(Scope.INGEST, remembered_s=3600),
        )
        self._answer = HttpResponse()
        self.handed_on = 0

    def __call__(self, environ: dict[str, Any]) -> HttpResponse:
        environ["wsgi.input"] = BytesIO(environ["wsgi.input"].read())
        answer = self._answer = HttpResponse()
        answer.wsgi_request = WSGIRequest(environ)  # type: ignore[attr-defined]

        def start(status: str, headers: list[tuple[str, str]]) -> None:
            answer.status_code, answer.reason_phrase = int(status[:3]), status[4:]
            for name, value in headers:
                answer[name] = value

        content = b"".join(self._writes(environ, start))
        if self._answer is answer:
            answer.content = content
        return self._answer

    def _hand_on(self, environ: dict[str, Any], _start: StartResponse) -> list[bytes]:
        self.handed_on += 1
        self._answer = self._django(environ)
        return []
