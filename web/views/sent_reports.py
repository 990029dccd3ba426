"""Reports that leave the house: sent regularly by mail, or opened by a link."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.roles import Action
from advisor.core.reporting.schedule import HOURS, LONGEST_TAG, Every
from advisor.decisions import report_subscriptions as subscriptions
from advisor.errors import DecisionRefused, InventoryError
from advisor.models import (
    ChannelKind,
    NotificationChannel,
    ReportSubscription,
    SharedReport,
    Team,
)
from advisor.reports import shared
from advisor.reports.once import mail_report
from advisor.reports.written import written
from web.access import Workspace, open_row, workspace_view
from web.changing import changing
from web.page import render_page
from web.views.reports import asked_in, read_asked, readers_zone, zone_names

FIELDS = ("name", "channel", "every", "hour", "zone", "team", "tag")
EVERY_WORDS = {
    Every.DAY: "daily, of the day before",
    Every.WEEK: "on Mondays, of the week before",
    Every.MONTH: "on the first, of the month before",
}


@require_safe
@workspace_view
def sent_reports(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    form = {name: request.GET.get(name, "") for name in FIELDS}
    return _page(request, workspace, form)


def _page(
    request: HttpRequest,
    workspace: Workspace,
    form: Mapping[str, str],
    *,
    status: int = 200,
    **context: object,
) -> HttpResponseBase:
    now = timezone.now()
    rows = workspace.scope.rows(ReportSubscription).select_related("channel", "team")
    links = workspace.scope.rows(SharedReport).filter(expires_at__gt=now).defer("written")
    channels = workspace.scope.rows(NotificationChannel).filter(kind=ChannelKind.MAIL)
    return render_page(
        request,
        workspace,
        "web/sent_reports.html",
        now=now,
        status=status,
        section="reports",
        subscriptions=rows,
        links=[(row, _address(request, row)) for row in links],
        channels=channels,
        teams=workspace.scope.rows(Team),
        zones=zone_names(),
        every=EVERY_WORDS.items(),
        hours=HOURS,
        longest_tag=LONGEST_TAG,
        form={**form, "zone": form["zone"] or readers_zone(request) or "UTC"},
        has_zone=bool(form["zone"] or readers_zone(request)),
        **context,
    )


def _address(request: HttpRequest, row: SharedReport) -> str:
    path = reverse("shared-report", args=[shared.link_secret(row)])
    return (
        f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)
    )


@changing("sent-reports")
def state(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    workspace.actor.require(Action.MANAGE_NOTIFICATIONS)
    form = {name: request.POST.get(name, "").strip()[: 2 * LONGEST_TAG] for name in FIELDS}
    try:
        row = _row_of(form, workspace)
        subscriptions.state_subscription(row, actor=workspace.actor, now=timezone.now())
    except (DecisionRefused, InventoryError) as error:
        return _page(request, workspace, form, status=400, error=str(error))
    messages.success(request, f"{row.name} is set.")
    return redirect("sent-reports")


def _row_of(form: Mapping[str, str], workspace: Workspace) -> ReportSubscription:
    """What a form states; DecisionRefused with what cannot be read."""
    if any("\x00" in text for text in form.values()):
        raise DecisionRefused("a text holds a character that cannot be stored")
    hour = form["hour"]
    said = subscriptions.StatedSubscription(
        name=form["name"],
        channel=form["channel"],
        every=form["every"],
        hour=int(hour) if hour.isascii() and hour.isdecimal() and len(hour) < 3 else -1,
        zone=form["zone"] or "UTC",
        team=form["team"],
        tag=form["tag"],
    )
    return subscriptions.row_of(said, workspace.membership.organisation)


@changing("sent-reports")
def send(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, ReportSubscription, pk, "channel")
    subscriptions.send_now(row, actor=workspace.actor, now=timezone.now())
    messages.success(request, f"{row.name} is made and sent now; its state says when it was.")
    return redirect("sent-reports")


@changing("sent-reports")
def stop(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, ReportSubscription, pk)
    subscriptions.stop(row, actor=workspace.actor, now=timezone.now())
    messages.success(request, f"{row.name} is stopped.")
    return redirect("sent-reports")


@changing("sent-reports")
def start(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, ReportSubscription, pk, "channel")
    subscriptions.start_again(row, actor=workspace.actor, now=timezone.now())
    messages.success(request, f"{row.name} goes on.")
    return redirect("sent-reports")


@changing("sent-reports")
def remove(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, ReportSubscription, pk)
    subscriptions.remove(row, actor=workspace.actor, now=timezone.now())
    messages.success(request, f"There is no {row.name} any more.")
    return redirect("sent-reports")


@changing("reports")
def mail_now(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Mail the report that the form names once, as it is now."""
    workspace.actor.require(Action.MANAGE_NOTIFICATIONS)
    now = timezone.now()
    chosen = request.POST.get("channel", "")
    known = workspace.scope.rows(NotificationChannel)
    number = int(chosen) if chosen.isascii() and chosen.isdecimal() and len(chosen) < 10 else 0
    channel = known.filter(pk=number).first()
    if channel is None:
        raise Http404
    asked = asked_in(request, request.POST)
    report = written(read_asked(workspace, asked, now))
    query = {
        name: request.POST.get(name, "") for name in ("period", "first", "last", "team", "tag")
    }
    address = f"{reverse('reports')}?{urlencode({**query, 'zone': asked.zone})}"
    link = f"{settings.PUBLIC_URL}{address}" if settings.PUBLIC_URL else ""
    mail_report(report, channel, link=link, actor=workspace.actor, now=now)
    messages.success(request, f"It is on its way by {channel.name}.")
    return redirect(address)
