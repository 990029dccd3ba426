"""Did it get what it was promised?"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.core.duration import duration_text
from advisor.models import AdapterKind, Team, Tier, Workload
from advisor.queries.claims import claims_of, pods_of
from advisor.queries.felt_latency import disk_latencies
from advisor.queries.hosts import sample_trouble
from advisor.queries.identity import workload_identity
from advisor.queries.resources import resource_line
from advisor.queries.teams import teams_of
from advisor.queries.workload_charts import workload_chart_plans
from advisor.queries.workload_day import LENGTH, AllocationDay, allocation_days, incidents_with
from advisor.queries.workload_harm import harm_of
from web.access import Workspace, open_row, workspace_view
from web.chart_list import charts_context
from web.drawing.layer_bars import layer_bars, shared_gaps
from web.page import render_page, render_part
from web.views.incident_cause import workload_keys

NEARLY = 0.95


@require_safe
@workspace_view
def workload(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    now = timezone.now()
    workspace, row = open_row(workspace, Workload, pk)
    is_part = "HX-Request" in request.headers
    if is_part and request.GET.get("part") == "incidents":
        shown = _incidents(workspace, row, now)
        template = "web/parts/workload_incidents.html"
        return render_part(request, workspace, template, now=now, **shown)
    if is_part and request.GET.get("part") == "layers":
        shown = _layers(row, now)
        return render_part(request, workspace, "web/parts/layers.html", now=now, **shown)
    context = _allocations(row, now)
    if is_part and request.GET.get("part") == "drawer":
        shown = {**context, **_incidents(workspace, row, now), "teams": _teams(workspace, row)}
        template = "web/parts/workload_drawer.html"
        return render_part(request, workspace, template, now=now, **shown)
    if is_part:
        return render_part(request, workspace, "web/parts/workload.html", now=now, **context)
    pods = pods_of(row)
    return render_page(
        request,
        workspace,
        "web/workload.html",
        now=now,
        section="workloads",
        identity=workload_identity(row),
        pods=pods,
        claims=claims_of(row, pods),
        teams=_teams(workspace, row),
        **context,
        **_incidents(workspace, row, now),
        **charts_context(
            request.GET, "workload", row.pk, workload_chart_plans(row), now=now, default="24h"
        ),
    )


def _teams(workspace: Workspace, row: Workload) -> list[Team]:
    return teams_of(row.tags, list(workspace.scope.rows(Team)))


def _allocations(row: Workload, now: datetime) -> dict[str, Any]:
    days = allocation_days(row, now=now)
    worst = _worst(days)
    return {
        "workload": row,
        "days": days,
        "worst": worst,
        "measured": "the last day" if worst is None else _measured(worst),
        "is_promised": any(day.promise.reservation for day in days),
        "throttled_min": _sum([day.throttled_min for day in days]),
        "bursts": [day for day in days if day.burst],
        "stale": _stale(days, now),
        "tiers": tuple(Tier),
        "has_disks": any(day.allocation.adapter_kind != AdapterKind.VNIC for day in days),
        "several_hosts": len({day.allocation.host_id for day in days}) > 1,
    }


def _layers(row: Workload, now: datetime) -> dict[str, Any]:
    disks = disk_latencies(row, now=now)
    return {
        "layer_bars": layer_bars(disks),
        "shared_gaps": shared_gaps(disks),
        "several_disk_hosts": len({one.allocation.host_id for one in disks}) > 1,
    }


def _incidents(workspace: Workspace, row: Workload, now: datetime) -> dict[str, Any]:
    found = incidents_with(workspace.scope, row, now=now)
    harm = harm_of(row, found, now=now)
    names = {one.workload for one in (*harm.by, *harm.whom)}
    return {"incidents": found, "harm": harm, "workload_pks": workload_keys(workspace, names)}


def _stale(days: list[AllocationDay], now: datetime) -> list[str]:
    """What of the workload's resources and hosts is too old to speak for now."""
    lines = [resource_line(day.resource, now=now) for day in days]
    hosts = {day.allocation.host.name: day.allocation.host for day in days}
    gaps = {name: sample_trouble(host, now=now) for name, host in hosts.items()}
    said = [f"{line.name}: {line.reason}" for line in lines if line.is_stale]
    return [*dict.fromkeys(said), *(f"{name}: {gap}" for name, gap in gaps.items() if gap)]


def _worst(days: list[AllocationDay]) -> AllocationDay | None:
    """The reservation that was kept least; None if nothing is reserved or measured."""
    kept = [day for day in days if day.met_ratio is not None]
    return min(kept, key=lambda day: day.met_ratio or 0.0, default=None)


def _measured(day: AllocationDay) -> str:
    """The time that its ratio is a part of: the last day, or what was measured of it."""
    length = timedelta(minutes=day.measured_min)
    if length >= NEARLY * LENGTH:
        return "the last day"
    return f"the {duration_text(length)} that were measured"


def _sum(minutes: list[float | None]) -> float | None:
    known = [one for one in minutes if one is not None]
    return sum(known) if known else None
