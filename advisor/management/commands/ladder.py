"""`sluice ladder`: rules of when advice may be approved, and what they say of a recommendation."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from accounts.management.product_command import add_verb
from accounts.models import Organisation
from advisor.advice.registry import KINDS
from advisor.core.ladder.rule import Level
from advisor.core.resource import Tier
from advisor.decisions.acting import why_not_by_itself
from advisor.decisions.ladder import ladder_verdict, why_held
from advisor.decisions.ladder_rules import remove_rule, state_rule
from advisor.decisions.policy_file.decide.quantities import parse_length
from advisor.management.commands.approve import find_recommendation
from advisor.management.product_command import ProductCommand, find_resource
from advisor.models import LadderRule
from advisor.queries.ladder import rule_says


class Command(ProductCommand):
    help = "List and set rules of when advice may be approved; the most conservative one wins"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="all rules (the default)")
        state = add_verb(verbs, "set", help="set a rule; what is omitted is not stated")
        state.add_argument("name")
        state.add_argument("--resource", help="only for advice on this resource")
        state.add_argument("--tier", choices=[*map(str, Tier)], default="", help="only for these")
        state.add_argument(
            "--kind", choices=[one.name for one in KINDS], default="", help="only for this advice"
        )
        state.add_argument(
            "--level", choices=[*map(str, Level)], default="",
            help="tell: nothing is approved; recommend: people approve (the default); "
            "ask: one click approves; act: Sluice approves by itself what it can answer for",
        )  # fmt: skip
        state.add_argument(
            "--window", action="append", default=[], dest="windows",
            help="changes only then, such as 'Sat 22:00 6h' or 'Mon-Fri 01:00 90min'; repeat",
        )  # fmt: skip
        state.add_argument("--zone", default="UTC", help="time zone of the windows (UTC)")
        state.add_argument(
            "--freeze", nargs=2, metavar=("FROM", "UNTIL"),
            help="no changes between two times with offset, such as 2026-12-20T00:00+01:00",
        )  # fmt: skip
        state.add_argument("--because", default="", help="why changes are frozen")
        state.add_argument("--cool-down", help="between changes of a workload, such as 6h or 2d")
        state.add_argument("--most-per-day", type=int, help="changes in 24 h")
        state.add_argument("--second-person", action="store_true", help="two people approve")
        add_verb(verbs, "remove", help="remove a rule").add_argument("name")
        explain = add_verb(verbs, "explain", help="why a recommendation may be approved or not")
        explain.add_argument("id", type=int)

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        rules = LadderRule.objects.filter(organisation=organisation)
        match options["verb"]:
            case "explain":
                self._explain(organisation, options)
                return
            case "set":
                _set(organisation, options)
            case "remove":
                remove_rule(
                    organisation=organisation, name=options["name"],
                    actor=COMMAND_LINE, now=timezone.now(),
                )  # fmt: skip
        self.show(
            [_row(one) for one in rules.select_related("resource")],
            as_json=options["as_json"],
            columns=["name", "resource", "tier", "kind", "level", "says"],
            empty="no rules: everything may be approved by an operator",
        )

    def _explain(self, organisation: Organisation, options: dict[str, Any]) -> None:
        row, now = find_recommendation(organisation, options["id"]), timezone.now()
        found = ladder_verdict(row, now=now)
        held, by_itself = why_held(found), why_not_by_itself(row, found, now=now)
        if options["as_json"]:
            self.show_json(
                {
                    "level": found.level,
                    "level_from": found.level_from,
                    "may_approve": found.may_approve,
                    "why_not": held,
                    "two_people": found.two_people,
                    "acts": not by_itself,
                    "why_not_by_itself": by_itself,
                }
            )
            return
        by = f'rule "{found.level_from}"' if found.level_from else "no rule states another"
        self.stdout.write(f"Level: {found.level} ({by})")
        self.stdout.write(f"Not now: {held}" if held else "It may be approved now.")
        if found.two_people:
            self.stdout.write(f"By two people: {', '.join(found.two_people)}")
        if found.level is Level.ACT:
            why = f"No: {'; '.join(by_itself)}" if by_itself else "Yes, at the next look."
            self.stdout.write(f"By itself: {why}")


def _set(organisation: Organisation, options: dict[str, Any]) -> None:
    name = options["resource"]
    since, until = map(_time, options["freeze"] or ("", ""))
    row = LadderRule(
        organisation=organisation,
        name=options["name"],
        resource=find_resource(organisation, name) if name else None,
        tier=options["tier"],
        kind=options["kind"],
        level=options["level"],
        windows=options["windows"],
        zone=options["zone"],
        frozen_from=since,
        frozen_until=until,
        frozen_because=options["because"],
        cooldown_s=_length(options["cool_down"]),
        most_changes_per_day=options["most_per_day"],
        second_person=options["second_person"],
    )
    state_rule(row, actor=COMMAND_LINE, now=timezone.now())


def _time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f'"{text}" is not a time') from error
    if at.tzinfo is None:
        raise CommandError(f'"{text}" needs its offset, such as 2026-12-20T00:00+01:00')
    return at


def _length(text: str | None) -> float | None:
    seconds = parse_length(text) if text else None
    if text and seconds is None:
        raise CommandError(f'"{text}" is not a length; write it like 90min, 6h or 2d')
    return seconds


def _row(row: LadderRule) -> dict[str, Any]:
    return {
        "name": row.name,
        "resource": row.resource.name if row.resource else None,
        "tier": row.tier or None,
        "kind": row.kind or None,
        "level": row.level or None,
        "says": rule_says(row) or None,
        "windows": row.windows,
        "zone": row.zone,
        "frozen_from": row.frozen_from,
        "frozen_until": row.frozen_until,
        "frozen_because": row.frozen_because,
        "cooldown_s": row.cooldown_s,
        "most_changes_per_day": row.most_changes_per_day,
        "second_person": row.second_person,
    }
