"""Pages of people who are logged in read the replica; whoever changes something is noted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from web.replica.own_changes import note_change
from web.replica.reads import read_for

View = Callable[..., HttpResponseBase]

READS = ("GET", "HEAD")
CHANGES_NOTHING = (*READS, "OPTIONS", "TRACE")
PAGES, CHARTS = "web.views.", "web.api.charts"
"""Views that read. The API has a door of its own; agents and probes ask the primary."""
OF_THE_PRIMARY = frozenset(
    f"{PAGES}{name}" for name in ("audit", "health", "invitation", "join", "oidc", "sessions")
)
"""Views of logins, of whether the primary is well, and of the chain that it alone can lock."""


class ReplicaMiddleware:
    """It stands behind all that finds the person and their wall, which ask the primary."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        person = None if request.method in CHANGES_NOTHING else _person(request)
        if person is not None:
            note_change(person)
        return response

    def process_view(
        self, request: HttpRequest, view: View, words: Sequence[Any], names: Mapping[str, Any]
    ) -> HttpResponseBase | None:
        """Answer a page that may be read on the replica; None leaves it to Django."""
        person = _person(request) if request.method in READS and _is_page(view) else None
        if person is None:
            return None
        return read_for(person, partial(view, request, *words, **names))


def _person(request: HttpRequest) -> int | None:
    """Who is logged in; whoever has no session is not looked for."""
    has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
    return request.user.pk if has_session else None


def _is_page(view: View) -> bool:
    module = view.__module__
    return module.startswith((PAGES, CHARTS)) and module not in OF_THE_PRIMARY
