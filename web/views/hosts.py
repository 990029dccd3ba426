"""Are the agents healthy, and what can each enforce?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from advisor.models import ComplianceRecord
from advisor.queries.hosts import AgentState, HostHealth, host_healths
from advisor.queries.resources import resource_line
from enforcers.contract import Holds, MechanismSupport
from ingest.models import Host
from web.access import Workspace, open_row, workspace_view
from web.page import render_page, render_part

LEDGER_ROWS = 50


@workspace_view
def hosts(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    healths = host_healths(workspace.scope, now=now)
    context: dict[str, Any] = {
        "hosts": healths,
        "counts": _counts(healths),
        "mechanisms": (names := _mechanism_names(healths)),
        "rows": [(health, _answers(health, names)) for health in healths],
        "held": _held(healths),
    }
    if "HX-Request" in request.headers:
        return render_part(request, workspace, "web/parts/hosts.html", now=now, **context)
    return render_page(request, workspace, "web/hosts.html", now=now, section="hosts", **context)


def _mechanism_names(healths: Sequence[HostHealth]) -> list[str]:
    """All that any agent has reported, in the order in which agents do."""
    return list(dict.fromkeys(item.mechanism for one in healths for item in one.mechanisms))


def _answers(
    health: HostHealth, names: Sequence[str]
) -> list[tuple[str, MechanismSupport | None]]:
    """What the host's agent said of each mechanism; None where it said nothing."""
    said = {item.mechanism: item for item in health.mechanisms}
    return [(name, said.get(name)) for name in names]


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
    urgency = [
        AgentState.FAILING,
        AgentState.SILENT,
        AgentState.BEHIND,
        AgentState.WAITING,
        AgentState.ENFORCING,
        AgentState.DRY_RUN,
        AgentState.IDLE,
        AgentState.NOT_ENROLLED,
    ]
    return [(state, counted[state]) for state in urgency if counted[state]]


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
    )
