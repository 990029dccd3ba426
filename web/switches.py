"""What an installation offers to people who are not logged in, or in no organisation."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def switches(request: HttpRequest) -> dict[str, dict[str, Any]]:  # noqa: ARG001  Django names it
    """For every template: who may come in, by which ways, and whether mail can be sent."""
    return {
        "switches": {
            "sign_up_open": settings.SIGN_UP_OPEN,
            "new_organisations_open": settings.NEW_ORGANISATIONS_OPEN,
            "has_mail": settings.HAS_MAIL,
            "oidc_name": settings.OIDC and settings.OIDC.name,
        }
    }
