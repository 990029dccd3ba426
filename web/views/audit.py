"""Who did what, and that nobody changed what is written about it."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.errors import NotAllowed
from accounts.models import AuditEntry
from accounts.roles import Action
from accounts.services.audit import verify
from web.access import Workspace, workspace_view
from web.page import render_page

PER_PAGE = 50
LONGEST_WORDS = 100


@require_safe
@workspace_view
def audit(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """The newest entries; `?q=` those whose person, act or subject has these words.

    With `?check` the whole chain is checked.
    """
    try:
        workspace.actor.require(Action.MANAGE_MEMBERS)
    except NotAllowed as error:
        raise PermissionDenied(f"{error}.") from error
    words = request.GET.get("q", "").replace("\x00", "").strip()[:LONGEST_WORDS]
    rows = workspace.scope.rows(AuditEntry).order_by("-number")
    if words:
        rows = (
            rows.filter(actor__icontains=words)
            | rows.filter(action__icontains=words)
            | rows.filter(subject__icontains=words)
        )
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    checked = verify(workspace.membership.organisation) if "check" in request.GET else None
    return render_page(
        request,
        workspace,
        "web/audit.html",
        now=timezone.now(),
        page=page,
        words=words,
        longest_words=LONGEST_WORDS,
        checked=checked,
    )
