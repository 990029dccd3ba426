"""An organisation of one's own, for who is in none yet."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts.errors import AccountsError, NotAllowed
from accounts.row_wall import lifted
from accounts.services.organisation import open_organisation
from web.access import SESSION_KEY


@require_POST
@login_required
def open_one(request: HttpRequest) -> HttpResponseBase:
    """Make the person who asks the owner of a new organisation."""
    assert request.user.is_authenticated
    try:
        if not settings.NEW_ORGANISATIONS_OPEN:
            raise NotAllowed("here nobody opens an organisation by themselves; ask an admin")
        # What is made is of no organisation yet that the database would show.
        with lifted():
            made = open_organisation(
                name=request.POST.get("name", ""), user=request.user, now=timezone.now()
            )
    except AccountsError as error:
        messages.error(request, f"Nothing was made: {error}.")
    else:
        request.session[SESSION_KEY] = made.pk
        messages.success(request, f"You are the owner of {made.name}.")
    return redirect("overview")
