"""Who may send samples is decided in the event loop, before anything of a body is read."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import parse_qsl

from django.conf import settings
from django.db import connection
from django.http import HttpResponse
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from accounts.authentication import tell_token
from accounts.json_answers import View, error_answer
from accounts.models import Token
from accounts.remembered_tokens import RememberedTokens
from ingest.asgi import Headers, ServerScope
from ingest.quotas.entry import admitted, may_be_short
from ingest.views import answers_telegraf, answers_those_who_drop_429

Value = TypeVar("Value")
Run = Callable[[Callable[[], Value]], Awaitable[Value]]

log = logging.getLogger(__name__)

WRITE_V1, WRITE_V2 = "/write", "/api/v2/write"
_ANSWERS: Mapping[str, Callable[[View], View]] = MappingProxyType(
    {
        WRITE_V2: answers_telegraf,
        WRITE_V1: answers_those_who_drop_429,
        "/api/v1/write": answers_those_who_drop_429,
        "/v1/metrics": answers_telegraf,
    }
)
SAMPLE_PATHS = tuple(_ANSWERS)
_MOST_ADDRESSES = 1000
"""So many of ours are remembered; a pattern may allow any number."""


class Admission:
    """Lets senders in by token and quota; `run` asks the database where that holds nobody up."""

    def __init__(self, tokens: RememberedTokens, run: Run[Token | HttpResponse | None]) -> None:
        self._tokens, self._run = tokens, run
        self._is_ours: set[str] = set()

    def is_plain(self, scope: ServerScope, headers: Headers) -> bool:
        """Whether none of Django's layers would have anything to say."""
        host = headers.get(b"host", b"").decode("latin-1")
        if host not in self._is_ours:
            domain, _ = split_domain_port(host)
            if not (domain and validate_host(domain, settings.ALLOWED_HOSTS)):
                return False
            if len(self._is_ours) < _MOST_ADDRESSES:
                self._is_ours.add(host)
        return scope["method"] == "POST" and _is_secure_enough(scope, headers)

    async def sender(self, scope: ServerScope, headers: Headers) -> Token | HttpResponse:
        """The token of who may send a body now, or why nothing of it is read."""
        path, authorization = scope["path"], _authorization(scope, headers)
        token = self._tokens.remembered(authorization, now=timezone.now())
        if token is None:
            found = await self._run(partial(self._authenticated, authorization, path))
            if not isinstance(found, Token):
                assert found is not None, "neither a token nor why there is none"
                return found
            token = found
        tell_token(token)
        if may_be_short(token.organisation):
            refusal = await self._run(partial(_over_quota, token, path))
            if refusal is not None:
                return refusal
        return token

    # --- In threads

    def _authenticated(self, authorization: str, path: str) -> Token | HttpResponse:
        close_old_connection()
        try:
            return self._tokens.authenticate(authorization, now=timezone.now())
        except Exception as error:  # noqa: BLE001  answered below, or by 500
            return refused(error, path)


def _over_quota(token: Token, path: str) -> HttpResponse | None:
    close_old_connection()
    try:
        admitted(token.organisation)
    except Exception as error:  # noqa: BLE001  answered, or by 500
        return refused(error, path)
    return None


def refused(error: Exception, path: str = WRITE_V2) -> HttpResponse:
    """The answer to a body of samples that is not stored, as senders at this path expect it."""
    try:
        return _RAISED[path](error)
    except Exception:
        log.exception("a body was not stored")
        return error_answer(500, "internal error", "nothing of this body is stored")


def _raise(error: Exception) -> HttpResponse:
    raise error


_RAISED = {path: answers(_raise) for path, answers in _ANSWERS.items()}


def _authorization(scope: ServerScope, headers: Headers) -> str:
    """The header, or the password in the address, which clients of InfluxDB 1 may send."""
    given = headers.get(b"authorization", b"").decode("latin-1")
    if given or scope["path"] != WRITE_V1:
        return given
    password = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("p", "")
    return f"Token {password}" if password else ""


def _is_secure_enough(scope: ServerScope, headers: Headers) -> bool:
    if not settings.SECURE_SSL_REDIRECT or scope.get("scheme") == "https":
        return True
    name, value = settings.SECURE_PROXY_SSL_HEADER or ("", "")
    header = name.removeprefix("HTTP_").replace("_", "-").lower().encode()
    return bool(name) and headers.get(header) == value.encode()


def close_old_connection() -> None:
    """As Django does between requests, and without asking the database whether it is there.

    A transaction around the request, as tests have one, keeps its connection.
    """
    if connection.in_atomic_block:
        return
    is_old = connection.close_at is not None and time.monotonic() >= connection.close_at
    if connection.connection is not None and (is_old or connection.errors_occurred):
        connection.close_if_unusable_or_obsolete()
