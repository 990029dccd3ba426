"""Tokens that were valid a moment ago, for those who are asked very often.

A token that is revoked, or whose scope is changed, is taken for so long as it is remembered.
"""

from __future__ import annotations

import time
from datetime import datetime
from threading import Lock

from accounts.authentication import authenticate, tell_token
from accounts.models import Scope, Token
from accounts.row_wall import look_at

REMEMBERED_S = 2.0
_MOST = 10_000


class RememberedTokens:
    """Authenticates as `accounts.authentication` does, and asks the database every two seconds."""

    def __init__(self, scope: Scope, *, remembered_s: float = REMEMBERED_S) -> None:
        self._scope, self._remembered_s = scope, remembered_s
        self._lock = Lock()
        self._known: dict[str, tuple[float, Token]] = {}

    def remembered(self, authorization: str, *, now: datetime) -> Token | None:
        """The token of an Authorization header, as far as nobody has to be asked."""
        until, token = self._known.get(authorization, (0.0, None))
        if token is None or until <= time.monotonic():
            return None
        is_over = token.expires_at is not None and token.expires_at <= now
        return None if is_over else token

    def authenticate(self, authorization: str, *, now: datetime) -> Token:
        """The token of an Authorization header; raises what says that there is none."""
        known = self.remembered(authorization, now=now)
        if known is not None:
            tell_token(known)
            look_at(known.organisation_id)
            return known
        token = authenticate(authorization, scope=self._scope, now=now)
        with self._lock:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[authorization] = time.monotonic() + self._remembered_s, token
        return token
