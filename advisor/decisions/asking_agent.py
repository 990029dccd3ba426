"""Whose agent asks, by one statement: a thousand of them ask each ten seconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db.models import Model

from accounts.authentication import ForbiddenError, authenticate
from accounts.models import Scope, Token
from accounts.models.token import token_digest
from accounts.row_wall import look_at, show_secret
from advisor.models import AgentKey, Enforcer
from ingest.binary_cursor import prepared_cursor
from ingest.models import Host

Row = TypeVar("Row", bound=Model)

NO_HOST = "the token is bound to no enrolled host; enrol it: sluice enroll"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingAgent:
    """The host of the agent, with its `enforcer`, and the keys that came with its token.

    `key` is None for an agent from before there were any.
    """

    host: Host
    key: AgentKey | None


class _Columns(Generic[Row]):
    """The columns of a model within a statement of several; others are read when asked for."""

    def __init__(self, model: type[Row], alias: str, *names: str) -> None:
        fields = model._meta.concrete_fields  # noqa: SLF001  (Django's name)
        chosen = [field for field in fields if not names or field.attname in names]
        self._model, self._names = model, [field.attname for field in chosen]
        self.sql = ", ".join(f"{alias}.{field.column}" for field in chosen)

    def read(self, values: list[Any]) -> Row | None:
        """Takes its part from the front; None where the statement found no row."""
        own, values[:] = values[: len(self._names)], values[len(self._names) :]
        return None if own[0] is None else self._model.from_db("default", self._names, own)


_TOKEN = _Columns(Token, "token")
_HOST = _Columns(Host, "host")
_ENFORCER = _Columns(Enforcer, "enforcer", "id", "host_id", "lease_s", "dry_run")
_KEY = _Columns(AgentKey, "key")
# As `Token.objects.valid` asks, with what hangs on the token.
_ASK = f"""
    SELECT {_TOKEN.sql}, {_HOST.sql}, {_ENFORCER.sql}, {_KEY.sql}
      FROM accounts_token AS token
      LEFT JOIN ingest_host AS host ON host.id = token.host_id
      LEFT JOIN advisor_enforcer AS enforcer ON enforcer.host_id = host.id
      LEFT JOIN advisor_agentkey AS key ON key.token_id = token.id
     WHERE token.digest = %s AND token.revoked_at IS NULL
       AND (token.expires_at IS NULL OR token.expires_at > %s)
"""  # noqa: S608


_organisations: dict[str, int] = {}
"""Of tokens, by their digests. A token never changes its organisation; whether it is valid, the
database is asked each time."""
_MOST_REMEMBERED = 20_000


def _show(digest: str) -> None:
    """Whose rows are looked at. An organisation needs no statement where it was the last one."""
    if (organisation := _organisations.get(digest)) is not None:
        look_at(organisation)
    else:
        show_secret(digest)


def _remember(digest: str, token: Token) -> None:
    if len(_organisations) >= _MOST_REMEMBERED:
        _organisations.clear()
    _organisations[digest] = token.organisation_id


def asking_agent(authorization: str, *, now: datetime) -> AskingAgent:
    """Who asks with this Authorization header; it can speak for no other host.

    Raises AuthenticationError or ForbiddenError for a token that is none of an agent's.
    """
    found: AskingAgent | None = None

    def look(secret: str, *, now: datetime) -> Token | None:
        nonlocal found
        digest = token_digest(secret)
        _show(digest)
        with prepared_cursor() as cursor:
            cursor.execute(_ASK, [digest, now])
            row = cursor.fetchone()
        if row is None:
            return None
        values = list(row)
        token, host = _TOKEN.read(values), _HOST.read(values)
        enforcer, key = _ENFORCER.read(values), _KEY.read(values)
        if token is not None and host is not None and enforcer is not None:
            host.enforcer = enforcer
            if key is not None:
                key.host = host
            found = AskingAgent(host=host, key=key)
            _remember(digest, token)
        return token

    authenticate(authorization, scope=Scope.ENFORCE, now=now, find=look)
    if found is None:
        raise ForbiddenError(NO_HOST)
    return found
