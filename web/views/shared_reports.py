"""What is shared by a link, for who has it, without a login: a report or an incident."""

from __future__ import annotations

from typing import assert_never

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.roles import Action
from accounts.row_wall import look_at
from advisor.errors import ExportImpossible
from advisor.models import SharedReport
from advisor.queries.incident_timeline import IncidentPicture
from advisor.reports import shared
from advisor.reports.written import WrittenReport, written
from advisor.reports.written_incident import WrittenIncident
from advisor.reports.written_proof import WrittenProof
from web.access import Workspace, open_row
from web.changing import changing
from web.views.incident_cause import picture_context
from web.views.proof import proof_pdf
from web.views.reports import PER_PAGE, asked_in, days_open, file_answer, read_asked


@changing("sent-reports")
def make(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Share the report that the form names, as it is now."""
    workspace.actor.require(Action.MANAGE_NOTIFICATIONS)
    now = timezone.now()
    asked = asked_in(request, request.POST)
    row = shared.share(
        organisation=workspace.membership.organisation,
        shared=written(read_asked(workspace, asked, now)),
        days=days_open(request),
        actor=workspace.actor,
        now=now,
    )
    messages.success(request, f"{row.title} can be read by who has the link below.")
    return redirect("sent-reports")


@changing("sent-reports")
def take_back(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, SharedReport, pk)
    shared.take_back(row, actor=workspace.actor, now=timezone.now())
    messages.success(request, "The link opens nothing any more.")
    return redirect("sent-reports")


@never_cache
@require_safe
def shared_report(request: HttpRequest, secret: str) -> HttpResponseBase:
    """What was shared as it was then, or that the link opens nothing any more."""
    named = shared.named_by(secret)
    found = None
    if named is not None:
        # The signature says that this organisation was asked, and this row of it alone is read.
        look_at(named.organisation)
        found = shared.opened(named, now=timezone.now())
    match found:
        case None:
            return _answer(request, 410)
        case WrittenIncident():
            return _incident(request, found)
        case WrittenProof():
            return _proof(request, found)
        case WrittenReport():
            return _report(request, found)
        case _:
            assert_never(found)


def _incident(request: HttpRequest, found: WrittenIncident) -> HttpResponseBase:
    picture = IncidentPicture(timeline=found.timeline, hosts=found.hosts)
    context = {"incident": found, "is_shared": True, **picture_context(picture)}
    return _answer(request, 200, "web/shared_incident.html", **context)


def _proof(request: HttpRequest, found: WrittenProof) -> HttpResponseBase:
    if request.GET.get("format") == "pdf":
        try:
            return proof_pdf(found)
        except ExportImpossible as error:
            said = f"{error}. The page has the same figures."
            return _answer(request, 503, reason=said)
    return _answer(request, 200, "web/shared_proof.html", proof=found)


def _report(request: HttpRequest, report: WrittenReport) -> HttpResponseBase:
    try:
        if file := file_answer(request, report):
            return file
    except ExportImpossible as error:
        said = f"{error}. The page and the CSV have the same figures."
        return _answer(request, 503, reason=said)
    page = Paginator(report.lines, PER_PAGE).get_page(request.GET.get("page"))
    return _answer(
        request, 200, words=report.words, lines=list(page), lines_title="Workloads", page=page
    )


def _answer(
    request: HttpRequest,
    status: int,
    template: str = "web/shared_report.html",
    **context: object,
) -> HttpResponseBase:
    answer = render(request, template, context, status=status)
    answer.headers["X-Robots-Tag"] = "noindex"
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer
