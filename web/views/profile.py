"""A person's own page: their name, how pages are for them, and how they log in."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from zoneinfo import available_timezones

from allauth.core.exceptions import ReauthenticationRequired
from allauth.socialaccount.forms import DisconnectForm
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AbstractUser
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from accounts.errors import AccountsError
from accounts.models.profile import Profile, Theme
from accounts.services.profile import LONGEST_NAME, change_profile
from web.access import current_workspace
from web.company import company
from web.groups_at_login import is_in_by_groups
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
        "is_connected": _connected(person) is not None,
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


@require_POST
@login_required
def disconnect(request: HttpRequest) -> HttpResponseBase:
    """Let the company's login open this person's account no more, but never as the last way in."""
    person = request.user
    assert isinstance(person, AbstractUser)
    account = _connected(person)
    if account is None:
        raise Http404("no login of a company is connected")
    if is_in_by_groups(person):
        name = company().name
        messages.error(
            request, f"You have a role by your groups at {name}, so you log in there alone."
        )
        return redirect("profile")
    form = DisconnectForm({"account": account.pk}, request=request)
    if not form.is_valid():
        messages.error(request, "It is your only way in: set a password first.")
        return redirect("profile")
    try:
        form.save()
    except ReauthenticationRequired:
        messages.info(request, "Then press the button once more.")
        place = f"{reverse('account_reauthenticate')}?{urlencode({'next': reverse('profile')})}"
        return redirect(place)
    return redirect("profile")


def _connected(person: AbstractUser) -> SocialAccount | None:
    """The company's login by which the person comes in too; None without one."""
    provider = settings.OIDC
    if provider is None:
        return None
    return SocialAccount.objects.filter(user_id=person.pk, provider=provider.issuer).first()
