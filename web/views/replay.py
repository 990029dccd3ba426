"""How do the controls behave in a known experiment?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse
from django.utils import timezone

from advisor.core.replay.finding import Relation, Verdict
from advisor.errors import UnknownExperiment
from advisor.services.replay import NAMES, timeline_document
from web.access import Workspace, workspace_view
from web.page import render_page
from web.replay_drawing import bar_figures, line_figures, seed_name, shown_findings, value_tables

ONE_SIDED = tuple(f"({relation})" for relation in (Relation.AT_LEAST, Relation.AT_MOST))
TIMELINE_KEYS = ("experiment", "title", "duration_s", "panels")


@workspace_view
def replays(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """All experiments, with how many of their numbers hold."""
    rows = [_row(timeline_document(name)) for name in NAMES]
    return render_page(
        request,
        workspace,
        "web/replays.html",
        now=timezone.now(),
        section="replay",
        rows=rows,
        counts=[sum(column) for column in zip(*(row["cells"] for row in rows), strict=True)],
        bounds=sum(row["bounds"] for row in rows),
    )


def _row(document: Mapping[str, Any]) -> dict[str, Any]:
    verdicts = Counter(finding["verdict"] for finding in document["findings"])
    return {
        "name": document["experiment"],
        "title": document["title"],
        "seed": seed_name(document["experiment"]),
        "duration_s": document["duration_s"],
        "cells": [verdicts[verdict] for verdict in Verdict],
        "bounds": sum(
            finding["verdict"] == Verdict.HOLDS and finding["quantity"].endswith(ONE_SIDED)
            for finding in document["findings"]
        ),
    }


@workspace_view
def replay(request: HttpRequest, workspace: Workspace, name: str) -> HttpResponseBase:
    """One experiment: its figures to be played, and every printed number beside ours."""
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


@workspace_view
def timeline(_request: HttpRequest, _workspace: Workspace, name: str) -> HttpResponseBase:
    """What the page's script plays."""
    document = _document(name)
    played = {key: document[key] for key in TIMELINE_KEYS}
    return JsonResponse(played | {"figures": line_figures(document)})


def _document(name: str) -> Mapping[str, Any]:
    try:
        return timeline_document(name)
    except UnknownExperiment as error:
        raise Http404(str(error)) from error
