"""What a program states is written into the audit chain, as decisions are by their services."""

from __future__ import annotations

from django.utils import timezone

from accounts.models.audit import LONGEST_SUBJECT
from accounts.services.audit import record
from web.access import Workspace


def noted(workspace: Workspace, action: str, subject: str) -> None:
    """Record that the person of a token did this, in the transaction that does it."""
    record(
        organisation=workspace.membership.organisation, actor=workspace.actor, action=action,
        subject=subject[:LONGEST_SUBJECT], now=timezone.now(),
    )  # fmt: skip
