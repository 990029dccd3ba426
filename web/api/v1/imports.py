"""Imports of files, and what became of each file."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema

from ingest.models import ImportRun
from ingest.models.imported_file import ImportState
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import asker_of
from web.api.v1.fields import Pk

router = Router(tags=["imports"])


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
    """Files that are imported together; their times were moved by `shift_s`, null: by nothing."""

    id: int
    started_at: datetime
    started_by: str | None
    ended_at: datetime | None
    shift_s: int | None
    problem: str
    files: list[ImportedFile]


class ImportPage(Page):
    items: list[ImportRow]


@router.get("", response=ImportPage)
def list_imports(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List imports, newest first."""
    found, cursor = page_of(_rows(request), asked, newest_first=True)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=ImportRow)
def get_import(request: HttpRequest, pk: Pk) -> Any:
    """Read an import."""
    return _plain(get_object_or_404(_rows(request), pk=pk))


def _rows(request: HttpRequest) -> Any:
    rows = asker_of(request).scope.rows(ImportRun)
    return rows.select_related("started_by").prefetch_related("files")


def _plain(row: ImportRun) -> dict[str, Any]:
    return {
        "id": row.pk,
        "started_at": row.started_at,
        "started_by": row.started_by.get_username() if row.started_by else None,
        "ended_at": row.ended_at,
        "shift_s": row.shift_s,
        "problem": row.problem,
        "files": [
            {name: getattr(one, name) for name in ImportedFile.model_fields}
            for one in row.files.all()
        ],
    }
