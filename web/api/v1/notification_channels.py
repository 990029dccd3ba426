"""Channels of notifications: where messages go."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.models import Organisation
from accounts.roles import Action
from advisor.core.digest import MORNING, Digest, Rhythm
from advisor.models import ChannelKind, NotificationChannel
from advisor.models.notification import LONGEST_ADDRESS
from advisor.notifications import state
from advisor.queries.notifications import leads_to
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.deliveries import DeliveryRow, delivery_plain
from web.api.v1.door import acting, asker_of, keep_instead
from web.api.v1.fields import NO_NUL, WHOLE, Asked, Name, Pk
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["notifications"])


class NotificationChannelRow(Schema):
    """Where messages go; `leads_to` and why it stopped are told to admins alone.

    With a `digest` it gathers its messages: for each full hour, or for an hour of the day.
    """

    id: int
    name: str
    kind: ChannelKind
    leads_to: str | None = Field(description="the address without what opens it")
    digest: Rhythm | None
    hour: int
    zone: str
    stopped_at: datetime | None
    stopped_because: str | None


class StatedChannelRow(NotificationChannelRow):
    """A channel as it was stated; `secret` signs what a new webhook gets, and is told once."""

    secret: str | None


class NotificationChannelPage(Page):
    items: list[NotificationChannelRow]


class StatedNotificationChannel(Asked):
    """All of a channel, but an address that is kept; one that was stopped goes on."""

    name: Name
    kind: ChannelKind
    address: Annotated[str, Field(max_length=LONGEST_ADDRESS, pattern=NO_NUL)] = Field(
        default="", description="left out: that of the channel of this name and kind"
    )
    digest: Rhythm | None = Field(default=None, description="left out: it sends at once")
    hour: Annotated[int, Field(ge=0, le=23), WHOLE] = MORNING
    zone: Annotated[str, Field(min_length=1, max_length=60, pattern=NO_NUL)] = "UTC"


@router.get("", response=NotificationChannelPage)
def list_notification_channels(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List channels of notifications."""
    found, cursor = page_of(_rows(request), asked)
    return {"items": [_plain(request, row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=NotificationChannelRow)
def get_notification_channel(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a channel of notifications."""
    row = get_object_or_404(_rows(request), pk=pk)
    tagged(response, _tag(request, row))
    return _plain(request, row)


@router.put("", response=StatedChannelRow)
def state_notification_channel(
    request: HttpRequest, asked: StatedNotificationChannel, response: HttpResponse
) -> Any:
    """State a channel, by its name."""
    workspace = acting(request, Action.MANAGE_NOTIFICATIONS)
    organisation = workspace.membership.organisation
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    present = _rows(request).filter(name=asked.name).first()
    require_match(request, tag_of(None) if present is None else _tag(request, present))
    made = state.state_channel(
        organisation=organisation,
        name=asked.name,
        kind=asked.kind,
        address=asked.address,
        digest=_digest(asked),
        actor=workspace.actor,
        now=timezone.now(),
    )
    plain = _plain(request, made.row)
    keep_instead(request, {**plain, "secret": None})
    tagged(response, _tag(request, made.row))
    return {**plain, "secret": made.secret or None}


@router.delete("/{int:pk}", response={204: None})
def remove_notification_channel(request: HttpRequest, pk: Pk) -> Any:
    """Remove a channel with the rules that tell by it, and the log of what it was sent."""
    row, actor = _managed(request, pk)
    require_match(request, _tag(request, row))
    state.remove_stated(row, actor=actor, now=timezone.now())
    return Status(204, None)


@router.post("/{int:pk}/try", response={201: DeliveryRow})
def try_notification_channel(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Send a message that nothing is wrong; its delivery says what became of it."""
    row, actor = _managed(request, pk)
    made = state.try_out(row, actor=actor, now=timezone.now())
    response.headers["Location"] = f"/api/v1/deliveries/{made.pk}"
    return Status(201, delivery_plain(request, made))


@router.post("/{int:pk}/start", response=NotificationChannelRow)
def start_notification_channel(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Send by a channel that was stopped; what was given up stays so."""
    row, actor = _managed(request, pk)
    require_match(request, _tag(request, row))
    state.start_again(row, actor=actor, now=timezone.now())
    row = _rows(request).get(pk=pk)
    tagged(response, _tag(request, row))
    return _plain(request, row)


def _digest(asked: StatedNotificationChannel) -> Digest | None:
    if asked.digest is None:
        return None
    return Digest(rhythm=asked.digest, hour=asked.hour, zone=asked.zone)


def _managed(request: HttpRequest, pk: int) -> tuple[NotificationChannel, Any]:
    row = get_object_or_404(_rows(request), pk=pk)
    return row, acting(request, Action.MANAGE_NOTIFICATIONS).actor


def _rows(request: HttpRequest) -> Any:
    return asker_of(request).scope.rows(NotificationChannel).select_related("organisation")


def _tag(request: HttpRequest, row: NotificationChannel) -> str:
    address = row.address if asker_of(request).may_manage_notifications else ""
    return tag_of(_plain(request, row), address)


def _plain(request: HttpRequest, row: NotificationChannel) -> dict[str, Any]:
    is_admin = asker_of(request).may_manage_notifications
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "leads_to": leads_to(row) if is_admin else None,
        "digest": row.rhythm or None,
        "hour": row.hour,
        "zone": row.zone,
        "stopped_at": row.stopped_at,
        "stopped_because": row.stopped_because if is_admin and row.stopped_at else None,
    }
