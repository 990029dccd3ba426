"""A proof for a customer: what was promised, whether it was kept, by whom that was measured."""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.roles import Action
from advisor.core.reporting.period import BETWEEN
from advisor.errors import ExportImpossible, InventoryError
from advisor.models import Team
from advisor.queries.proof import read_proof
from advisor.reports import shared
from advisor.reports.asked import AskedReport, period_of_asked, subject_of
from advisor.reports.pdf import pdf_of
from advisor.reports.printed import rendered
from advisor.reports.shared import DAYS
from advisor.reports.written_proof import WrittenProof, written_proof
from web.access import Workspace, workspace_view
from web.changing import changing
from web.page import render_page
from web.views.reports import PERIODS, STATED, asked_in, days_open, zone_names


@require_safe
@workspace_view
def proof(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """The proof that the address asks for; without a workload or a team the form alone."""
    now = timezone.now()
    asked = asked_in(request, request.GET)
    if not asked.workload and not asked.team:
        return _page(request, workspace, asked, now)
    try:
        found = _read(workspace, asked, now)
        if request.GET.get("format") == "pdf":
            return proof_pdf(found)
        return _page(request, workspace, asked, now, proof=found)
    except InventoryError as error:
        return _page(request, workspace, asked, now, status=400, reason=f"{error}.")
    except ExportImpossible as error:
        said = f"{error}. The page has the same figures."
        return _page(request, workspace, asked, now, status=503, reason=said)


@changing("proof")
def share(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Make a link that opens the proof as it is now, without a login."""
    workspace.actor.require(Action.MANAGE_NOTIFICATIONS)
    now = timezone.now()
    asked = asked_in(request, request.POST)
    if not asked.workload and not asked.team:
        raise InventoryError("name the workload or the team")
    row = shared.share(
        organisation=workspace.membership.organisation,
        shared=_read(workspace, asked, now),
        days=days_open(request),
        actor=workspace.actor,
        now=now,
    )
    messages.success(request, f"{row.title} can be read by who has the link below.")
    return redirect("sent-reports")


def proof_pdf(found: WrittenProof) -> HttpResponse:
    """The proof for print; ExportImpossible says why there is none."""
    pdf = pdf_of(rendered("reports/proof_print.html", proof=found))
    answer = HttpResponse(pdf, content_type="application/pdf")
    answer.headers["Content-Disposition"] = 'attachment; filename="sluice-proof.pdf"'
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _read(workspace: Workspace, asked: AskedReport, now: datetime) -> WrittenProof:
    if asked.period == BETWEEN:
        raise InventoryError("state the first and the last day of the period")
    subject = subject_of(workspace.membership.organisation, asked)
    return written_proof(read_proof(subject, period_of_asked(asked, now=now), now=now))


def _page(
    request: HttpRequest,
    workspace: Workspace,
    asked: AskedReport,
    now: datetime,
    *,
    status: int = 200,
    **context: object,
) -> HttpResponse:
    query = request.GET.copy()
    query.pop("format", None)
    stated = request.GET.get("period") == STATED
    return render_page(
        request,
        workspace,
        "web/proof.html",
        now=now,
        status=status,
        section="reports",
        asked=asked,
        periods=PERIODS,
        chosen=STATED if stated else asked.period,
        stated=STATED,
        first=request.GET.get("first", ""),
        last=request.GET.get("last", ""),
        zones=zone_names(),
        share_days=DAYS,
        teams=workspace.scope.rows(Team),
        address=query.urlencode(),
        **context,
    )
