"""What holds where, and why not?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.history.enforced_state import EnforcedState
from advisor.queries.enforcement import enforcement as enforced_now
from web.access import Workspace, workspace_view
from web.tables.enforcement import enforcement_table
from web.views.tables import table_answer

CHOICES = (EnforcedState.FALLS_SHORT, EnforcedState.PUT_RIGHT, EnforcedState.SILENT)
"""The states that are one click away; the filter of the list has all."""


@require_safe
@workspace_view
def enforcement(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    found = enforced_now(workspace.scope, now=now)
    return table_answer(
        request,
        workspace,
        enforcement_table(found.rows),
        now=now,
        template="web/enforcement.html",
        holding=found.counts[EnforcedState.HOLDS] + found.counts[EnforcedState.PUT_RIGHT],
        counts=[(state, found.counts[state]) for state in EnforcedState if found.counts[state]],
        choices=[(state, found.counts[state]) for state in CHOICES],
    )
