"""The provider at which people of a company log in, for what is there only if it is set."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404

from accounts.oidc import OidcProvider


def company() -> OidcProvider:
    """The provider of the settings; Http404 without one."""
    provider: OidcProvider | None = settings.OIDC
    if provider is None:
        raise Http404("there is no company login here")
    return provider
