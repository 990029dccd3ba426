"""`sluice notify`: who is told of incidents, by what, and what became of each message."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeVar

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from accounts.management.product_command import add_verb
from accounts.models import Organisation
from advisor.core import notifying
from advisor.core.digest import MORNING, Digest, Rhythm, digest_words
from advisor.core.notifying import Held, Severity
from advisor.decisions.policy_file.decide.quantities import parse_length
from advisor.management.product_command import ProductCommand, find_resource
from advisor.models import (
    ChannelKind,
    Delivery,
    NotificationChannel,
    NotificationRule,
    NotificationSilence,
)
from advisor.notifications import state
from advisor.notifications.look import held_back
from advisor.notifications.stated_rule import StatedRule, row_of

MOST_SHOWN = 50
SEVERITIES = {name.replace("_", "-"): name for name in notifying.SEVERITIES}
Stated = TypeVar("Stated", NotificationChannel, NotificationRule)


class Command(ProductCommand):
    help = "State who is told of incidents: by mail, a webhook, or a chat or paging service"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="rules, silences, and what is held back (the default)")
        add_verb(verbs, "channels", help="where messages go")
        log = add_verb(verbs, "log", help="what became of the newest messages")
        log.add_argument("--limit", type=int, default=MOST_SHOWN)
        channel = add_verb(verbs, "set-channel", help="set where messages go")
        channel.add_argument("name")
        kind = channel.add_mutually_exclusive_group()
        kind.add_argument("--mail", metavar="ADDRESSES", help="with commas between them")
        kind.add_argument("--webhook", metavar="URL", help="gets JSON, signed")
        kind.add_argument(
            "--service", metavar="ADDRESS", help="as Apprise writes it, such as slack://A/B/C"
        )
        channel.add_argument(
            "--digest", choices=[*Rhythm], help="gather messages, and send one an hour or a day"
        )
        channel.add_argument("--hour", type=int, default=MORNING, help="of a day (7), in the zone")
        channel.add_argument("--zone", default="UTC", help="of that hour, such as Europe/Berlin")
        add_verb(verbs, "remove-channel", help="with its rules").add_argument("name")
        start = add_verb(verbs, "start-channel", help="send by one that was stopped")
        start.add_argument("name")
        add_verb(verbs, "try", help="send a message that nothing is wrong").add_argument("name")
        _add_rule(add_verb(verbs, "set-rule", help="set what is told by a channel"))
        add_verb(verbs, "remove-rule", help="tell no more by it").add_argument("name")
        silence = add_verb(verbs, "silence", help="tell nobody of a resource for a while")
        silence.add_argument("resource", nargs="?", help="of everything without it")
        silence.add_argument("--for", required=True, dest="length", help="such as 2h or 3d")
        silence.add_argument("--reason", default="")
        again = add_verb(verbs, "tell-again", help="end the silences of a resource")
        again.add_argument("resource", nargs="?", help="those of everything without it")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        changes = {
            "set-channel": _set_channel,
            "remove-channel": _remove_channel,
            "start-channel": _start_channel,
            "try": _try,
            "set-rule": _set_rule,
            "remove-rule": _remove_rule,
            "silence": _silence,
            "tell-again": _tell_again,
        }
        verb = options["verb"] or "list"
        if verb in changes:
            changes[verb](organisation, options)
        if verb in ("channels", "set-channel", "remove-channel", "start-channel"):
            self._show_channels(organisation, options)
        elif verb in ("log", "try"):
            self._show_log(organisation, options)
        else:
            self._show_rules(organisation, options)

    def _show_channels(self, organisation: Organisation, options: dict[str, Any]) -> None:
        rows = NotificationChannel.objects.filter(organisation=organisation)
        self.show(
            [_channel_row(row, options) for row in rows],
            as_json=options["as_json"],
            columns=["name", "kind", "leads_to", "sends", "state"],
            empty="no channels: sluice notify set-channel NAME --mail ADDRESS",
        )
        for one in rows if not options["as_json"] else ():
            if one.secret and _is_set(one, options):
                self.stdout.write(f"Its secret, which signs what {one.name} gets: {one.secret}")

    def _show_log(self, organisation: Organisation, options: dict[str, Any]) -> None:
        rows = Delivery.objects.filter(organisation=organisation).select_related("channel")
        self.show(
            [_delivery_row(row) for row in rows[: options.get("limit", MOST_SHOWN)]],
            as_json=options["as_json"],
            columns=["at", "channel", "subject", "state", "attempts", "reason"],
            empty="no messages yet",
        )

    def _show_rules(self, organisation: Organisation, options: dict[str, Any]) -> None:
        now = timezone.now()
        rules = NotificationRule.objects.filter(organisation=organisation)
        held = held_back(organisation.pk, now=now)
        rules = rules.select_related("channel").prefetch_related("resources")
        rows = [_rule_row(row, held[row.pk]) for row in rules]
        found = NotificationSilence.objects.filter(organisation=organisation, until__gt=now)
        silences = [_silence_row(row) for row in found.select_related("resource")]
        if options["as_json"]:
            self.show_json({"rules": rows, "silences": silences})
            return
        self.show(
            rows,
            as_json=False,
            columns=["name", "channel", "at_least", "of", "concerns", "quiet", "held"],
            empty="no rules, so nobody is told: sluice notify set-rule NAME --channel CHANNEL",
        )
        for one in silences:
            why = f": {one['reason']}" if one["reason"] else ""
            self.stdout.write(
                f"Silent on {one['resource'] or 'everything'} until "
                f"{one['until']:%Y-%m-%d %H:%M} UTC, by {one['made_by']}{why}"
            )


def _add_rule(rule: ArgumentParser) -> None:
    rule.add_argument("name")
    rule.add_argument("--channel", required=True)
    rule.add_argument("--at-least", choices=[*SEVERITIES], default="congested", help="(congested)")
    rule.add_argument("--resource", action="append", default=[], dest="resources", help="repeat")
    rule.add_argument(
        "--team", action="append", default=[], dest="teams",
        help="tell of what its workloads cause or suffer; repeat",
    )  # fmt: skip
    rule.add_argument(
        "--tag", action="append", default=[], dest="tags",
        help="of what workloads with it cause or suffer, such as label.app=shop; repeat",
    )  # fmt: skip
    rule.add_argument(
        "--quiet", action="append", default=[], metavar="WINDOW",
        help="tell nothing then, such as 'Mon-Sun 22:00 9h'; repeat",
    )  # fmt: skip
    rule.add_argument("--zone", default="UTC", help="of the quiet hours, such as Europe/Berlin")
    rule.add_argument(
        "--quiet-for-stalls", action="store_true", help="else a stall breaks the quiet"
    )
    rule.add_argument("--no-end", action="store_true", help="tell no end of what was told")


def _set_channel(organisation: Organisation, options: dict[str, Any]) -> None:
    """Without an address it keeps the one that it has."""
    name, rhythm = options["name"], options["digest"]
    stated = [one for one in ChannelKind if options[one.value]]
    kind = (
        stated[0] if stated else ChannelKind(_named(NotificationChannel, organisation, name).kind)
    )
    digest = rhythm and Digest(rhythm=Rhythm(rhythm), hour=options["hour"], zone=options["zone"])
    state.state_channel(
        organisation=organisation, name=name, kind=kind, address=options[kind.value] or "",
        digest=digest or None, actor=COMMAND_LINE, now=timezone.now(),
    )  # fmt: skip


def _remove_channel(organisation: Organisation, options: dict[str, Any]) -> None:
    row = _named(NotificationChannel, organisation, options["name"])
    state.remove_stated(row, actor=COMMAND_LINE, now=timezone.now())


def _start_channel(organisation: Organisation, options: dict[str, Any]) -> None:
    row = _named(NotificationChannel, organisation, options["name"])
    state.start_again(row, actor=COMMAND_LINE, now=timezone.now())


def _try(organisation: Organisation, options: dict[str, Any]) -> None:
    row = _named(NotificationChannel, organisation, options["name"])
    state.try_out(row, actor=COMMAND_LINE, now=timezone.now())


def _set_rule(organisation: Organisation, options: dict[str, Any]) -> None:
    rule = StatedRule(
        name=options["name"],
        channel=options["channel"],
        least=SEVERITIES[options["at_least"]],
        resources=tuple(options["resources"]),
        teams=tuple(options["teams"]),
        tags=tuple(options["tags"]),
        quiet=tuple(options["quiet"]),
        zone=options["zone"],
        grave_anyway=not options["quiet_for_stalls"],
        tells_end=not options["no_end"],
    )
    row, resources = row_of(rule, organisation)
    state.state_notification_rule(row, resources=resources, actor=COMMAND_LINE, now=timezone.now())


def _remove_rule(organisation: Organisation, options: dict[str, Any]) -> None:
    row = _named(NotificationRule, organisation, options["name"])
    state.remove_stated(row, actor=COMMAND_LINE, now=timezone.now())


def _silence(organisation: Organisation, options: dict[str, Any]) -> None:
    length_s = parse_length(options["length"])
    if length_s is None:
        raise CommandError(f'"{options["length"]}" is not a length; write it like 90min or 2d')
    name, now = options["resource"], timezone.now()
    longest_s = state.LONGEST_SILENCE.total_seconds() + 1
    state.silence(
        organisation=organisation,
        resource=find_resource(organisation, name) if name else None,
        until=now + timedelta(seconds=min(length_s, longest_s)),
        reason=options["reason"],
        actor=COMMAND_LINE,
        now=now,
    )


def _tell_again(organisation: Organisation, options: dict[str, Any]) -> None:
    name = options["resource"]
    resource = find_resource(organisation, name) if name else None
    for row in NotificationSilence.objects.filter(organisation=organisation, resource=resource):
        state.end_silence(row, actor=COMMAND_LINE, now=timezone.now())


def _named(model: type[Stated], organisation: Organisation, name: str) -> Stated:
    found = model.objects.filter(organisation=organisation, name=name).first()
    if found is None:
        word = "channel" if model is NotificationChannel else "rule"
        raise CommandError(f'there is no {word} "{name}"; sluice notify lists them')
    return found


def _channel_row(row: NotificationChannel, options: dict[str, Any]) -> dict[str, Any]:
    """The secret is shown to who sets the channel; a service's address is one itself."""
    leads_to = row.address
    if row.kind == ChannelKind.SERVICE:
        leads_to = row.address.partition("://")[0]
    return {
        "name": row.name,
        "kind": row.kind,
        "leads_to": leads_to,
        "sends": digest_words(row.digest),
        "state": f"stopped: {row.stopped_because}" if row.stopped_at else "in use",
        **({"secret": row.secret} if row.secret and _is_set(row, options) else {}),
    }


def _is_set(row: NotificationChannel, options: dict[str, Any]) -> bool:
    return bool(options["verb"] == "set-channel" and options["name"] == row.name)


def _rule_row(row: NotificationRule, held: Sequence[Held]) -> dict[str, Any]:
    return {
        "name": row.name,
        "channel": row.channel.name,
        "at_least": Severity(row.least).words,
        "resources": [one.name for one in row.resources.all()],
        "teams": row.teams,
        "tags": row.tags,
        "of": ", ".join(one.name for one in row.resources.all()) or "everything",
        "concerns": ", ".join([*row.teams, *row.tags]) or None,
        "quiet": f"{', '.join(row.quiet)} {row.zone}" if row.quiet else None,
        "stalls_break_the_quiet": row.grave_anyway,
        "tells_end": row.tells_end,
        "held_back": [_held_row(one) for one in held],
        "held": f"{len(held)} incident{'' if len(held) == 1 else 's'}" if held else None,
    }


def _held_row(held: Held) -> dict[str, Any]:
    return {"resource": held.trouble.resource, "reason": held.reason, "until": held.until}


def _silence_row(row: NotificationSilence) -> dict[str, Any]:
    return {
        "resource": row.resource.name if row.resource else None,
        "until": row.until,
        "reason": row.reason,
        "made_by": row.made_by,
    }


def _delivery_row(row: Delivery) -> dict[str, Any]:
    return {
        "created_at": row.created_at,
        "at": f"{row.created_at:%Y-%m-%d %H:%M:%S}",
        "channel": row.channel.name,
        "subject": row.message["subject"],
        "state": row.state,
        "attempts": row.attempts,
        "reason": row.reason or None,
        "sent_at": row.sent_at,
        "key": str(row.key),
    }
