"""What an installation offers to people who are not logged in."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest


def switches(request: HttpRequest) -> dict[str, dict[str, bool]]:  # noqa: ARG001  Django names it
    """For every template: whether people may sign up, and whether mail can be sent."""
    return {"switches": {"sign_up_open": settings.SIGN_UP_OPEN, "has_mail": settings.HAS_MAIL}}
