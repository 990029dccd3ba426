"""The lists of workloads, storage and networks, and the frame of every list."""

from __future__ import annotations

import csv
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from web.access import Workspace, workspace_view
from web.formatting import absolute_text, csv_safe
from web.page import render_page, render_part
from web.tables.address import read_address
from web.tables.column import Plain, Table
from web.tables.listing import exported, listing
from web.tables.resources import network_table, storage_table
from web.tables.workloads import workload_table


@require_safe
@workspace_view
def workloads(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    return table_answer(request, workspace, workload_table(now := timezone.now()), now=now)


@require_safe
@workspace_view
def storage(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    return table_answer(request, workspace, storage_table(now := timezone.now()), now=now)


@require_safe
@workspace_view
def networks(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    return table_answer(request, workspace, network_table(now := timezone.now()), now=now)


def table_answer(
    request: HttpRequest,
    workspace: Workspace,
    table: Table[Any],
    *,
    now: datetime,
    template: str = "web/table.html",
    **context: Any,
) -> HttpResponseBase:
    """The page of a list, its update in place, or all its rows as CSV with `?format=csv`."""
    address = read_address(request.GET, table)
    if request.GET.get("format") == "csv":
        return _csv(table, *exported(table, address, scope=workspace.scope, now=now))
    context |= {
        "table": table,
        "listing": listing(table, address, scope=workspace.scope, now=now),
        "address": address,
    }
    if "HX-Request" in request.headers:
        return render_part(request, workspace, "web/parts/table.html", now=now, **context)
    return render_page(request, workspace, template, now=now, section=table.name, **context)


def _csv(table: Table[Any], heads: list[str], rows: list[list[Plain]]) -> HttpResponse:
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer.headers["Content-Disposition"] = f'attachment; filename="{table.name}.csv"'
    answer.headers["Cache-Control"] = "no-store"
    writer = csv.writer(answer)
    writer.writerow(heads)
    writer.writerows([_written(value) for value in row] for row in rows)
    return answer


def _written(value: Plain) -> str | float:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return absolute_text(value)
    if isinstance(value, str):
        return csv_safe(value)
    return int(value) if value.is_integer() else float(f"{value:.6g}")
