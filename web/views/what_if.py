"""What if I change shares, reservations, limits?"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from advisor.advice.what_if.decide.what_if_draft import changed_controls
from advisor.advice.what_if.drafts import (
    WhatIfPast,
    past_of,
    repeated_policy,
    save_draft,
    scene_of,
    what_if_inputs,
)
from advisor.core.forecast.backtest import Change
from advisor.core.forecast.what_if import WhatIf, WhatIfInputs, what_if
from advisor.errors import DecisionRefused, InventoryError
from advisor.models import POLICY_TOPIC, Recommendation, Resource
from advisor.queries.past_table import what_if_table
from advisor.queries.recommendations import stored_items
from web.access import Workspace, open_row, require_operator, workspace_view
from web.drawing.bars import what_if_bars
from web.page import render_page, render_part
from web.templatetags.many import MOST_ROWS
from web.what_if_form import LENGTHS, WhatIfForm, fields_of, read_form


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_view
def page(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """The form with its answer; with htmx the answer alone.

    The address holds only what was changed. A browser without scripts sends every field, which may
    be too long for an address, so it posts them and is led to that address.
    """
    now = timezone.now()
    workspace, row = open_row(workspace, Resource, pk, "status")
    if request.method == "POST":
        touched = read_form(scene_of(row, now=now), request.POST).touched
        return redirect(f"{request.path}?{urlencode(touched)}")
    if "recommendation" in request.GET:
        return _edited(request, workspace, row, now)
    form = read_form(scene_of(row, now=now), request.GET)
    past = past_of(form.scene, length=form.length, now=now)
    if "HX-Request" in request.headers:
        template = "web/parts/what_if_parts.html"
        context = _answer(form, past, now)
        return render_part(request, workspace, template, now=now, resource=row, **context)
    return _page(request, workspace, form, past, now=now)


def _edited(
    request: HttpRequest, workspace: Workspace, row: Resource, now: datetime
) -> HttpResponseBase:
    """Leads to the form with the numbers of a recommendation for this resource, to change them."""
    asked = request.GET["recommendation"]
    if not (asked.isascii() and asked.isdecimal() and len(asked) < 19):
        raise Http404("no such recommendation")
    _, advice = open_row(workspace, Recommendation, int(asked))
    items = stored_items(advice)
    if advice.resource_id != row.pk or items is None:
        raise Http404(f"recommendation {asked} divides another resource, or none")
    scene = scene_of(row, now=now)
    touched = read_form(scene, fields_of(scene, items)).touched
    return redirect(f"{request.path}?{urlencode(touched)}")


def _page(
    request: HttpRequest,
    workspace: Workspace,
    form: WhatIfForm,
    past: WhatIfPast,
    *,
    now: datetime,
    status: int = 200,
) -> HttpResponseBase:
    return render_page(
        request,
        workspace,
        "web/what_if.html",
        now=now,
        status=status,
        resource=form.scene.resource,
        lengths=LENGTHS,
        **_answer(form, past, now),
    )


def _answer(form: WhatIfForm, past: WhatIfPast, now: datetime) -> dict[str, Any]:
    context: dict[str, Any] = {"form": form, "scale": form.scale, "problem": ""}
    try:
        inputs = _inputs(form, past)
    except InventoryError as error:
        return context | {"problem": str(error)}
    found = what_if(inputs)
    return context | {
        "inputs": inputs,
        "found": found,
        **_bars(found),
        "past": what_if_table(found),
        "gaining": [one for one in found.rows if one.change is Change.GAINS],
        "losing": [one for one in found.rows if one.change is Change.LOSES],
        "changes": changed_controls(inputs),
        "why_no_draft": _why_no_draft(form, inputs, found),
        "replaces": Recommendation.objects.open_at(now)
        .filter(resource=form.scene.resource, topic=POLICY_TOPIC)
        .first(),
    }


def _bars(found: WhatIf) -> dict[str, Any]:
    """The workloads that gain or lose most, and the others."""
    bars = what_if_bars(found)
    bars.sort(key=lambda bar: abs(bar.row.then - bar.row.now), reverse=True)
    return {"bars": bars[:MOST_ROWS], "more_bars": bars[MOST_ROWS:]}


def _inputs(form: WhatIfForm, past: WhatIfPast) -> WhatIfInputs:
    return what_if_inputs(
        scene=form.scene, past=past, candidate=form.candidate, capacity=form.capacity
    )


def _why_no_draft(form: WhatIfForm, inputs: WhatIfInputs, found: WhatIf) -> str:
    """What keeps this from becoming a policy draft; empty if nothing does."""
    if form.errors:
        return "Correct the fields above first."
    if found.refused:
        return "Reservations that do not fit cannot be promised."
    if inputs.capacity_after != inputs.capacity:
        return "A policy cannot change a capacity; go back to the stated one to save a draft."
    if not changed_controls(inputs):
        return "Nothing differs from what holds now."
    return repeated_policy(inputs, form.scene.resource)


@require_POST
@workspace_view
def save(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Make the candidate a recommendation that is approved like any other."""
    now = timezone.now()
    workspace, row = open_row(workspace, Resource, pk, "status")
    require_operator(workspace)
    form = read_form(scene_of(row, now=now), request.POST)
    past = past_of(form.scene, length=form.length, now=now)
    if form.errors:
        messages.error(request, "Nothing was saved: correct the fields.")
        return _page(request, workspace, form, past, now=now, status=400)
    try:
        draft = save_draft(
            inputs=_inputs(form, past), resource=row, user=workspace.membership.user, now=now
        )
    except (DecisionRefused, InventoryError) as error:
        messages.error(request, f"Nothing was saved: {error}.")
        return _page(request, workspace, form, past, now=now, status=409)
    messages.success(
        request, "Saved as a draft. Nothing on any host changes until somebody approves it."
    )
    return redirect("recommendation", draft.pk)
