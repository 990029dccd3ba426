"""Who is told of incidents: channels, rules, silences, and what became of each message."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.roles import Action
from advisor.core.digest import Rhythm, digest_words
from advisor.core.notifying import SEVERITIES
from advisor.errors import DecisionRefused
from advisor.models import ChannelKind, Delivery, NotificationChannel, NotificationRule, Resource
from advisor.models.notification import LONGEST_ADDRESS, DeliveryState
from advisor.notifications import state
from advisor.notifications.stated_rule import row_of, stated
from advisor.queries.notifications import delivery_rows, leads_to, rule_lines, silences_now
from web.access import Workspace, open_row, workspace_view
from web.changing import changing
from web.notification_form import (
    FIELDS,
    digest_of_form,
    form_of,
    form_of_channel,
    rule_of_form,
    sent_channel,
    sent_form,
)
from web.page import render_page, render_part
from web.views.silences import LENGTHS

PER_PAGE = 50
MOST_RESOURCES = 1000
KIND_WORDS = {
    ChannelKind.MAIL: "mail: addresses with commas between them",
    ChannelKind.WEBHOOK: "webhook: an address that gets JSON, signed",
    ChannelKind.SERVICE: "service: an address of Apprise, such as slack://A/B/C",
}


RHYTHMS = {
    "": "at once",
    Rhythm.HOUR: "each full hour, together",
    Rhythm.DAY: "once a day, together",
}


@require_safe
@workspace_view
def notifications(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """All of it; `?rule=` and `?channel=` fill a form, `?tried=` shows what became of a trial."""
    if "HX-Request" in request.headers:
        return render_part(
            request, workspace, "web/parts/tried.html", now=timezone.now(),
            tried=_tried(request, workspace),
        )  # fmt: skip
    asked = request.GET.get("rule", "").replace("\x00", "")
    rows = workspace.scope.rows(NotificationRule).select_related("channel")
    row = rows.filter(name=asked).first()
    name = request.GET.get("channel", "").replace("\x00", "")
    channel = workspace.scope.rows(NotificationChannel).filter(name=name).first()
    return _page(
        request,
        workspace,
        form=form_of(stated(row)) if row else None,
        channel_form=form_of_channel(channel) if channel else None,
    )


def _page(
    request: HttpRequest,
    workspace: Workspace,
    *,
    form: Mapping[str, str] | None = None,
    channel_form: Mapping[str, str] | None = None,
    status: int = 200,
    **context: Any,
) -> HttpResponseBase:
    now = timezone.now()
    channels = workspace.scope.rows(NotificationChannel)
    log = Paginator(delivery_rows(workspace.scope), PER_PAGE).get_page(request.GET.get("page"))
    resources = workspace.scope.rows(Resource).order_by("name")
    return render_page(
        request,
        workspace,
        "web/notifications.html",
        now=now,
        status=status,
        channels=[(row, leads_to(row), digest_words(row.digest)) for row in channels],
        rules=rule_lines(workspace.scope, now=now),
        silences=silences_now(workspace.scope, now=now),
        page=log,
        tried=_tried(request, workspace),
        resources=resources[:MOST_RESOURCES],
        kinds=KIND_WORDS.items(),
        severities=[(name, one.words) for name, one in SEVERITIES.items()],
        lengths=LENGTHS,
        rhythms=RHYTHMS.items(),
        longest_address=LONGEST_ADDRESS,
        form=form or dict.fromkeys(FIELDS, ""),
        channel_form=channel_form or {},
        **context,
    )


def _tried(request: HttpRequest, workspace: Workspace) -> dict[str, Any] | None:
    """The trial that the address names, and whether it is still under way."""
    asked = request.GET.get("tried", "")
    # Beyond its length it is no number of a row.
    if not (asked.isascii() and asked.isdecimal() and len(asked) < 18):
        return None
    rows = workspace.scope.rows(Delivery).filter(pk=int(asked), told=None, news="")
    row = rows.select_related("channel").first()
    waits = row is not None and row.state in (DeliveryState.WAITING, DeliveryState.SENDING)
    return {"row": row, "waits": waits} if row else None


@never_cache
@changing("notifications")
def state_channel(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Set a channel; the answer alone holds the secret of a webhook, when it is made."""
    workspace.actor.require(Action.MANAGE_NOTIFICATIONS)
    sent = sent_channel(request.POST)
    try:
        made = state.state_channel(
            organisation=workspace.membership.organisation,
            name=sent["name"],
            kind=_kind(sent["kind"]),
            address=sent["address"],
            digest=digest_of_form(sent),
            actor=workspace.actor,
            now=timezone.now(),
        )
    except DecisionRefused as error:
        return _page(request, workspace, channel_form=sent, status=400, channel_error=str(error))
    if made.secret:
        return _page(request, workspace, made=made)
    messages.success(request, f"Channel {made.row.name} is set.")
    return redirect("notifications")


def _kind(word: str) -> ChannelKind:
    if word not in ChannelKind.values:
        raise DecisionRefused("choose by what messages go")
    return ChannelKind(word)


@changing("notifications")
def try_channel(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Send a message that nothing is wrong, as all others are sent."""
    workspace, row = open_row(workspace, NotificationChannel, pk)
    try:
        trial = state.try_out(row, actor=workspace.actor, now=timezone.now())
    except DecisionRefused as error:
        return _nothing_changed(request, error)
    return redirect(f"{reverse('notifications')}?tried={trial.pk}#tried")


@changing("notifications")
def start_channel(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, NotificationChannel, pk)
    try:
        state.start_again(row, actor=workspace.actor, now=timezone.now())
    except DecisionRefused as error:
        return _nothing_changed(request, error)
    messages.success(request, f"Messages go by {row.name} again, from the next one on.")
    return redirect("notifications")


@changing("notifications")
def remove_channel(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, NotificationChannel, pk)
    return _remove(request, workspace, row, timezone.now())


@changing("notifications")
def remove_rule(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, NotificationRule, pk)
    return _remove(request, workspace, row, timezone.now())


def _remove(
    request: HttpRequest,
    workspace: Workspace,
    row: NotificationChannel | NotificationRule,
    now: datetime,
) -> HttpResponseBase:
    name = row.name
    state.remove_stated(row, actor=workspace.actor, now=now)
    messages.success(request, f"{name} is removed.")
    return redirect("notifications")


@changing("notifications")
def state_rule(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """State a rule, in the place of one of the same name."""
    workspace.actor.require(Action.MANAGE_NOTIFICATIONS)
    form = sent_form(request.POST)
    try:
        row, resources = row_of(rule_of_form(form), workspace.membership.organisation)
        state.state_notification_rule(
            row, resources=resources, actor=workspace.actor, now=timezone.now()
        )
    except DecisionRefused as error:
        return _page(request, workspace, form=form, status=400, error=str(error))
    messages.success(request, f"Rule {row.name} tells by {row.channel}.")
    return redirect("notifications")


def _nothing_changed(request: HttpRequest, error: DecisionRefused) -> HttpResponseBase:
    messages.error(request, f"Nothing was changed: {error}.")
    return redirect("notifications")
