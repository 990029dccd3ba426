"""Imports of files: uploads, how far each is, what it asks, and what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.roles import Action
from advisor.decisions.uploads import answer, upload
from advisor.errors import DecisionRefused
from advisor.queries.import_report import FoundIncident as Incident
from advisor.queries.import_report import FoundResource as Resource
from advisor.queries.kept_import_report import kept_import_report
from ingest.core.imported.answers import Answers, checked
from ingest.core.lengths import LONGEST_HOST_NAME
from ingest.models import ImportRun, UploadedPart
from ingest.models.imported_file import ImportState
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of, length_of
from web.api.v1.fields import NO_NUL, Asked, Pk
from web.api.v1.problem import Refused

router = Router(tags=["imports"])
_PART_BYTES = 1024 * 1024
FileName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f/]+$")]
HostText = Annotated[str, Field(max_length=LONGEST_HOST_NAME, pattern=NO_NUL)]
ShortText = Annotated[str, Field(max_length=60, pattern=NO_NUL)]
DateOrder = Literal["month", "day"]
Interval = Annotated[float, Field(gt=0, le=86_400)]


class ImportedFile(Schema):
    name: str
    size_bytes: int
    format: str
    state: ImportState
    accepted: int
    ignored: int
    rejected: int
    too_old: int
    first_at: datetime | None
    last_at: datetime | None
    hosts: list[Any]
    problem: str


class ImportRow(Schema):
    """Files that are imported together; their times were moved by `shift_s`, null: by nothing.

    It goes on until `ended_at`. Where `is_asking`, a file does not say something that its import
    needs: its `problem` says what, and an answer lets it go on.
    """

    id: int
    started_at: datetime
    started_by: str | None
    ended_at: datetime | None
    shift_s: int | None
    problem: str
    is_asking: bool
    files: list[ImportedFile]


class ImportPage(Page):
    items: list[ImportRow]


class UploadQuestion(Schema):
    """What the address says of the file in the body, and of what it leaves out."""

    name: FileName
    host: HostText = Field("", description="on which it was written")
    zone: ShortText = Field("", description="of its times, such as Europe/Berlin")
    date_order: DateOrder | None = Field(None, description="what stands first in its dates")
    first_at: ShortText = Field("", description="when the first report without a time was made")
    every_s: Interval | None = Field(None, description="between reports without times")
    is_shifted: bool = Field(False, description="move all times so that the last one is now")


class ImportAnswers(Asked):
    """What files do not say; what is left out stays as it was said before."""

    host: HostText = ""
    zone: ShortText = ""
    date_order: DateOrder | None = None
    first_at: ShortText = ""
    every_s: Annotated[float, Field(strict=True, gt=0, le=86_400)] | None = None


class FoundIncident(Schema):
    """One incident in the imported time; its texts say so where nothing can be told."""

    id: int
    since: datetime
    until: datetime | None
    peak: str
    threshold: str
    by_whom: str
    at_expense_of: str
    would_have_helped: str


class FoundResource(Schema):
    """What was judged of a resource in the imported time; `gap` says why it was not."""

    id: int
    name: str
    windows: int
    judged_for: str
    worst: str
    worst_at: datetime | None
    threshold: str
    incidents: list[FoundIncident]
    incident_count: int
    gap: str


class ImportReport(Schema):
    """What an import shows: what was congested, when, by whom, and what would have helped."""

    hosts: list[str]
    since: datetime | None
    until: datetime | None
    shift: str
    resources: list[FoundResource]
    advice: list[str]


@router.get("", response=ImportPage)
def list_imports(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List imports, newest first."""
    found, cursor = page_of(_rows(request), asked, newest_first=True)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=ImportRow)
def get_import(request: HttpRequest, pk: Pk) -> Any:
    """Read an import."""
    return _plain(get_object_or_404(_rows(request), pk=pk))


@router.post("", response={201: ImportRow})
def upload_file(request: HttpRequest, asked: Query[UploadQuestion], response: HttpResponse) -> Any:
    """Upload a file of samples as the body, as it is; a worker imports it soon."""
    workspace = acting(request, Action.DECIDE)
    if not length_of(request):
        raise Refused(422, "invalid", "the body is the file, with its Content-Length; it is empty")
    said = asked.dict(exclude={"name", "is_shifted"}, exclude_none=True)
    run = upload(
        organisation=workspace.membership.organisation,
        user=workspace.membership.user,
        files=[(asked.name, _parts(request))],
        answers=_checked(Answers(**said)),
        is_shifted=asked.is_shifted,
        now=timezone.now(),
    )
    response.headers["Location"] = f"/api/v1/imports/{run.pk}"
    return Status(201, _plain(_rows(request).get(pk=run.pk)))


@router.post("/{int:pk}/answers", response=ImportRow)
def answer_import(request: HttpRequest, pk: Pk, asked: ImportAnswers) -> Any:
    """Say what files leave out; those that asked are imported once more."""
    run = get_object_or_404(_rows(request), pk=pk)
    acting(request, Action.DECIDE)
    said = {name: value for name, value in asked.dict().items() if value}
    answer(run, _checked(replace(Answers(**run.answers), **said)))
    return _plain(_rows(request).get(pk=run.pk))


@router.get("/{int:pk}/report", response=ImportReport)
def get_import_report(request: HttpRequest, pk: Pk) -> Any:
    """Read what an import shows, once it has ended."""
    run = get_object_or_404(_rows(request), pk=pk)
    report = kept_import_report(run, now=timezone.now())
    if report is None:
        raise Http404(f"import {run.pk} goes on; its report is there when it has ended")
    found = {name: getattr(report, name) for name in ImportReport.model_fields}
    return found | {"resources": [_resource(one) for one in report.resources]}


def _parts(request: HttpRequest) -> Iterator[bytes]:
    """The body in parts, of which the largest fits into memory."""
    taken = 0
    while data := request.read(_PART_BYTES):
        taken += len(data)
        if taken > settings.MAX_UPLOAD_BYTES:
            raise Refused(413, "too_large", "the body is longer than it said")
        yield data


def _checked(answers: Answers) -> Answers:
    try:
        return checked(answers)
    except ValueError as error:
        raise DecisionRefused(str(error)) from error


def _resource(one: Resource) -> dict[str, Any]:
    plain = {name: getattr(one, name, None) for name in FoundResource.model_fields}
    return plain | {"id": one.pk, "incidents": [_incident(found) for found in one.incidents]}


def _incident(one: Incident) -> dict[str, Any]:
    plain = {name: getattr(one, name, None) for name in FoundIncident.model_fields}
    return plain | {"id": one.pk}


def _rows(request: HttpRequest) -> Any:
    rows = asker_of(request).scope.rows(ImportRun)
    kept = Exists(UploadedPart.objects.filter(run=OuterRef("pk")))
    return rows.select_related("started_by").prefetch_related("files").annotate(is_kept=kept)


def _plain(row: Any) -> dict[str, Any]:
    files = list(row.files.all())
    return {
        "id": row.pk,
        "started_at": row.started_at,
        "started_by": row.started_by.get_username() if row.started_by else None,
        "ended_at": row.ended_at,
        "shift_s": row.shift_s,
        "problem": row.problem,
        "is_asking": row.is_kept
        and row.ended_at is not None
        and any(one.state == ImportState.QUESTION for one in files),
        "files": [
            {name: getattr(one, name) for name in ImportedFile.model_fields} for one in files
        ],
    }
