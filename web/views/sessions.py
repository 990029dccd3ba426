"""Where a person is logged in, and ending one of those sessions."""

from __future__ import annotations

from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST


@require_POST
@login_required
def end_session(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Log one of one's own browsers out."""
    get_object_or_404(UserSession, pk=pk, user_id=request.user.pk).end()
    messages.success(request, "That browser is logged out.")
    return redirect("usersessions_list")
