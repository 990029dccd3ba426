"""A report for who has the link to it, without a login: a proof for a customer."""

from __future__ import annotations

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
from advisor.reports import shared
from advisor.reports.written import written
from web.access import Workspace, open_row
from web.changing import changing
from web.views.reports import PER_PAGE, asked_in, file_answer, read_asked


@changing("sent-reports")
def make(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Share the report that the form names, as it is now."""
    workspace.actor.require(Action.MANAGE_NOTIFICATIONS)
    now = timezone.now()
    asked = asked_in(request, request.POST)
    days = request.POST.get("days_open", "")
    row = shared.share(
        organisation=workspace.membership.organisation,
        report=written(read_asked(workspace, asked, now)),
        days=int(days) if days.isascii() and days.isdecimal() and len(days) < 4 else 0,
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
    """The report as it was when it was shared, or that the link opens nothing any more."""
    named = shared.named_by(secret)
    report = None
    if named is not None:
        # The signature says that this organisation was asked, and this row of it alone is read.
        look_at(named.organisation)
        report = shared.opened(named, now=timezone.now())
    if report is None:
        return _answer(request, 410)
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


def _answer(request: HttpRequest, status: int, **context: object) -> HttpResponseBase:
    answer = render(request, "web/shared_report.html", context, status=status)
    answer.headers["X-Robots-Tag"] = "noindex"
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer
