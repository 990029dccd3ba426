"""What keeps a page to its own scripts, styles and connections, and to the rows of who asks."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from accounts.actor import acting_from
from accounts.row_wall import look_as, walled
from web.client_address import client_address

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)


class ContentSecurityPolicyMiddleware:
    """Forbids inline scripts and styles and everything from other origins."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault(
            "Permissions-Policy", "camera=(), microphone=(), geolocation=()"
        )
        return response


class AddressMiddleware:
    """What a request does is done from its address, which the audit chain tells."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with acting_from(client_address(request)):
            return self.get_response(request)


class RowWallMiddleware:
    """Keeps a request to the rows of the person who asks; of a program, `authenticate` does.

    It stands behind that which finds the person, whose tables are of no organisation.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not settings.HAS_ROW_WALLS:
            return self.get_response(request)
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        user = request.user.pk if has_session else None
        with walled():
            if user is not None:
                look_as(user)
            return self.get_response(request)
