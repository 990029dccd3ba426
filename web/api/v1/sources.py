"""vCenters and Kubernetes clusters that are read by themselves; all of it takes an admin."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.models import Organisation
from accounts.roles import Action
from advisor.decisions.sources import stating as services
from advisor.decisions.sources.problems import StatedSource
from advisor.models import ReadSource
from advisor.models.source import (
    LEAST_EVERY_MIN,
    LONGEST_ADDRESS,
    LONGEST_AUTHORITY,
    LONGEST_PASSWORD,
    LONGEST_RATES,
    LONGEST_TOKEN,
    LONGEST_USER,
    MOST_EVERY_MIN,
    USUAL_EVERY_MIN,
    USUAL_TIER_LABEL,
    SourceKind,
)
from ingest.core.kubernetes.cluster import LONGEST_LABEL
from web.access import Workspace
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting
from web.api.v1.fields import NO_NUL, WHOLE, Asked, Flag, Name, Pk
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["sources"])
Text = Annotated[str, Field(pattern=NO_NUL)]


class SourceRow(Schema):
    """A source with what its last read and its last test gave; its password is told to nobody."""

    id: int
    name: str
    kind: SourceKind
    address: str
    user: str = Field(description="empty for a Kubernetes cluster, which has a token")
    fingerprint: str = Field(description="SHA-256 of the certificate that is pinned, or empty")
    authority: str = Field(description="certificates of the authority in PEM, or empty")
    every_min: int
    takes_over: bool
    tier_label: str = Field(description="label of pods that gives a workload its tier, or empty")
    class_rates: str = Field(description="what parameters of classes of volumes mean, or empty")
    paused_at: datetime | None
    next_at: datetime | None = Field(description="when it is read next; null while it is paused")
    read_at: datetime | None = Field(description="when it was last read with success")
    failures: int = Field(description="reads that failed since then")
    says: str = Field(description="what the last read found, or why it failed")
    tested_at: datetime | None
    test_worked: bool | None = Field(description="null before a test, and while it lasts")
    test_says: str


class SourcePage(Page):
    items: list[SourceRow]


class StatedVcenterSource(Asked):
    """All of a source, but a password that is kept."""

    name: Name
    address: Annotated[Text, Field(min_length=1, max_length=LONGEST_ADDRESS)]
    user: Annotated[Text, Field(min_length=1, max_length=LONGEST_USER)]
    password: Annotated[Text, Field(max_length=LONGEST_PASSWORD)] = Field(
        default="", repr=False, description="left out: that of the source of this name"
    )
    fingerprint: Annotated[Text, Field(max_length=100)] = ""
    authority: Annotated[Text, Field(max_length=LONGEST_AUTHORITY)] = ""
    every_min: Annotated[int, Field(ge=LEAST_EVERY_MIN, le=MOST_EVERY_MIN), WHOLE] = (
        USUAL_EVERY_MIN
    )
    takes_over: Flag = Field(default=False, description="state here what differs there")


class StatedKubernetesSource(Asked):
    """All of a Kubernetes cluster, but a token that is kept."""

    name: Name
    address: Annotated[Text, Field(min_length=1, max_length=LONGEST_ADDRESS)]
    token: Annotated[Text, Field(max_length=LONGEST_TOKEN)] = Field(
        default="",
        repr=False,
        description="left out: that of the source of this name; of the server's own cluster, "
        "the account of its pods",
    )
    fingerprint: Annotated[Text, Field(max_length=100)] = ""
    authority: Annotated[Text, Field(max_length=LONGEST_AUTHORITY)] = ""
    every_min: Annotated[int, Field(ge=LEAST_EVERY_MIN, le=MOST_EVERY_MIN), WHOLE] = (
        USUAL_EVERY_MIN
    )
    takes_over: Flag = Field(default=False, description="give workloads their labels and tiers")
    tier_label: Annotated[Text, Field(max_length=LONGEST_LABEL)] = Field(
        default=USUAL_TIER_LABEL,
        description="label of pods that gives a workload its tier; empty: none does",
    )
    class_rates: Annotated[Text, Field(max_length=LONGEST_RATES)] = Field(
        default="",
        description="what parameters of its VolumeAttributesClasses mean, as `iops=IOPS "
        "throughput=MiB/s`; an admin's approval of a limit then gives claims their class",
    )


@router.get("", response=SourcePage)
def list_sources(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List the vCenters and Kubernetes clusters that are read; takes an admin."""
    found, cursor = page_of(_rows(_admin(request)), asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=SourceRow)
def get_source(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a source; takes an admin."""
    row = get_object_or_404(_rows(_admin(request)), pk=pk)
    tagged(response, _tag(row))
    return _plain(row)


@router.put("", response=SourceRow)
def state_vcenter_source(
    request: HttpRequest, asked: StatedVcenterSource, response: HttpResponse
) -> Any:
    """State a vCenter, by its name; it is read at once. Takes an admin."""
    return _state(request, StatedSource(**asked.dict()), response)


@router.put("/kubernetes", response=SourceRow)
def state_kubernetes_source(
    request: HttpRequest, asked: StatedKubernetesSource, response: HttpResponse
) -> Any:
    """State a Kubernetes cluster, by its name; it is read at once. Takes an admin."""
    said = asked.dict()
    token = said.pop("token")
    stated = StatedSource(**said, kind=SourceKind.KUBERNETES, password=token)
    return _state(request, stated, response)


@router.delete("/{int:pk}", response={204: None})
def remove_source(request: HttpRequest, pk: Pk) -> Any:
    """Read a source no more; for a day the page can put it back. Takes an admin."""
    workspace = _admin(request)
    row = get_object_or_404(_rows(workspace), pk=pk)
    require_match(request, _tag(row))
    services.remove_source(row, actor=workspace.actor, now=timezone.now())
    return Status(204, None)


@router.post("/{int:pk}/test", response=SourceRow)
def test_source(request: HttpRequest, pk: Pk) -> Any:
    """Have a worker connect and log in; read the source for what came of it. Takes an admin."""
    return _changed(request, pk, services.ask_trial)


@router.post("/{int:pk}/pause", response=SourceRow)
def pause_source(request: HttpRequest, pk: Pk) -> Any:
    """Read a source no more until it is resumed. Takes an admin."""
    return _changed(request, pk, services.pause_source)


@router.post("/{int:pk}/resume", response=SourceRow)
def resume_source(request: HttpRequest, pk: Pk) -> Any:
    """Read a source again, at once. Takes an admin."""
    return _changed(request, pk, services.resume_source)


def _state(request: HttpRequest, stated: StatedSource, response: HttpResponse) -> Any:
    workspace = _admin(request)
    organisation = workspace.membership.organisation
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    present = _rows(workspace).filter(name=stated.name).first()
    require_match(request, tag_of(None) if present is None else _tag(present))
    row = services.state_source(
        organisation=organisation, stated=stated, actor=workspace.actor, now=timezone.now()
    )
    tagged(response, _tag(row))
    return _plain(row)


def _changed(request: HttpRequest, pk: int, change: Callable[..., None]) -> Any:
    workspace = _admin(request)
    row = get_object_or_404(_rows(workspace), pk=pk)
    require_match(request, _tag(row))
    change(row, actor=workspace.actor, now=timezone.now())
    return _plain(_rows(workspace).get(pk=pk))


def _admin(request: HttpRequest) -> Workspace:
    return acting(request, Action.MANAGE_SOURCES)


def _rows(workspace: Workspace) -> Any:
    rows = workspace.scope.rows(ReadSource).filter(removed_at=None)
    return rows.select_related("organisation")


def _tag(row: ReadSource) -> str:
    """Of what people state of it; what reads give does not count."""
    return tag_of(
        row.pk, row.address, row.user, row.password, row.fingerprint, row.authority,
        row.every_min, row.takes_over, row.tier_label, row.class_rates, row.paused_at,
    )  # fmt: skip


def _plain(row: ReadSource) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "address": row.address,
        "user": row.user,
        "fingerprint": row.fingerprint,
        "authority": row.authority,
        "every_min": row.every_min,
        "takes_over": row.takes_over,
        "tier_label": row.tier_label,
        "class_rates": row.class_rates,
        "paused_at": row.paused_at,
        "next_at": None if row.paused_at else row.next_at,
        "read_at": row.read_at,
        "failures": row.failures,
        "says": row.says,
        "tested_at": row.trial_at,
        "test_worked": None if row.is_tried else row.trial_worked,
        "test_says": row.trial_says,
    }
