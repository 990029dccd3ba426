"""Where the time of the I/Os of slowed workloads went in an incident."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.models import Incident
from advisor.queries.felt_latency import victim_latencies
from web.access import Workspace, open_row, workspace_view
from web.drawing.layer_bars import layer_bars
from web.page import render_page, render_part


@require_safe
@workspace_view
def layers(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """The bars alone for htmx, else as a page of their own."""
    now = timezone.now()
    workspace, row = open_row(workspace, Incident, pk, "resource", among=Incident.every.all())
    disks = victim_latencies(row, now=now)
    context: dict[str, Any] = {
        "incident": row,
        "resource": row.resource,
        "layer_bars": layer_bars(disks),
        "several_disk_hosts": len({one.allocation.host_id for one in disks}) > 1,
    }
    if "HX-Request" in request.headers:
        template = "web/parts/incident_layers.html"
        return render_part(request, workspace, template, now=now, **context)
    return render_page(
        request, workspace, "web/incident_layers.html", now=now, section="incidents", **context
    )
