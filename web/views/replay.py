"""How do the controls behave in a known experiment?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import (
    Http404,
    HttpRequest,
    HttpResponseBase,
    HttpResponsePermanentRedirect,
    JsonResponse,
)
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.errors import UnknownExperiment
from advisor.lab.replay.player import NAMES, present_name, timeline_document
from advisor.lab.replay.tally import summary_of, tallies_of
from web.access import Workspace, workspace_view
from web.drawing.replay import bar_figures, line_figures, shown_findings, value_tables
from web.page import render_page

TIMELINE_KEYS = ("experiment", "title", "duration_s", "panels")


@require_safe
@workspace_view
def replays(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """All experiments, with how many statements of their studies hold."""
    documents = [timeline_document(name) for name in NAMES]
    return render_page(
        request,
        workspace,
        "web/replays.html",
        now=timezone.now(),
        section="replay",
        rows=[_row(document) for document in documents],
        summary=summary_of(row for document in documents for row in document["findings"]),
    )


def _row(document: Mapping[str, Any]) -> dict[str, Any]:
    tallies = tallies_of(document["findings"])
    return {
        "name": document["experiment"],
        "title": document["title"],
        "study": document["study"],
        "duration_s": document["duration_s"],
        "tallies": tallies,
        "not_modelled": sum(tally.not_modelled for tally in tallies),
        "summary": summary_of(document["findings"]),
    }


@require_safe
@workspace_view
def replay(request: HttpRequest, workspace: Workspace, name: str) -> HttpResponseBase:
    """One experiment: its figures to be played, and every printed number beside ours."""
    if (present := present_name(name)) != name:
        return _moved(request, "replay", present)
    document = _document(name)
    place = NAMES.index(name)
    return render_page(
        request,
        workspace,
        "web/replay.html",
        now=timezone.now(),
        section="replay",
        document=document,
        row=_row(document),
        lines=line_figures(document),
        bars=bar_figures(document),
        tables=value_tables(document),
        findings=shown_findings(document),
        before=NAMES[place - 1] if place else None,
        after=NAMES[place + 1] if place + 1 < len(NAMES) else None,
    )


@require_safe
@workspace_view
def timeline(request: HttpRequest, _workspace: Workspace, name: str) -> HttpResponseBase:
    """What the page's script plays."""
    if (present := present_name(name)) != name:
        return _moved(request, "replay-timeline", present)
    document = _document(name)
    played = {key: document[key] for key in TIMELINE_KEYS}
    return JsonResponse(played | {"figures": line_figures(document)})


def _moved(request: HttpRequest, page: str, name: str) -> HttpResponseBase:
    """To the same page of an experiment that was asked for by its former name."""
    query = request.META.get("QUERY_STRING", "")
    address = reverse(page, kwargs={"name": name})
    return HttpResponsePermanentRedirect(f"{address}?{query}" if query else address)


def _document(name: str) -> Mapping[str, Any]:
    try:
        return timeline_document(name)
    except UnknownExperiment as error:
        raise Http404(str(error)) from error
