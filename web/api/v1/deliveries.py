"""Messages of notifications, and what became of each."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema

from advisor.models import Delivery, DeliveryState
from advisor.queries.notifications import delivery_rows
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import asker_of
from web.api.v1.fields import Pk

router = Router(tags=["notifications"])


class DeliveryRow(Schema):
    """A message; `key` is the same each time it is sent again. Admins see why it was not sent."""

    id: int
    channel: str
    subject: str
    key: UUID
    state: DeliveryState
    attempts: int
    next_at: datetime
    reason: str | None
    created_at: datetime
    sent_at: datetime | None


class DeliveryPage(Page):
    items: list[DeliveryRow]


@router.get("", response=DeliveryPage)
def list_deliveries(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List messages and what became of them, the newest first."""
    rows = delivery_rows(asker_of(request).scope)
    found, cursor = page_of(rows, asked, newest_first=True)
    return {"items": [delivery_plain(request, row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=DeliveryRow)
def get_delivery(request: HttpRequest, pk: Pk) -> Any:
    """Read what became of a message."""
    row = get_object_or_404(delivery_rows(asker_of(request).scope), pk=pk)
    return delivery_plain(request, row)


def delivery_plain(request: HttpRequest, row: Delivery) -> dict[str, Any]:
    """The row as who asks may see it."""
    is_admin = asker_of(request).may_manage_notifications
    return {
        "id": row.pk,
        "channel": row.channel.name,
        "subject": row.message["subject"],
        "key": row.key,
        "state": row.state,
        "attempts": row.attempts,
        "next_at": row.next_at,
        "reason": row.reason if is_admin and row.reason else None,
        "created_at": row.created_at,
        "sent_at": row.sent_at,
    }
