"""Are the agents healthy, and what can each enforce?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.models import ComplianceRecord
from advisor.queries.host_charts import host_chart_plans
from advisor.queries.host_list import host_rows
from advisor.queries.hosts import AgentState, HostHealth, host_healths, other_case
from advisor.queries.resources import resource_line
from enforcers.contract import Holds
from ingest.models import Host, UnknownMeasurement
from ingest.sent_twice import sent_twice
from web.access import Workspace, open_row, workspace_view
from web.chart_list import charts_context
from web.page import render_page
from web.tables.address import read_address
from web.tables.hosts import URGENCY, host_table
from web.tables.listing import listing
from web.tables.workloads import workload_table
from web.views.tables import table_answer

LEDGER_ROWS = 50
MOST_SENT_TWICE = 20


@require_safe
@workspace_view
def hosts(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    rows = host_rows(workspace.scope, now=now)
    healths = [row.health for row in rows]
    return table_answer(
        request,
        workspace,
        host_table(rows),
        now=now,
        template="web/hosts.html",
        counts=_counts(healths),
        held=_held(healths),
    )


def _held(healths: Sequence[HostHealth]) -> list[tuple[str, Holds | None, list[str]]]:
    """What each mechanism makes of the controls, with the hosts whose agents say so."""
    hosts: dict[tuple[str, Holds | None], list[str]] = defaultdict(list)
    for health in healths:
        for item in health.mechanisms:
            hosts[item.mechanism, item.holds].append(health.name)
    return [(*key, names) for key, names in sorted(hosts.items(), key=lambda one: one[0][0])]


def _counts(healths: Sequence[HostHealth]) -> list[tuple[AgentState, int]]:
    """How many agents are in each state, in the order of urgency."""
    counted = Counter(health.agent_state for health in healths)
    return [(state, counted[state]) for state in URGENCY if counted[state]]


@require_safe
@workspace_view
def host(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    now = timezone.now()
    workspace, row = open_row(workspace, Host, pk)
    (health,) = host_healths(workspace.scope, now=now, host_pk=row.pk)
    records = (
        workspace.scope.rows(ComplianceRecord)
        .filter(host=row)
        .select_related("resource", "workload", "policy")
        .order_by("-reported_at", "resource__name", "workload__name")
    )
    ledger = Paginator(records, LEDGER_ROWS).get_page(request.GET.get("page"))
    twice = sent_twice([row]).get(row.pk, [])
    attachments = row.attachments.select_related("resource__status")
    attachments = attachments.prefetch_related("resource__attachments").order_by("device")
    return render_page(
        request,
        workspace,
        "web/host.html",
        now=now,
        section="hosts",
        host=health,
        attachments=[(found, resource_line(found.resource, now=now)) for found in attachments],
        ledger=ledger,
        other_case=other_case(row, workspace.scope.rows(Host).values_list("name", flat=True)),
        sent_twice=twice[:MOST_SENT_TWICE],
        sent_twice_more=len(twice[MOST_SENT_TWICE:]),
        not_known=workspace.scope.rows(UnknownMeasurement).filter(host=row.name),
        **_workloads(workspace, row, now),
        **charts_context(
            request.GET,
            "host",
            row.pk,
            [(plan.key, plan.title, plan.form) for plan in host_chart_plans(row)],
            now=now,
        ),
    )


def _workloads(workspace: Workspace, row: Host, now: datetime) -> dict[str, Any]:
    """The busiest workloads of the host; the heads lead to the whole list of them."""
    table = workload_table(now, host_pk=row.pk)
    query = QueryDict(mutable=True)
    query.update({"host": row.name, "sort": "-rate"})
    query.setlist("columns", ["name", "resource", "tier", "rate", "state"])
    address = read_address(query, table)
    return {
        "table": table,
        "address": address,
        "listing": listing(table, address, scope=workspace.scope, now=now),
        "list_address": reverse("workloads"),
    }
