"""What this product decides where django-allauth asks about logins at a provider."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.internal.userkit import filter_users_by_email
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base import AuthError, AuthProcess
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.urls import reverse
from requests import RequestException

from accounts.services.group_roles import roles_by_organisation
from web.bounded_requests import BoundedSession
from web.company import company
from web.groups_at_login import groups_of, is_in_by_groups
from web.login_refusals import Refusal, refusal_page
from web.provider import social_app

LONGEST_REASON = 300
log = logging.getLogger(__name__)


class SocialAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """One provider, that of the settings; who comes from it is matched by its subject alone."""

    def list_apps(
        self,
        request: HttpRequest,  # noqa: ARG002  allauth names it
        provider: str | None = None,
        client_id: str | None = None,  # noqa: ARG002  allauth names it
    ) -> list[SocialApp]:
        oidc = settings.OIDC
        if oidc is None or provider not in (None, oidc.issuer, "openid_connect"):
            return []
        return [social_app(oidc)]

    def get_requests_session(self) -> BoundedSession:
        return BoundedSession()

    def get_connect_redirect_url(self, *_: Any) -> str:
        return reverse("profile")

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Turn away who would not know afterwards why they see nothing."""
        if sociallogin.state.get("process") == AuthProcess.CONNECT:
            return
        refusal = self._refusal(request, sociallogin)
        if refusal is not None:
            raise ImmediateHttpResponse(refusal_page(request, refusal))

    def _refusal(self, request: HttpRequest, sociallogin: SocialLogin) -> Refusal | None:
        if sociallogin.is_existing:
            is_mute = bool(company().roles) and groups_of(sociallogin) is None
            return Refusal.NO_GROUPS if is_mute and is_in_by_groups(sociallogin.user) else None
        if not self.is_open_for_signup(request, sociallogin):
            return Refusal.OPENS_NOTHING
        if any(filter_users_by_email(one.email) for one in sociallogin.email_addresses):
            return Refusal.MAIL_TAKEN
        return None

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """A group that has a role opens; so do what opens the sign-up, and an invitation."""
        if roles_by_organisation(company().roles, groups_of(sociallogin) or ()):
            return True
        return bool(super().is_open_for_signup(request, sociallogin))

    def save_user(
        self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None
    ) -> AbstractBaseUser:
        """Whole or not at all: of two logins at once one makes the person."""
        try:
            with transaction.atomic():
                person: AbstractBaseUser = super().save_user(request, sociallogin, form)
        except IntegrityError as error:
            raise ImmediateHttpResponse(refusal_page(request, Refusal.OVER)) from error
        return person

    def on_authentication_error(
        self,
        request: HttpRequest,
        _provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        **_: Any,
    ) -> None:
        refusal = _why(request, error, exception)
        log.warning(
            "no login by the provider",
            extra={
                "refusal": refusal.value,
                "reason": str(exception or request.GET.get("error"))[:LONGEST_REASON],
            },
        )
        raise ImmediateHttpResponse(refusal_page(request, refusal))


def _why(request: HttpRequest, error: Any, exception: Exception | None) -> Refusal:
    if error == AuthError.CANCELLED:
        return Refusal.CANCELLED
    if isinstance(exception, RequestException):
        return Refusal.NO_ANSWER
    if exception is not None:
        return Refusal.NOT_BELIEVED
    return Refusal.PROVIDER_REFUSED if "error" in request.GET else Refusal.OVER
