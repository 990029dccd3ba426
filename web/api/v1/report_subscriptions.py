"""Reports that are sent regularly by mail."""

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
from advisor.core.reporting.schedule import HOURS, LONGEST_TAG, Every
from advisor.decisions import report_subscriptions as subscriptions
from advisor.errors import DecisionRefused
from advisor.models import NotificationChannel, ReportSubscription, Team
from web.access import open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import NO_NUL, WHOLE, Asked, Name, Pk
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["report subscriptions"])
Hour = Annotated[int, Field(ge=min(HOURS), le=max(HOURS)), WHOLE]
STATED = ("id", "name", "channel", "every", "hour", "zone", "team_id", "tag")


class ReportSubscriptionRow(Schema):
    """A report of the day, week or month before, at an hour of a zone, by a channel of mail.

    Without a team or tag it is of all workloads. After several failures in a row it is stopped,
    and `stopped_because` says why.
    """

    id: int
    name: str
    channel: str
    every: Every
    hour: int
    zone: str
    team_id: int | None
    tag: str
    due_at: datetime
    last_made_at: datetime | None
    failures: int
    stopped_at: datetime | None
    stopped_because: str


class ReportSubscriptionPage(Page):
    items: list[ReportSubscriptionRow]


class StatedReportSubscription(Asked):
    """All of a subscription; it goes on if it was stopped."""

    name: Name
    channel: Name
    every: Every
    hour: Hour = 7
    zone: Annotated[str, Field(min_length=1, max_length=64, pattern=NO_NUL)] = "UTC"
    team_id: Pk | None = None
    tag: Annotated[str, Field(max_length=LONGEST_TAG, pattern=NO_NUL)] = ""


@router.get("", response=ReportSubscriptionPage)
def list_report_subscriptions(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List the reports that are sent regularly."""
    found, cursor = page_of(_rows(request), asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=ReportSubscriptionRow)
def get_report_subscription(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a subscription of reports."""
    row = get_object_or_404(_rows(request), pk=pk)
    tagged(response, _tag(row))
    return _plain(row)


@router.put("", response=ReportSubscriptionRow)
def state_report_subscription(
    request: HttpRequest, asked: StatedReportSubscription, response: HttpResponse
) -> Any:
    """Have a report sent regularly; one of the same name is replaced."""
    workspace = acting(request, Action.MANAGE_NOTIFICATIONS)
    organisation = workspace.membership.organisation
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    present = _rows(request).filter(name=asked.name).first()
    require_match(request, tag_of(None) if present is None else _tag(present))
    team = open_row(workspace, Team, asked.team_id)[1] if asked.team_id is not None else None
    stated = asked.dict(exclude={"channel", "team_id"})
    made = subscriptions.state_subscription(
        ReportSubscription(
            organisation=organisation,
            channel=_channel(organisation, asked.channel),
            team=team,
            **stated,
        ),
        actor=workspace.actor,
        now=timezone.now(),
    )
    row = _rows(request).get(pk=made.pk)
    tagged(response, _tag(row))
    return _plain(row)


@router.post("/{int:pk}/send", response=ReportSubscriptionRow)
def send_report(request: HttpRequest, pk: Pk) -> Any:
    """Have a report made and sent now, beside its turns."""
    row = get_object_or_404(_rows(request), pk=pk)
    workspace = acting(request, Action.MANAGE_NOTIFICATIONS)
    subscriptions.send_now(row, actor=workspace.actor, now=timezone.now())
    return _plain(_rows(request).get(pk=pk))


@router.post("/{int:pk}/stop", response=ReportSubscriptionRow)
def stop_report_subscription(request: HttpRequest, pk: Pk) -> Any:
    """Send no more until it is stated again."""
    row = get_object_or_404(_rows(request), pk=pk)
    workspace = acting(request, Action.MANAGE_NOTIFICATIONS)
    subscriptions.stop(row, actor=workspace.actor, now=timezone.now())
    return _plain(_rows(request).get(pk=pk))


@router.delete("/{int:pk}", response={204: None})
def remove_report_subscription(request: HttpRequest, pk: Pk) -> Any:
    """Remove a subscription; what waits to be sent is not sent."""
    row = get_object_or_404(_rows(request), pk=pk)
    workspace = acting(request, Action.MANAGE_NOTIFICATIONS)
    require_match(request, _tag(row))
    subscriptions.remove(row, actor=workspace.actor, now=timezone.now())
    return Status(204, None)


def _channel(organisation: Organisation, name: str) -> NotificationChannel:
    found = NotificationChannel.objects.filter(organisation=organisation, name=name).first()
    if found is None:
        raise DecisionRefused(f'there is no channel "{name}"')
    return found


def _rows(request: HttpRequest) -> Any:
    rows = asker_of(request).scope.rows(ReportSubscription)
    return rows.select_related("organisation", "channel", "team")


def _plain(row: ReportSubscription) -> dict[str, Any]:
    found = {name: getattr(row, name) for name in ReportSubscriptionRow.model_fields}
    return {**found, "channel": row.channel.name}


def _tag(row: ReportSubscription) -> str:
    """Of what is stated: that a report was sent is no change of it."""
    plain = _plain(row)
    return tag_of({name: plain[name] for name in STATED})
