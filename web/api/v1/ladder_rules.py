"""Rules of the ladder: how far Sluice may go with its advice, and when."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.models import Organisation
from accounts.roles import Action
from advisor.advice.registry import KINDS
from advisor.core.ladder.rule import LONGEST_COOLDOWN_S, MOST_PER_DAY, MOST_WINDOWS, Level
from advisor.decisions.ladder_rules import remove_rule, state_rule
from advisor.errors import DecisionRefused
from advisor.models import LadderRule, Resource, Tier
from web.access import open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import NO_NUL, Asked, Flag, Moment, Name, Pk, Text
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["ladder rules"])
CooldownLength = Annotated[float, Field(strict=True, ge=0, le=LONGEST_COOLDOWN_S)]
ChangesPerDay = Annotated[int, Field(ge=0, le=MOST_PER_DAY)]
WindowText = Annotated[str, Field(max_length=60, pattern=NO_NUL)]


class LadderRuleRow(Schema):
    """A rule of when advice may be approved; of several the most conservative one counts.

    What is null is not stated: without a resource, tier or kind it is of all advice.
    """

    id: int
    name: str
    resource_id: int | None
    resource: str | None
    tier: Tier | None
    kind: str | None
    level: Level | None
    windows: list[str]
    zone: str
    frozen_from: datetime | None
    frozen_until: datetime | None
    frozen_because: str
    cooldown_s: float | None
    most_changes_per_day: int | None
    second_person: bool


class LadderRulePage(Page):
    items: list[LadderRuleRow]


class StatedLadderRule(Asked):
    """All of a rule; what is left out is not stated."""

    name: Name
    resource_id: Pk | None = None
    tier: Tier | None = None
    kind: Annotated[str, Field(max_length=40, pattern=NO_NUL)] | None = None
    level: Level | None = None
    windows: Annotated[list[WindowText], Field(max_length=MOST_WINDOWS)] = Field(
        default_factory=list, description="such as Sat 22:00 6h, in the zone"
    )
    zone: Annotated[str, Field(min_length=1, max_length=60, pattern=NO_NUL)] = "UTC"
    frozen_from: Moment | None = None
    frozen_until: Moment | None = None
    frozen_because: Text = ""
    cooldown_s: CooldownLength | None = None
    most_changes_per_day: ChangesPerDay | None = None
    second_person: Flag = False


@router.get("", response=LadderRulePage)
def list_ladder_rules(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List the rules of the ladder."""
    found, cursor = page_of(_rows(request), asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=LadderRuleRow)
def get_ladder_rule(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a rule of the ladder."""
    row = get_object_or_404(_rows(request), pk=pk)
    tagged(response, tag_of(_plain(row)))
    return _plain(row)


@router.put("", response=LadderRuleRow)
def state_ladder_rule(
    request: HttpRequest, asked: StatedLadderRule, response: HttpResponse
) -> Any:
    """State a rule, by its name."""
    workspace = acting(request, Action.MANAGE_LADDER)
    organisation = _held(workspace.membership.organisation)
    present = _rows(request).filter(name=asked.name).first()
    require_match(request, tag_of(None if present is None else _plain(present)))
    resource = None
    if asked.resource_id is not None:
        _, resource = open_row(workspace, Resource, asked.resource_id)
    made = state_rule(
        LadderRule(
            organisation=organisation, resource=resource, **_columns(asked)
        ),
        actor=workspace.actor, now=timezone.now(),
    )  # fmt: skip
    row = _rows(request).get(pk=made.pk)
    tagged(response, tag_of(_plain(row)))
    return _plain(row)


@router.delete("/{int:pk}", response={204: None})
def remove_ladder_rule(request: HttpRequest, pk: Pk) -> Any:
    """Remove a rule, which lets happen what it held back."""
    row = get_object_or_404(_rows(request), pk=pk)
    workspace = acting(request, Action.MANAGE_LADDER)
    _held(row.organisation)
    require_match(request, tag_of(_plain(row)))
    remove_rule(
        organisation=row.organisation, name=row.name, actor=workspace.actor, now=timezone.now()
    )
    return Status(204, None)


def _held(organisation: Organisation) -> Organisation:
    """The organisation; nobody else states a rule of it until this ends."""
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    return organisation


def _columns(asked: StatedLadderRule) -> dict[str, Any]:
    """What is stated, as the row has it: there an empty text is what is not stated."""
    if asked.kind is not None and asked.kind not in {one.name for one in KINDS}:
        raise DecisionRefused(f'there is no kind of advice "{asked.kind}"')
    if (asked.frozen_from is None) != (asked.frozen_until is None):
        raise DecisionRefused("a freeze has a begin and an end: frozen_from and frozen_until")
    plain = asked.dict(exclude={"resource_id"})
    return plain | {name: plain[name] or "" for name in ("tier", "kind", "level")}


def _rows(request: HttpRequest) -> Any:
    return asker_of(request).scope.rows(LadderRule).select_related("organisation", "resource")


def _plain(row: LadderRule) -> dict[str, Any]:
    found = {name: getattr(row, name) for name in LadderRuleRow.model_fields if name != "resource"}
    return {
        **found,
        "resource": row.resource.name if row.resource else None,
        "id": row.pk,
        "tier": row.tier or None,
        "kind": row.kind or None,
        "level": row.level or None,
    }
