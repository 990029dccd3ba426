"""A person's own page: their name, how pages are for them, and how they log in."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AbstractUser
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from accounts.errors import AccountsError
from accounts.models.profile import Profile, Theme
from accounts.services.profile import LONGEST_NAME, change_profile
from web.access import current_workspace
from web.page import render_page


@require_http_methods(["GET", "POST"])
@login_required
def profile(request: HttpRequest) -> HttpResponseBase:
    """Also of who is in no organisation, whose page has no navigation."""
    person = request.user
    assert isinstance(person, AbstractUser)
    if request.method == "POST":
        return _change(request, person)
    now = timezone.now()
    workspace = current_workspace(request, person)
    context: dict[str, Any] = {
        "profile": getattr(person, "profile", None) or Profile(user=person),
        "themes": Theme.values,
        "zones": sorted(available_timezones()),
        "longest_name": LONGEST_NAME,
        "is_connected": _is_connected(person),
    }
    if workspace is None:
        return render(request, "web/profile.html", context)
    return render_page(request, workspace, "web/profile.html", now=now, **context)


def _change(request: HttpRequest, person: AbstractUser) -> HttpResponseBase:
    try:
        change_profile(
            user=person,
            name=request.POST.get("name", "").strip(),
            time_zone=request.POST.get("time_zone", ""),
            theme=request.POST.get("theme", ""),
        )
    except AccountsError as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        messages.success(request, "Your profile is changed.")
    return redirect("profile")


def _is_connected(person: AbstractUser) -> bool:
    """Whether the person comes in by the company's login too."""
    provider = settings.OIDC
    if provider is None:
        return False
    found = SocialAccount.objects.filter(user_id=person.pk, provider=provider.issuer)
    return bool(found.exists())
