"""Claims of pods on persistent volumes, and the changes of their VolumeAttributesClass."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.roles import Action
from advisor.decisions.kubernetes.class_changes import undo_change
from advisor.models import ChangeState, ClassChange, ClusterClaim, ClusterPod, Unit
from advisor.queries.claim_list import (
    change_document,
    change_rows,
    claim_document,
    claim_rows,
    listed_changes,
    listed_claims,
    used_by,
)
from ingest.core.kubernetes.cluster import LONGEST_NAME, LONGEST_NAMESPACE
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import NO_NUL, Name, Pk
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["claims"])
Namespace = Annotated[str, Field(min_length=1, max_length=LONGEST_NAMESPACE, pattern=NO_NUL)]
ClaimName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=NO_NUL)]


class ClassChangeRow(Schema):
    """A claim that is to ask for another class; only its cluster says that the volume has it."""

    id: int
    recommendation_id: int
    claim_id: int | None = Field(description="null: the claim is gone")
    source_id: int
    source: str
    namespace: str
    name: str
    workload: str
    former_class: str | None = Field(description="that the claim asked for before; null: none")
    wanted_class: str | None = Field(description="null: none")
    limit: float | None = Field(description="to which it holds the workload; null for an undo")
    unit: Unit
    state: ChangeState
    said: str = Field(description="why it failed or waits, or what the driver says")
    asked_at: datetime
    asked_by: str
    changed_at: datetime | None = Field(description="when the cluster took it")
    ended_at: datetime | None
    undoes_id: int | None = Field(description="the change that this one undoes")
    undone_by_id: int | None
    can_be_undone: bool


class ClassChangePage(Page):
    items: list[ClassChangeRow]


class ClassChangeFilter(Paged):
    claim_id: Pk | None = None
    recommendation_id: Pk | None = None
    state: ChangeState | None = None


class ClaimPod(Schema):
    """A pod that uses the claim; its workload is null where no collector shows the pod."""

    name: str
    node: str | None
    owner: str | None = Field(description="what keeps it, such as StatefulSet/db")
    workload_id: int | None
    workload: str | None


class ClaimRow(Schema):
    """A PersistentVolumeClaim as its cluster was last read."""

    id: int
    source_id: int
    source: str
    namespace: str
    name: str
    labels: dict[str, str]
    size_bytes: int | None = Field(description="of its volume; null until there is one")
    storage_class: str | None
    attributes_class: str | None = Field(
        description="the VolumeAttributesClass that its volume has"
    )
    asked_attributes_class: str | None = Field(description="the one that it asks for")
    driver_says: str | None = Field(description="of a change of class that is not done")
    volume: str | None
    driver: str | None
    resource_id: int | None = Field(description="where the volume lies; null: no host says so")
    resource: str | None
    pods: list[ClaimPod]
    newest_change: ClassChangeRow | None = Field(
        description="the newest change of its class that was asked for here"
    )


class ClaimPage(Page):
    items: list[ClaimRow]


class ClaimFilter(Paged):
    source: Name | None = Field(None, description="the name of a cluster")
    namespace: Namespace | None = None
    name: ClaimName | None = None
    workload_id: Pk | None = None
    resource_id: Pk | None = None


@router.get("claims", response=ClaimPage)
def list_claims(request: HttpRequest, asked: Query[ClaimFilter]) -> Any:
    """List the claims of pods on persistent volumes."""
    rows = _claims(request)
    named: dict[str, object] = {
        "source__name": asked.source, "namespace": asked.namespace, "name": asked.name,
        "resource": asked.resource_id,
    }  # fmt: skip
    rows = rows.filter(**{key: value for key, value in named.items() if value is not None})
    if asked.workload_id is not None:
        pods = asker_of(request).scope.rows(ClusterPod).filter(workload=asked.workload_id)
        rows = used_by(rows, pods)
    found, cursor = page_of(rows, asked)
    return {"items": [claim_document(one) for one in listed_claims(found)], "next_cursor": cursor}


@router.get("claims/{int:pk}", response=ClaimRow)
def get_claim(request: HttpRequest, pk: Pk) -> Any:
    """Read a claim."""
    (found,) = listed_claims([get_object_or_404(_claims(request), pk=pk)])
    return claim_document(found)


@router.get("class-changes", response=ClassChangePage)
def list_class_changes(request: HttpRequest, asked: Query[ClassChangeFilter]) -> Any:
    """List the changes of classes of claims, newest first."""
    rows = _changes(request)
    if asked.claim_id is not None:
        claim = _claims(request).filter(pk=asked.claim_id).first()
        rows = rows.none() if claim is None else rows.filter(source=claim.source, uid=claim.uid)
    if asked.recommendation_id is not None:
        rows = rows.filter(recommendation=asked.recommendation_id)
    if asked.state is not None:
        rows = rows.filter(state=asked.state)
    found, cursor = page_of(rows, asked, newest_first=True)
    return {"items": list(map(change_document, listed_changes(found))), "next_cursor": cursor}


@router.get("class-changes/{int:pk}", response=ClassChangeRow)
def get_class_change(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a change of a claim's class."""
    return _shown(get_object_or_404(_changes(request), pk=pk), response)


@router.post("class-changes/{int:pk}/undo", response=ClassChangeRow)
def undo_class_change(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Have the claim ask for its former class again; answers that change. Takes an admin."""
    row = get_object_or_404(_changes(request), pk=pk)
    workspace = acting(request, Action.CARRY_OUT)
    require_match(request, _tag(row))
    made = undo_change(row, actor=workspace.actor, now=timezone.now())
    return _shown(_changes(request).get(pk=made.pk), response)


def _claims(request: HttpRequest) -> QuerySet[ClusterClaim]:
    return claim_rows(asker_of(request).scope.rows(ClusterClaim))


def _changes(request: HttpRequest) -> QuerySet[ClassChange]:
    return change_rows(asker_of(request).scope.rows(ClassChange))


def _shown(row: ClassChange, response: HttpResponse) -> dict[str, Any]:
    tagged(response, _tag(row))
    (found,) = listed_changes([row])
    return change_document(found)


def _tag(row: ClassChange) -> str:
    return tag_of(row.pk, row.state, row.said, row.changed_at, row.can_be_undone)
