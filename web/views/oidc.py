"""To the company's login and back."""

from __future__ import annotations

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.providers.base import ProviderException
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods
from requests import RequestException

from web.company import company
from web.provider import CompanyAdapter


@never_cache
@require_http_methods(["GET", "POST"])
def start(request: HttpRequest) -> HttpResponse:
    """Send a browser to the provider, if its person pressed the button here."""
    if request.method == "GET":
        # Who follows a link to here was perhaps sent by somebody else.
        company()
        return redirect("login")
    answer = _asked(request, OAuth2LoginView)
    if not isinstance(answer, HttpResponseRedirect):
        return answer
    # A form of ours may lead to no other origin, so the browser goes there from a page.
    return render(request, "web/to_the_provider.html", {"place": answer.url})


@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """Where the provider sends a browser back to."""
    return _asked(request, OAuth2CallbackView)


def _asked(request: HttpRequest, view: type[OAuth2LoginView | OAuth2CallbackView]) -> HttpResponse:
    issuer = company().issuer
    adapter = CompanyAdapter(request, issuer)
    try:
        answer: HttpResponse = view.adapter_view(adapter)(request)
    except (OAuth2Error, ProviderException, RequestException) as error:
        provider = get_adapter(request).get_provider(request, issuer)
        answer = render_authentication_error(request, provider, exception=error)
    return answer
