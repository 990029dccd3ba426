"""Sessions end when their person has opened nothing for a while."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponseBase

SEEN_KEY = "seen_s"
NOTE_EVERY_S = 300
"""So often at most it is written down that a person is there."""


class IdleSessionMiddleware:
    """Logs out who was idle too long. A page that updates itself is nobody's doing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        limit_s = settings.SESSION_IDLE_HOURS * 3600
        if limit_s and settings.SESSION_COOKIE_NAME in request.COOKIES:
            _check(request, limit_s)
        return self.get_response(request)


def _check(request: HttpRequest, limit_s: int) -> None:
    if not request.user.is_authenticated:
        return
    now_s = int(time.time())
    seen_s = request.session.get(SEEN_KEY, now_s - NOTE_EVERY_S)
    if now_s - seen_s >= limit_s:
        logout(request)
    elif now_s - seen_s >= NOTE_EVERY_S and not _updates_itself(request):
        request.session[SEEN_KEY] = now_s


def note_login(request: HttpRequest, **_: object) -> None:
    """Called by Django's signal: who logs in is there."""
    request.session[SEEN_KEY] = int(time.time())


def _updates_itself(request: HttpRequest) -> bool:
    return "HX-Request" in request.headers or request.path.startswith("/api/")
