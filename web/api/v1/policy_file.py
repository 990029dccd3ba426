"""Policy as code, and the rules that give tiers."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from accounts.models import Organisation
from accounts.roles import Action
from advisor.decisions.found.rules import set_rules, stated_rules
from advisor.decisions.policy_file.apply import apply_policy_file, plan_policy_file
from advisor.decisions.policy_file.decide.difference import Change, removals, units_of
from advisor.decisions.policy_file.decide.read import Read, read_policy_file
from advisor.decisions.policy_file.decide.write import policy_file_text
from advisor.decisions.policy_file.present import exported, present_state
from advisor.decisions.policy_file.removals import require_leave
from advisor.errors import InventoryError
from advisor.management.policy_plan_text import plan_json, plan_text
from web.api.v1.door import MOST_FILE_BYTES, acting, asker_of
from web.api.v1.fields import NO_NUL, Asked, Flag
from web.api.v1.noted import noted
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["policy file"])
FILE = "policy file"
"""What its problems are told of; the API is sent no name."""
YamlText = Annotated[str, Field(max_length=MOST_FILE_BYTES, pattern=NO_NUL)]


class PolicyFileText(Schema):
    """A policy file in YAML."""

    text: str


class PolicyFileQuestion(Asked):
    text: YamlText


class PolicyFileOrder(PolicyFileQuestion):
    may_remove: Flag = Field(False, description="remove what the file does not name")
    may_remove_most: Flag = Field(False, description="even more than half of what is stated")


class PolicyFileChange(Schema):
    """What becomes of an entry; `before` and `after` are as a file has them."""

    section: str
    name: str
    verb: str
    before: Any
    after: Any
    settings: list[dict[str, Any]]


class PolicyFilePlan(Schema):
    """What a file changes; `text` is what `sluice plan` prints."""

    changes: list[PolicyFileChange]
    made: int
    changed: int
    removed: int
    is_applied: bool
    text: str


class Rules(Asked):
    """A rule on each line."""

    text: Annotated[str, Field(max_length=1_000_000, pattern=NO_NUL)]


@router.get("policy-file", response=PolicyFileText)
def export_policy_file(request: HttpRequest, response: HttpResponse) -> Any:
    """Export what people stated, as a policy file that can be taken over elsewhere."""
    text = policy_file_text(exported(_organisation(request)), units={})
    tagged(response, tag_of(text))
    return {"text": text}


@router.post("policy-file/plan", response=PolicyFilePlan)
def plan_policy(request: HttpRequest, asked: PolicyFileQuestion) -> Any:
    """Show what a policy file would change; nothing is changed."""
    read, changes = _planned(request, asked.text)
    return _plan(request, read, changes, is_applied=False)


@router.post("policy-file/apply", response=PolicyFilePlan)
def apply_policy(request: HttpRequest, asked: PolicyFileOrder) -> Any:
    """Take a policy file over. No host is changed: that takes an approved policy."""
    workspace = acting(request, Action.DECIDE)
    organisation = workspace.membership.organisation
    # Who takes another file over meanwhile waits here, so a tag that matches holds.
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    require_match(request, tag_of(policy_file_text(exported(organisation), units={})))
    read, changes = _planned(request, asked.text)
    if not asked.may_remove_most:
        require_leave(read.document, present_state(organisation), changes)
    if removals(changes) and not asked.may_remove:
        raise InventoryError(
            f"the file removes {removals(changes)} things; nothing was done. If that is meant, "
            "send may_remove"
        )
    told = _plan(request, read, changes, is_applied=True)
    if changes:
        apply_policy_file(
            organisation, read, expected=changes, actor=workspace.actor, now=timezone.now()
        )
    return told


@router.get("rules", response=Rules)
def get_rules(request: HttpRequest, response: HttpResponse) -> Any:
    """Read the rules that give tiers and say which devices are one."""
    text = stated_rules(_organisation(request))
    tagged(response, tag_of(text))
    return {"text": text}


@router.put("rules", response=Rules)
def state_rules(request: HttpRequest, asked: Rules, response: HttpResponse) -> Any:
    """Take these rules instead of those before; they act when it is looked next."""
    workspace = acting(request, Action.DECIDE)
    organisation = workspace.membership.organisation
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    require_match(request, tag_of(stated_rules(organisation)))
    set_rules(organisation, asked.text, now=timezone.now())
    noted(workspace, "state rules", f"{len(asked.text.splitlines())} lines")
    tagged(response, tag_of(asked.text))
    return {"text": asked.text}


def _organisation(request: HttpRequest) -> Organisation:
    return asker_of(request).membership.organisation


def _planned(request: HttpRequest, text: str) -> tuple[Read, tuple[Change, ...]]:
    organisation = _organisation(request)
    read = read_policy_file(text, file=FILE, units=present_state(organisation).units)
    return read, plan_policy_file(organisation, read, now=timezone.now())


def _plan(
    request: HttpRequest, read: Read, changes: tuple[Change, ...], *, is_applied: bool
) -> dict[str, Any]:
    units = {**present_state(_organisation(request)).units, **units_of(read.document)}
    return {**plan_json(changes, units), "text": plan_text(changes), "is_applied": is_applied}
