"""Undo of a claim's change to another class of volumes."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from advisor.decisions.kubernetes.class_changes import undo_change
from advisor.errors import DecisionRefused
from advisor.models import ClassChange
from web.access import Workspace, open_row
from web.changing import changing


@changing("recommendations")
def undo(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Give the claim the class again that it had before; takes an admin."""
    workspace, row = open_row(workspace, ClassChange, pk)
    try:
        undo_change(row, actor=workspace.actor, now=timezone.now())
    except DecisionRefused as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        messages.success(request, f"A worker gives {row.claim} back the class that it had.")
    return redirect("recommendation", row.recommendation_id)
