"""Signing in and out, and changing the organisation that is looked at."""

from __future__ import annotations

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from web.access import SESSION_KEY, Workspace, workspace_view


class SignInForm(AuthenticationForm):
    """Django's form; a failure says what to do next."""

    error_messages = {  # noqa: RUF012 - Django declares it, of the instance
        "invalid_login": "Incorrect username or password. Both are case-sensitive.",
        "inactive": "This account is switched off; ask an admin.",
    }


class SignInView(LoginView):
    template_name = "web/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True


class SignOutView(LogoutView):
    next_page = "login"


@require_POST
@workspace_view
def choose_organisation(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Look at another of one's organisations from now on."""
    chosen = request.POST.get("organisation", "")
    target = workspace.at(int(chosen) if chosen.isdecimal() else 0)
    request.session[SESSION_KEY] = target.membership.organisation_id
    return redirect("overview")
