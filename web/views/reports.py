"""Reports of a period: in the browser, for a spreadsheet and for print."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import available_timezones

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.core.reporting.period import BETWEEN, Recurring
from advisor.core.reporting.report import Report
from advisor.core.reporting.schedule import LONGEST_TAG
from advisor.core.reporting.words import words_of, workload_line
from advisor.errors import ExportImpossible, InventoryError
from advisor.models import ChannelKind, NotificationChannel, Team
from advisor.queries.report import read_report
from advisor.reports.asked import AskedReport, period_of_asked, subject_of
from advisor.reports.pdf import pdf_of
from advisor.reports.printed import printed
from advisor.reports.shared import DAYS
from advisor.reports.written import WrittenReport, written
from web.access import Workspace, workspace_view
from web.page import render_page

STATED = "days"
"""The period whose first and last day are stated."""
PER_PAGE = 50
PERIODS = (
    (str(Recurring.TODAY), "today so far"),
    (str(Recurring.LAST_DAY), "yesterday"),
    (str(Recurring.LAST_WEEK), "last week"),
    (str(Recurring.LAST_MONTH), "last month"),
    (STATED, "from day to day"),
)


@require_safe
@workspace_view
def reports(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """The report that the address asks for, of last week without any words."""
    now = timezone.now()
    asked = asked_in(request, request.GET)
    try:
        report = read_asked(workspace, asked, now)
        if file := file_answer(request, written(report)):
            return file
        return _page(request, workspace, asked, report, now)
    except InventoryError as error:
        return _refused(request, workspace, asked, f"{error}.", now, status=400)
    except ExportImpossible as error:
        said = f"{error}. The page and the CSV have the same figures."
        return _refused(request, workspace, asked, said, now, status=503)


def asked_in(request: HttpRequest, query: QueryDict) -> AskedReport:
    """What an address or a form asks for; days are those of the reader."""
    period = query.get("period", str(Recurring.LAST_WEEK))
    if period == STATED:
        period = f"{query.get('first', '')}{BETWEEN}{query.get('last', '')}"
    return AskedReport(
        period=period,
        zone=query.get("zone", "") or readers_zone(request) or "UTC",
        team=query.get("team", ""),
        tag=query.get("tag", "").strip(),
        workload=query.get("workload", "").strip(),
    )


def days_open(request: HttpRequest) -> int:
    """For how long a form asks a link to open; 0 for what is no number of days."""
    days = request.POST.get("days_open", "")
    return int(days) if days.isascii() and days.isdecimal() and len(days) < 4 else 0


def readers_zone(request: HttpRequest) -> str:
    """That of the reader's profile; empty if it is that of the browser."""
    return getattr(getattr(request.user, "profile", None), "time_zone", "")


def zone_names() -> list[str]:
    """All that can be chosen."""
    return sorted(available_timezones())


def read_asked(workspace: Workspace, asked: AskedReport, now: datetime) -> Report:
    if asked.period == BETWEEN:
        raise InventoryError("state the first and the last day of the period")
    period = period_of_asked(asked, now=now)
    subject = subject_of(workspace.membership.organisation, asked)
    return read_report(subject, period, now=now)


def file_answer(request: HttpRequest, report: WrittenReport) -> HttpResponse | None:
    """The file that the address asks for; None if it asks for the page."""
    match request.GET.get("format"):
        case "csv":
            answer = HttpResponse(report.csv, content_type="text/csv; charset=utf-8")
        case "pdf":
            answer = HttpResponse(pdf_of(printed(report)), content_type="application/pdf")
        case _:
            return None
    name = f"{report.file_name}.{request.GET['format']}"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _page(
    request: HttpRequest, workspace: Workspace, asked: AskedReport, report: Report, now: datetime
) -> HttpResponse:
    page = Paginator(report.workloads, PER_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    form = _form(request, workspace, asked)
    form |= {"first": f"{report.period.first}", "last": f"{report.period.last}"}
    return render_page(
        request,
        workspace,
        "web/reports.html",
        now=now,
        words=words_of(report),
        lines=[workload_line(one) for one in page],
        lines_title="Workloads",
        page=page,
        address=query.urlencode(),
        **form,
    )


def _refused(
    request: HttpRequest,
    workspace: Workspace,
    asked: AskedReport,
    reason: str,
    now: datetime,
    *,
    status: int,
) -> HttpResponse:
    context = _form(request, workspace, asked)
    return render_page(
        request, workspace, "web/reports.html", now=now, status=status, reason=reason, **context
    )


def _form(request: HttpRequest, workspace: Workspace, asked: AskedReport) -> dict[str, Any]:
    stated = request.GET.get("period") == STATED
    return {
        "section": "reports",
        "asked": asked,
        "periods": PERIODS,
        "stated": STATED,
        "chosen": STATED if stated else asked.period,
        "first": request.GET.get("first", ""),
        "last": request.GET.get("last", ""),
        "zones": zone_names(),
        "has_zone": bool(request.GET.get("zone") or readers_zone(request)),
        "share_days": DAYS,
        "mail_channels": workspace.scope.rows(NotificationChannel).filter(
            kind=ChannelKind.MAIL, stopped_at=None
        ),
        "teams": workspace.scope.rows(Team),
        "longest_tag": LONGEST_TAG,
    }
