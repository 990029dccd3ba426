"""Hosts: whether their samples arrive, and the state of their agents."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from advisor.queries.hosts import AgentState, HostHealth, host_healths
from ingest.models import Host
from web.access import open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import asker_of
from web.api.v1.fields import Pk
from web.api.v1.resources import HostName

router = Router(tags=["hosts"])


class HostRow(Schema):
    """A host; a reason is empty where nothing is wrong."""

    id: int
    name: str
    last_sample_at: datetime | None
    sample_reason: str
    agent_state: AgentState
    agent_reason: str
    agent_version: str
    last_report_at: datetime | None
    last_pull_at: datetime | None
    published_revision: int | None
    applied_revision: int | None
    allocation_count: int
    drift_count: int
    mechanisms: list[str]
    left_out: list[str] = Field(description="what its agent was not sent, and why")


class HostPage(Page):
    items: list[HostRow]


class HostFilter(Paged):
    name: HostName | None = None


@router.get("", response=HostPage)
def list_hosts(request: HttpRequest, asked: Query[HostFilter]) -> Any:
    """List hosts."""
    scope = asker_of(request).scope
    rows = scope.rows(Host)
    if asked.name is not None:
        rows = rows.filter(name=asked.name)
    found, cursor = page_of(rows, asked)
    healths = {one.pk: one for one in host_healths(scope, now=timezone.now())}
    return {"items": [_plain(healths[row.pk]) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=HostRow)
def get_host(request: HttpRequest, pk: Pk) -> Any:
    """Read a host."""
    workspace, _ = open_row(asker_of(request), Host, pk)
    (health,) = host_healths(workspace.scope, now=timezone.now(), host_pk=pk)
    return _plain(health)


def _plain(health: HostHealth) -> dict[str, Any]:
    own = {"id": health.pk, "mechanisms": [one.mechanism for one in health.mechanisms]}
    return own | {name: getattr(health, name) for name in HostRow.model_fields if name not in own}
