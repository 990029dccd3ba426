"""Where the time of the I/Os of slowed workloads went in an incident."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.models import Incident
from advisor.queries.felt_latency import MOST_DISKS, victim_latencies
from web.access import Workspace, open_row, workspace_view
from web.drawing.layer_bars import layer_bars, shared_gaps
from web.page import render_page, render_part

FEW = 5
"""On the page of the incident, where other things follow."""


@require_safe
@workspace_view
def layers(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """The bars of a few for htmx, else of more as a page of their own."""
    now = timezone.now()
    workspace, row = open_row(workspace, Incident, pk, "resource", among=Incident.every.all())
    is_part = "HX-Request" in request.headers
    most = FEW if is_part else MOST_DISKS
    disks = victim_latencies(row, now=now, most=most)
    context: dict[str, Any] = {
        "incident": row,
        "resource": row.resource,
        "is_part": is_part,
        "most": most,
        "layer_bars": layer_bars(disks),
        "shared_gaps": shared_gaps(disks),
        "several_disk_hosts": len({one.allocation.host_id for one in disks}) > 1,
    }
    if is_part:
        template = "web/parts/incident_layers.html"
        return render_part(request, workspace, template, now=now, **context)
    return render_page(
        request, workspace, "web/incident_layers.html", now=now, section="incidents", **context
    )
