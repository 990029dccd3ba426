"""A WSGI layer that answers writes before Django's own layers, which cost more than a small write.

It authenticates before it reads the body. What it does not know to be in order, such as an address
that is not ours, it hands on, and Django answers as ever.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from http import HTTPStatus

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.http import HttpResponse
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from accounts.json_answers import error_answer
from accounts.models import Scope, Token
from accounts.remembered_tokens import RememberedTokens
from ingest.chunked_body import Application, Environ, StartResponse
from ingest.views import answer_write, answers_telegraf
from ingest.writer import Writer

log = logging.getLogger(__name__)

PATH = "/api/v2/write"
_MOST_ADDRESSES = 1000
"""So many of ours are remembered; a pattern may allow any number."""
_TOKEN = "sluice.token"  # noqa: S105  a key of the environment


class Writes:
    """Wraps the application: writes are answered here, all else there."""

    def __init__(
        self,
        application: Application,
        *,
        writer: Writer | None = None,
        tokens: RememberedTokens | None = None,
    ) -> None:
        self._application = application
        self._writer = writer or Writer()
        self._tokens = tokens or RememberedTokens(Scope.INGEST)
        self._is_ours: set[str] = set()
        self._good = HttpResponse()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request (PEP 3333)."""
        if environ.get("PATH_INFO") != PATH or not self._is_plain(environ):
            return self._application(environ, start_response)
        _close_old_connection()
        answer = self._authenticate(environ)
        if answer is self._good:
            answer = self._written(environ)
        return _send(answer, start_response)

    def _is_plain(self, environ: Environ) -> bool:
        """Whether none of Django's layers would have anything to say."""
        host = environ.get("HTTP_HOST", "")
        if host not in self._is_ours:
            domain, _ = split_domain_port(host)
            if not (domain and validate_host(domain, settings.ALLOWED_HOSTS)):
                return False
            if len(self._is_ours) < _MOST_ADDRESSES:
                self._is_ours.add(host)
        return environ.get("REQUEST_METHOD") == "POST" and _is_secure_enough(environ)

    @answers_telegraf
    def _authenticate(self, environ: Environ) -> HttpResponse:
        authorization = environ.get("HTTP_AUTHORIZATION", "")
        environ[_TOKEN] = self._tokens.authenticate(authorization, now=timezone.now())
        return self._good

    def _written(self, environ: Environ) -> HttpResponse:
        try:
            return self._stored(WSGIRequest(environ), environ[_TOKEN])
        except Exception:
            log.exception("a body was not stored")
            return error_answer(500, "internal error", "nothing of this body is stored")

    @answers_telegraf
    def _stored(self, request: WSGIRequest, token: Token) -> HttpResponse:
        return answer_write(request, token=token, store=self._writer.store)


def _is_secure_enough(environ: Environ) -> bool:
    if not settings.SECURE_SSL_REDIRECT or environ.get("wsgi.url_scheme") == "https":
        return True
    name, value = settings.SECURE_PROXY_SSL_HEADER or ("", "")
    return bool(name) and environ.get(name) == value


def _close_old_connection() -> None:
    """As Django does between requests, and without asking the database whether it is there.

    A transaction around the request, as tests have one, keeps its connection.
    """
    if connection.in_atomic_block:
        return
    is_old = connection.close_at is not None and time.monotonic() >= connection.close_at
    if connection.connection is not None and (is_old or connection.errors_occurred):
        connection.close_if_unusable_or_obsolete()


def _send(answer: HttpResponse, start_response: StartResponse) -> list[bytes]:
    start_response(
        f"{answer.status_code} {answer.reason_phrase}",
        [*answer.items(), ("Content-Length", str(len(answer.content)))]
        if answer.status_code != HTTPStatus.NO_CONTENT
        else list(answer.items()),
    )
    return [answer.content] if answer.content else []
