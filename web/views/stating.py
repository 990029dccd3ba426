"""What people state of resources and workloads: capacity, threshold, tier, what is promised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from accounts.roles import Action
from advisor.core.quantity import QuantityError, parse_rate
from advisor.decisions.inventory import change_resource, set_allocation
from advisor.decisions.rollouts.steer import set_terms, stage_resource
from advisor.decisions.workload_tiers import stated_workload, withdraw_tier
from advisor.errors import InventoryError
from advisor.models import AdapterKind, Allocation, Resource, Tier, Workload
from web.access import open_row
from web.api.v1.noted import noted
from web.changing import changing

LONGEST_NUMBER = 40
_SWITCH = {"": None, "on": True, "off": False}
"""Whether policies of a resource come in stages; None is as in its organisation."""
_MOST_SHARES = 10_000_000
Value = TypeVar("Value")


@changing("resource", of_row=True)
def state_resource(request: HttpRequest, workspace: Any, pk: int) -> HttpResponseBase:
    """State the settings of a resource; an empty field keeps what holds."""
    workspace, row = open_row(workspace, Resource, pk)
    workspace.actor.require(Action.DECIDE)
    form = Form(request)
    with transaction.atomic():
        row = Resource.objects.select_for_update(no_key=True).get(pk=row.pk)
        rate = form.read("capacity", lambda text: parse_rate(text, row.unit))
        line_rate = form.read("line_rate", lambda text: parse_rate(text, row.unit))
        depth = form.read("lun_queue_depth", int)
        facts = {"line_rate": line_rate, "lun_queue_depth": depth}
        change_resource(
            resource=row,
            capacity=rate,
            threshold=_threshold(form, row),
            threshold_mode=form.text("threshold_mode") or None,
            window_s=form.read("window_s", float),
            facts={name: value for name, value in facts.items() if value is not None},
        )
        if (staged := form.text("staged")) in _SWITCH and _SWITCH[staged] != row.staged:
            stage_resource(
                resource=row, staged=_SWITCH[staged], actor=workspace.actor, now=timezone.now()
            )
        noted(workspace, "change resource", row.name)
    messages.success(request, f"The settings of {row.name} hold from now on.")
    return redirect("resource", row.pk)


@changing("workload", of_row=True)
def state_tier(request: HttpRequest, workspace: Any, pk: int) -> HttpResponseBase:
    """Give a workload a tier, or leave it to the rules."""
    workspace, row = open_row(workspace, Workload, pk)
    workspace.actor.require(Action.DECIDE)
    tier = request.POST.get("tier", "")
    if tier not in ("", *map(str, Tier)):
        raise InventoryError(f"there is no tier {tier[:20]!r}")
    with transaction.atomic():
        if tier:
            stated_workload(row.organisation, row.name, tier)
        else:
            withdraw_tier(row.organisation, row.name)
        noted(workspace, "state tier", f"{row.name}: {tier or 'by rules'}")
    said = (
        f"is of the {tier} tier" if tier else "gets its tier by the rules when it is looked next"
    )
    messages.success(request, f"{row.name} {said}.")
    return redirect("workload", row.pk)


@changing("workload", of_row=True)
def state_promise(request: HttpRequest, workspace: Any, pk: int) -> HttpResponseBase:
    """State what a workload is promised on one resource; an empty field takes it away."""
    workspace, row = open_row(workspace, Workload, pk)
    workspace.actor.require(Action.DECIDE)
    form = Form(request)
    own = row.allocations.select_related("resource", "host", "workload", "pool")
    with transaction.atomic():
        chosen = form.read("allocation", int)
        one = own.select_for_update(no_key=True, of=("self",)).filter(pk=chosen or 0).first()
        if one is None:
            raise Http404
        _state_promise(one, form)
        noted(workspace, "state allocation", f"{row.name} on {one.resource.name}")
    messages.success(
        request,
        f"What {row.name} is promised on {one.resource.name} is stated. Hosts get it with the "
        "next policy that is approved.",
    )
    return redirect("workload", row.pk)


def _state_promise(one: Allocation, form: Form) -> None:
    def rate(text: str) -> float:
        return parse_rate(text, one.resource.unit)

    set_allocation(
        resource=one.resource,
        workload_name=one.workload.name,
        host_name=one.host.name,
        adapter_kind=AdapterKind(one.adapter_kind),
        adapter=one.adapter,
        vdisk=one.vdisk,
        selector=(one.selector_kind, one.selector) if one.selector_kind else None,
        reservation=form.read("reservation", rate) or 0.0,
        limit=form.read("limit", rate),
        shares=form.read("shares", _shares),
    )


@changing("ladder")
def state_rollout_terms(request: HttpRequest, workspace: Any) -> HttpResponseBase:
    """How approved policies come to hosts; what is not stated stays as it is."""
    workspace.actor.require(Action.DECIDE)
    form = Form(request)
    unsure = form.text("unsure")
    lengths = {
        name: None if (minutes := form.read(name, float)) is None else 60 * minutes
        for name in ("stage", "longest", "settle")
    }
    staged = _SWITCH.get(form.text("staged"))
    if staged is None and not unsure and not any(lengths.values()):
        raise InventoryError("nothing was changed: the form states nothing")
    set_terms(
        organisation=workspace.membership.organisation,
        actor=workspace.actor,
        now=timezone.now(),
        staged=staged,
        stage_s=lengths["stage"],
        longest_s=lengths["longest"],
        settle_s=lengths["settle"],
        goes_on_unsure=unsure == "goes-on" if unsure else None,
    )
    messages.success(request, "The terms of rollouts hold from now on, also for those under way.")
    return redirect("ladder")


class Form:
    """The fields of a form, each refused by its name."""

    def __init__(self, request: HttpRequest) -> None:
        self._sent = request.POST

    def text(self, name: str) -> str:
        return self._sent.get(name, "").strip()

    def read(self, name: str, reader: Callable[[str], Value]) -> Value | None:
        """The value of a field; None where it is empty. Raises InventoryError."""
        text = self.text(name)
        if not text:
            return None
        shown = name.removesuffix("_s").replace("_", " ")
        if len(text) > LONGEST_NUMBER:
            raise InventoryError(f"nothing was changed: the {shown} is too long")
        try:
            return reader(text)
        except QuantityError as error:
            raise InventoryError(f"nothing was changed: {shown}: {error}") from error
        except (ValueError, OverflowError) as error:
            raise InventoryError(
                f'nothing was changed: {shown}: "{text}" is not a number that fits'
            ) from error


def _threshold(form: Form, row: Resource) -> float | None:
    """A level of utilisation is written in per cent, and kept as a fraction."""
    value = form.read("threshold", float)
    return value / 100 if value is not None and row.traits.level.unit == "%" else value


def _shares(text: str) -> int:
    if not 1 <= int(text) <= _MOST_SHARES:
        raise ValueError(text)
    return int(text)
