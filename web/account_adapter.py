"""What this product decides where django-allauth asks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from accounts.errors import InvitationRefused
from accounts.row_wall import lifted
from accounts.services.invitations import open_invitation
from web.client_address import client_address
from web.company import company
from web.groups_at_login import is_in_by_groups, settle_roles
from web.login_refusals import Refusal, refusal_page

INVITATION_KEY = "invitation"
"""In the session of who is not logged in: the secret of the link by which they came."""

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

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return bool(settings.SIGN_UP_OPEN) or _is_invited(request)

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request) or NO_ADDRESS

    def pre_login(
        self, request: HttpRequest, user: AbstractBaseUser, **said: Any
    ) -> HttpResponse | None:
        answer: HttpResponse | None = super().pre_login(request, user, **said)
        login = _social_login(said)
        if answer is not None:
            return answer
        if login is not None:
            settle_roles(user, login)
        elif settings.OIDC is not None and is_in_by_groups(user):
            return refusal_page(request, Refusal.AT_THE_PROVIDER)
        return None

    def post_login(
        self, request: HttpRequest, user: AbstractBaseUser, **said: Any
    ) -> HttpResponse:
        if _social_login(said) is not None:
            request.session.set_expiry(timezone.now() + timedelta(hours=company().session_hours))
        answer: HttpResponse = super().post_login(request, user, **said)
        return answer


def _social_login(said: dict[str, Any]) -> SocialLogin | None:
    """The login at the provider by which somebody comes in; None by any other way."""
    return (said["signal_kwargs"] or {}).get("sociallogin")


def _is_invited(request: HttpRequest) -> bool:
    """Whether this browser came by a link that still lets somebody in."""
    secret = request.session.get(INVITATION_KEY)
    if secret is None:
        return False
    try:
        with lifted():
            open_invitation(secret, now=timezone.now())
    except InvitationRefused:
        return False
    return True
