"""`sluice what-if`: what other shares, reservations or limits would do."""  # noqa: N999  its name

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.models import Organisation
from accounts.table import table
from advisor.advice.what_if.drafts import (
    WhatIfScene,
    past_of,
    save_draft,
    scene_of,
    what_if_inputs,
)
from advisor.core.enumeration import listed
from advisor.core.forecast.what_if import WhatIf, WhatIfInputs, WhatIfRow, what_if
from advisor.core.grant import Grant
from advisor.core.pools import pool_terms_text
from advisor.core.quantity import format_rate, parse_rate
from advisor.core.resource import Tier, tier_shares
from advisor.management.past_text import past_text
from advisor.management.product_command import ProductCommand, find_resource, find_user
from advisor.management.what_if_document import what_if_document
from advisor.models import Allocation
from advisor.queries.past_table import what_if_table

CONTROLS = ("shares", "tier", "reservation", "limit")


class Command(ProductCommand):
    help = "Simulate other shares, reservations and limits on stored history; changes nothing"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("resource")
        parser.add_argument(
            "--set", action="append", default=[], dest="changes",
            metavar="WORKLOAD:CONTROL=VALUE",
            help="such as web-1:shares=2000, web-1:tier=high, db@h1:reservation=20Mbit or "
            "db:limit=none; repeat for each",
        )  # fmt: skip
        parser.add_argument("--capacity", help="capacity to simulate, such as 188Mbit")
        parser.add_argument(
            "--hours", type=float, default=24.0, help="hours of history to simulate (24)"
        )
        parser.add_argument(
            "--draft", action="store_true", help="save it as a recommendation that can be approved"
        )
        parser.add_argument("--user", help="who saves the draft; required with --draft")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        resource = find_resource(organisation, options["resource"])
        if not 0 < options["hours"] <= 24 * 30:
            raise CommandError(f"--hours is {options['hours']:g}; it must be above 0, up to 720")
        if options["draft"] and not options["user"]:
            raise CommandError("--draft needs --user NAME: who saves the draft")
        now = timezone.now()
        scene = scene_of(resource, now=now)
        capacity = options["capacity"]
        inputs = what_if_inputs(
            scene=scene,
            past=past_of(scene, length=timedelta(hours=options["hours"]), now=now),
            candidate=_candidate(scene, options["changes"]),
            capacity=parse_rate(capacity, resource.unit) if capacity else None,
        )
        found = what_if(inputs)
        draft = None
        if options["draft"]:
            user = find_user(organisation, options["user"])
            draft = save_draft(inputs=inputs, resource=resource, user=user, now=now)
        if options["as_json"]:
            made = {"policy_gap": scene.gap, "draft": draft.pk if draft else None}
            self.show_json(what_if_document(inputs, found) | made)
            return
        self.stdout.write(_text(inputs, found, scene.gap, noun=resource.noun))
        if draft is not None:
            self.stdout.write(
                f"\nSaved as draft {draft.pk}. Approve it: sluice approve {draft.pk} --user NAME"
            )


def _candidate(scene: WhatIfScene, texts: Sequence[str]) -> dict[int, Grant]:
    """The proposed grants with these settings; several settings of one workload combine."""
    grants = {grant.allocation: grant for grant in scene.proposed}
    for text in texts:
        who, colon, rest = text.rpartition(":")
        control, equals, value = rest.partition("=")
        if not (colon and equals and who and control in CONTROLS):
            known = ", ".join(CONTROLS)
            raise CommandError(f'"{text}" is not WORKLOAD:CONTROL=VALUE with one of {known}')
        for allocation in _allocations(scene, who):
            grants[allocation.pk] = _set(
                grants[allocation.pk], control, value, allocation.resource.unit
            )
    return grants


def _allocations(scene: WhatIfScene, who: str) -> list[Allocation]:
    name, _, host = who.partition("@")
    found = [
        allocation
        for allocation in scene.allocations
        if allocation.workload.name == name and host in ("", allocation.host.name)
    ]
    if not found:
        names = listed(sorted({each.workload.name for each in scene.allocations})) or "none"
        raise CommandError(f'"{who}" has no allocation on {scene.resource}; these have: {names}')
    return found


def _set(grant: Grant, control: str, value: str, unit: str) -> Grant:
    match control:
        case "shares":
            if not value.isdecimal() or int(value) < 1:
                raise CommandError(f'shares "{value}" is not a whole number of at least 1')
            return replace(grant, shares=int(value))
        case "tier":
            if value not in set(Tier):
                raise CommandError(f'tier "{value}" is not one of {", ".join(Tier)}')
            return replace(grant, shares=tier_shares(Tier(value)))
        case "reservation":
            return replace(grant, reservation=parse_rate(value, unit))
        case _:
            return replace(grant, limit=None if value == "none" else parse_rate(value, unit))


def _text(inputs: WhatIfInputs, found: WhatIf, policy_gap: str, *, noun: str) -> str:
    if not found.rows:
        return f"no workload has an allocation on {inputs.resource}"
    before = "the policy in force" if inputs.enforced else "no policy: equal shares"
    if policy_gap and inputs.enforced:
        before = "the policy where it is applied"
    capacity = f"{format_rate(inputs.capacity_after, inputs.unit)} ({inputs.capacity_source})"
    span = f"{inputs.began_at:%Y-%m-%d %H:%M} to {inputs.ended_at:%Y-%m-%d %H:%M} UTC"
    lines = [
        f"{noun} {inputs.resource}, {capacity}; before is {before}",
        f"{span}: {what_if_table(found).length}",
    ]
    if policy_gap:
        lines.append(f"Note: {policy_gap}")
    if found.gap:
        lines.append(f"Note: {found.gap}")
    lines += [
        f"Pool {pool.name}: {pool_terms_text(pool, inputs.unit)}" for pool in inputs.pools_after
    ]
    if found.refused:
        lines.append(f"Reservations do not fit: {found.refusal}")
    rows = [_shown(row, inputs.unit) for row in found.rows]
    columns = ["workload", "host", "entitled", "in_congestion"]
    past = past_text(what_if_table(found), inputs.unit)
    return "\n".join([*lines, "", table(rows, columns), "", past])


def _shown(row: WhatIfRow, unit: str) -> dict[str, Any]:
    felt = row.contended
    return {
        "workload": row.workload,
        "host": row.host,
        "entitled": f"{format_rate(row.entitlement_before, unit)} → "
        f"{format_rate(row.entitlement_after, unit)}",
        "in_congestion": None
        if felt is None
        else f"{format_rate(row.now, unit)} → {format_rate(row.then, unit)}",
    }
