"""The page behind the link of an invitation."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.errors import AccountsError
from accounts.row_wall import lifted
from accounts.services.invitations import accept, open_invitation
from web.access import SESSION_KEY
from web.account_adapter import INVITATION_KEY


@never_cache
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, secret: str) -> HttpResponseBase:
    """Tell what the link opens; its form lets in who is logged in."""
    try:
        # Who is invited is of no organisation that the database would show.
        with lifted():
            found = open_invitation(secret, now=timezone.now())
            if request.method == "POST" and request.user.is_authenticated:
                return _let_in(request, secret)
    except AccountsError as error:
        return render(request, "web/invitation.html", {"refusal": error}, status=410)
    if not request.user.is_authenticated:
        # Opens the sign-up for this person alone.
        request.session[INVITATION_KEY] = secret
    return render(request, "web/invitation.html", {"invitation": found})


def _let_in(request: HttpRequest, secret: str) -> HttpResponseBase:
    assert request.user.is_authenticated
    membership = accept(secret=secret, user=request.user, now=timezone.now())
    request.session.pop(INVITATION_KEY, None)
    request.session[SESSION_KEY] = membership.organisation_id
    messages.success(
        request, f"You are {membership.role} of {membership.organisation.name} from now on."
    )
    return redirect("overview")
