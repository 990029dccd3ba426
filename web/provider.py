"""The provider at which people log in by OpenID Connect; django-allauth finds it by this file.

allauth speaks the protocol. Here it is made stricter: the token is always checked by its
signature, has to hold the nonce of this login, must expire, and comes from the issuer that is set.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
from allauth.socialaccount.models import SocialApp, SocialToken
from allauth.socialaccount.providers.base import ProviderException
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.http import HttpRequest
from django.urls import reverse

from accounts.oidc import OidcProvider

WELL_KNOWN = "/.well-known/openid-configuration"
KEPT_S = 300
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def social_app(provider: OidcProvider) -> SocialApp:
    """What allauth knows about the provider.

    The issuer is its name in the accounts of people, so another one's subjects are other people.
    """
    return SocialApp(
        provider=OpenIDConnectProvider.id,
        provider_id=provider.issuer,
        name=provider.name,
        client_id=provider.client_id,
        secret=provider.secret,
        settings={
            "server_url": provider.issuer.rstrip("/") + WELL_KNOWN,
            "scope": list(provider.scopes),
            "oauth_pkce_enabled": True,
        },
    )


@contextmanager
def believing_nothing() -> Iterator[None]:
    """Within, what the provider says is read; ProviderException if it makes no sense."""
    try:
        yield
    except ValidationError as error:
        # allauth's word for a token that does not hold, and for keys that cannot be had.
        cause = error.__cause__
        if isinstance(cause, requests.RequestException) and not isinstance(cause, ValueError):
            raise cause from None
        raise ProviderException(f"the token does not hold: {_deepest(error)}") from error
    except requests.JSONDecodeError as error:
        raise ProviderException(f"no JSON: {error}") from error
    except (AttributeError, ImproperlyConfigured, KeyError, TypeError, ValueError) as error:
        raise ProviderException(f"{type(error).__name__}: {error}") from error


def _deepest(error: BaseException) -> BaseException:
    """What an error came from in the first place."""
    return error if error.__cause__ is None else _deepest(error.__cause__)


def nonce_of(code_verifier: str) -> str:
    """The nonce of a login: as secret as its verifier, which stays in the session, and no part."""
    return hashlib.sha256(f"nonce {code_verifier}".encode()).hexdigest()


def _is_mail_verified(claims: dict[str, Any]) -> bool:
    return claims.get("email_verified") in (True, "true")


class CompanyAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth has no types
    """One exchange with the provider."""

    nonce: str | None = None

    @property
    def openid_config(self) -> dict[str, Any]:
        """What the provider says of itself; it is kept, as anybody may press the button."""
        key = "oidc-" + hashlib.sha256(self.provider_id.encode()).hexdigest()
        config: dict[str, Any] | None = cache.get(key)
        if config is None:
            with believing_nothing():
                config = super().openid_config
                self._check(config)
            cache.set(key, config, KEPT_S)
        return config

    def _check(self, config: dict[str, Any]) -> None:
        if config["issuer"] != self.provider_id:
            raise ProviderException(f"it calls itself {config['issuer']}")
        for endpoint in ENDPOINTS:
            if not config[endpoint].startswith(("https://", "http://")):
                raise ProviderException(f"its {endpoint} is no address")

    def get_callback_url(self, request: HttpRequest, _app: SocialApp) -> str:
        return request.build_absolute_uri(reverse("oidc-callback"))

    def get_access_token_data(
        self, request: HttpRequest, app: SocialApp, client: Any, pkce_code_verifier: str
    ) -> dict[str, Any]:
        self.nonce = nonce_of(pkce_code_verifier)
        try:
            with believing_nothing():
                data: dict[str, Any] = super().get_access_token_data(
                    request, app, client, pkce_code_verifier=pkce_code_verifier
                )
        except OAuth2Error as error:
            # It holds the whole answer, which may hold a token; the log gets the code alone.
            code = re.search(r'"error" ?: ?"(\w{1,40})"', str(error))
            raise ProviderException(f"no token: {code[1] if code else 'no reason'}") from None
        return data

    def parse_token(self, data: dict[str, Any]) -> SocialToken:
        with believing_nothing():
            return super().parse_token(data)

    def complete_login(
        self, request: HttpRequest, _app: SocialApp, _token: SocialToken, **said: Any
    ) -> Any:
        """The login by the signed token alone; what is said beside it is not signed."""
        with believing_nothing():
            login = self.get_provider().verify_token(request, said["response"])
            claims = login.account.extra_data
            if claims["nonce"] != self.nonce:
                raise ProviderException("the token is of another login")
            if not isinstance(claims["exp"], int | float):
                raise ProviderException("the token never expires")
        return login


class CompanyProvider(OpenIDConnectProvider):  # type: ignore[misc]  # allauth has no types
    """The provider of the settings."""

    oauth2_adapter_class = CompanyAdapter

    def get_login_url(self, _request: HttpRequest, **kwargs: Any) -> str:
        return reverse("oidc-login", query=kwargs or None)

    def get_pkce_params(self) -> dict[str, Any]:
        """With the nonce: that of a login has to come back in its token."""
        params: dict[str, Any] = super().get_pkce_params()
        return {**params, "nonce": nonce_of(params["code_verifier"])}

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        """Without a mail address that nobody has verified."""
        fields: dict[str, Any] = super().extract_common_fields(data)
        return fields if _is_mail_verified(data) else {**fields, "email": None}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[Any]:
        return list(super().extract_email_addresses(data)) if _is_mail_verified(data) else []


provider_classes = [CompanyProvider]
