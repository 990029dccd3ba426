"""Files of samples that people upload, and what they show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.files.base import File
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_POST, require_safe

from advisor.decisions.uploads import answer, is_asking, upload
from advisor.errors import DecisionRefused
from advisor.queries.kept_import_report import kept_import_report
from ingest.core.imported.answers import DATE_ORDERS, Answers, checked
from ingest.models import ImportRun
from web.access import Workspace, require_operator, workspace_view
from web.page import render_page, render_part

PER_PAGE = 50
_MIB = 1024 * 1024
_PART_BYTES = _MIB
_FORM_BYTES = 64 * 1024
"""The fields beside the files, and what stands between them."""


class _WrongAnswerError(ValueError):
    """A field of the form cannot be read; the text says what is allowed."""


@require_safe
@workspace_view
def imports(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Past imports, and the form for another one."""
    now = timezone.now()
    runs = ImportRun.objects.filter(organisation=workspace.membership.organisation)
    page = Paginator(runs.select_related("started_by"), PER_PAGE).get_page(request.GET.get("page"))
    return render_page(
        request,
        workspace,
        "web/imports.html",
        now=now,
        section="hosts",
        page=page,
        most_mib=settings.MAX_UPLOAD_BYTES // _MIB,
        date_orders=list(DATE_ORDERS),
    )


@csrf_exempt
@require_POST
@workspace_view
def upload_files(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Refuse who may not upload, and what is too large, before anything of it is read.

    The token of the form is in what is read, so it is looked at after that.
    """
    require_operator(workspace)
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length.isdecimal():
        return HttpResponse("The length of the upload is not stated.", status=411)
    if int(length) > settings.MAX_UPLOAD_BYTES + _FORM_BYTES:
        most = settings.MAX_UPLOAD_BYTES // _MIB
        text = f"The files are larger than {most} MiB together. Import them with sluice import."
        return HttpResponse(text, status=413, content_type="text/plain")
    response: HttpResponseBase = _upload(request, workspace)
    return response


@csrf_protect
def _upload(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    files = request.FILES.getlist("files")
    if not files:
        messages.error(request, "Nothing was imported: choose a file.")
        return redirect("imports")
    try:
        run = upload(
            organisation=workspace.membership.organisation,
            user=workspace.membership.user,
            files=((file.name or "file", _parts(file)) for file in files),
            answers=_answers(request.POST, Answers()),
            is_shifted=request.POST.get("shift") == "now",
            now=timezone.now(),
        )
    except (_WrongAnswerError, DecisionRefused) as error:
        messages.error(request, f"Nothing was imported: {error}.")
        return redirect("imports")
    return redirect("import", run.pk)


def _parts(file: File[bytes]) -> Iterator[bytes]:
    yield from file.chunks(_PART_BYTES)


@require_safe
@workspace_view
def one_import(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """How far an import is, then its report; the part of it alone for htmx."""
    now = timezone.now()
    workspace, run = _open(workspace, pk)
    is_part = "HX-Request" in request.headers
    if is_part and run.ended_at is not None:
        # The whole page: it asks no more, and may have a form for what files do not say.
        return HttpResponse(headers={"HX-Refresh": "true"})
    context: dict[str, Any] = {
        "run": run,
        "report": kept_import_report(run, now=now),
        "files": list(run.files.all()),
        "asking": is_asking(run),
        "date_orders": list(DATE_ORDERS),
    }
    if is_part:
        return render_part(request, workspace, "web/parts/import.html", now=now, **context)
    return render_page(request, workspace, "web/import.html", now=now, section="hosts", **context)


@require_POST
@workspace_view
def answer_files(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Import the files that asked something with what was said."""
    workspace, run = _open(workspace, pk)
    require_operator(workspace)
    try:
        answer(run, _answers(request.POST, Answers(**run.answers)))
    except (_WrongAnswerError, DecisionRefused) as error:
        messages.error(request, f"Nothing was imported: {error}.")
    return redirect("import", run.pk)


def _open(workspace: Workspace, pk: int) -> tuple[Workspace, ImportRun]:
    visible = ImportRun.objects.visible_to(workspace.membership.user)
    run = visible.select_related("organisation", "started_by").filter(pk=pk).first()
    if run is None:
        raise Http404(f"no import {pk}")
    return workspace.at(run.organisation_id), run


def _answers(form: QueryDict, before: Answers) -> Answers:
    """What the form says; what it leaves out stays. Raises `_WrongAnswerError`."""
    said = {
        name: form.get(name, "").strip()
        for name in ("host", "zone", "date_order", "first_at", "every_s")
    }
    try:
        every_s = float(said.pop("every_s") or before.every_s)
        given = {name: text for name, text in said.items() if text}
        return checked(replace(before, every_s=every_s, **given))
    except ValueError as error:
        raise _WrongAnswerError(str(error)) from error
