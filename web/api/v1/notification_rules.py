"""Rules of notifications: what is told, by which channel, and when it is quiet."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.models import Organisation
from accounts.roles import Action
from advisor.core.notifying import MOST_RESOURCES, MOST_TEAMS, MOST_WINDOWS
from advisor.models import NotificationRule
from advisor.notifications import state
from advisor.notifications.stated_rule import StatedRule, row_of, stated
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import NO_NUL, Asked, Flag, Name, Pk, Tags
from web.api.v1.ladder_rules import WindowText
from web.api.v1.resources import ResourceName
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["notifications"])
SeverityName = Literal["congested", "promise_missed", "stalled"]


class NotificationRuleRow(Schema):
    """A rule; without resources it is of all.

    With teams or tags it tells of what one of their workloads causes or suffers. With
    `grave_anyway` a stall breaks the quiet.
    """

    id: int
    name: str
    channel: str
    least: SeverityName
    resources: list[str]
    teams: list[str]
    tags: list[str]
    quiet: list[str]
    zone: str
    grave_anyway: bool
    tells_end: bool


class NotificationRulePage(Page):
    items: list[NotificationRuleRow]


class StatedNotificationRule(Asked):
    """All of a rule; `channel` is the name of one that is stated."""

    name: Name
    channel: Name
    least: SeverityName = "congested"
    resources: Annotated[list[ResourceName], Field(max_length=MOST_RESOURCES)] = Field(
        default_factory=list
    )
    teams: Annotated[list[Name], Field(max_length=MOST_TEAMS)] = Field(default_factory=list)
    tags: Tags = Field(default_factory=list)
    quiet: Annotated[list[WindowText], Field(max_length=MOST_WINDOWS)] = Field(
        default_factory=list, description="such as Mon-Sun 22:00 9h, in the zone"
    )
    zone: Annotated[str, Field(min_length=1, max_length=60, pattern=NO_NUL)] = "UTC"
    grave_anyway: Flag = True
    tells_end: Flag = True


@router.get("", response=NotificationRulePage)
def list_notification_rules(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List the rules of notifications."""
    found, cursor = page_of(_rows(request), asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=NotificationRuleRow)
def get_notification_rule(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a rule of notifications."""
    plain = _plain(get_object_or_404(_rows(request), pk=pk))
    tagged(response, tag_of(plain))
    return plain


@router.put("", response=NotificationRuleRow)
def state_rule_of_notifications(
    request: HttpRequest, asked: StatedNotificationRule, response: HttpResponse
) -> Any:
    """State a rule, by its name; what it told stays told."""
    workspace = acting(request, Action.MANAGE_NOTIFICATIONS)
    organisation = workspace.membership.organisation
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    present = _rows(request).filter(name=asked.name).first()
    require_match(request, tag_of(None if present is None else _plain(present)))
    plain: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in asked.dict().items()
    }
    row, resources = row_of(StatedRule(**plain), organisation)
    state.state_notification_rule(
        row, resources=resources, actor=workspace.actor, now=timezone.now()
    )
    plain = _plain(_rows(request).get(pk=row.pk))
    tagged(response, tag_of(plain))
    return plain


@router.delete("/{int:pk}", response={204: None})
def remove_notification_rule(request: HttpRequest, pk: Pk) -> Any:
    """Remove a rule; nothing is told by it any more, also no end of what it told."""
    row = get_object_or_404(_rows(request), pk=pk)
    workspace = acting(request, Action.MANAGE_NOTIFICATIONS)
    require_match(request, tag_of(_plain(row)))
    state.remove_stated(row, actor=workspace.actor, now=timezone.now())
    return Status(204, None)


def _rows(request: HttpRequest) -> Any:
    rows = asker_of(request).scope.rows(NotificationRule)
    return rows.select_related("organisation", "channel").prefetch_related("resources")


def _plain(row: NotificationRule) -> dict[str, Any]:
    return {"id": row.pk, **asdict(stated(row))}
