"""What this product decides where django-allauth asks."""

from __future__ import annotations

from typing import ClassVar

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.http import HttpRequest

from web.client_address import client_address

NO_ADDRESS = "::"
"""Stands for an address that is not known, as over a Unix socket; such requests count together."""
WRONG = "Incorrect username or password. Both are case-sensitive."


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Sign-up by a switch; the address of who asks as everywhere in the product."""

    error_messages: ClassVar[dict[str, str]] = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": WRONG,
        "email_password_mismatch": WRONG,
        "too_many_login_attempts": "Too many wrong passwords. Wait five minutes, then try again.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002  allauth names it
        return bool(settings.SIGN_UP_OPEN)

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request) or NO_ADDRESS
