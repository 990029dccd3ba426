"""`sluice resource`: datastores and uplinks."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from accounts.management.product_command import Noted, add_verb
from accounts.models import Organisation
from advisor.core.detection.alarm_budget import AlarmBudget
from advisor.core.enumeration import listed
from advisor.core.quantity import format_rate, parse_rate
from advisor.decisions import inventory
from advisor.decisions.alarm_budgets import follow_shared_budget, state_own_budget
from advisor.decisions.removing import remove_resource
from advisor.management.alarm_budget_option import StatedBudget, own_budget_option
from advisor.management.product_command import ProductCommand, find_resource, level_text
from advisor.models import ReservationMode, Resource, ThresholdMode, Unit
from advisor.pipeline.alarm_budgets import budget_of, shared_budget
from advisor.queries.device_figures import device_document, resource_devices
from advisor.queries.full_days import full_day_plain, full_day_text
from advisor.resource_kinds.registry import plural_words, stated_kinds


class Command(ProductCommand):
    help = f"List, add and change {plural_words()}"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="all resources (the default)")
        add = add_verb(verbs, "add", help="add a resource")
        add.add_argument("name")
        add.add_argument("--kind", choices=list(stated_kinds()), required=True)
        add.add_argument(
            "--at", action="append", required=True, metavar="HOST:DEVICE", dest="attachments",
            help="host and its device for the resource; repeat for each host of a datastore",
        )  # fmt: skip
        add.add_argument(
            "--unit", choices=[*map(str, Unit)],
            help=f"unit of its rates; default: {_defaults('units')}",
        )  # fmt: skip
        add.add_argument(
            "--mode", choices=[*map(str, ReservationMode)],
            help="additive: shares divide what reservations leave; floor: a share is never below "
            f"the reservation; default: {_defaults('modes')}",
        )  # fmt: skip
        add.add_argument(
            "--window", type=float, default=10.0, dest="window_s", metavar="SECONDS",
            help="length of the windows that are evaluated (10)",
        )  # fmt: skip
        _add_limits(add)
        change = add_verb(verbs, "set", help="change settings; omitted settings are kept")
        change.add_argument("name")
        change.add_argument(
            "--threshold-mode", choices=[*map(str, ThresholdMode)],
            help="fixed: as set; baseline: what is usual at that hour of the week; "
            "peak_throughput: the latency at 90 %% of the peak throughput",
        )  # fmt: skip
        change.add_argument(
            "--alarms-per-week", type=own_budget_option, metavar="N|none|shared",
            help="false alarms that its baseline may raise; none: the percentile alone; shared: "
            "its part of that of all, or 1 where there is none (the default)",
        )  # fmt: skip
        change.add_argument(
            "--window", type=float, dest="window_s", metavar="SECONDS",
            help="length of the windows that are evaluated from now on",
        )  # fmt: skip
        _add_limits(change)
        remove = add_verb(
            verbs, "remove", help="remove a resource with its allocations and history"
        )
        remove.add_argument("name")
        devices = add_verb(
            verbs, "devices", help="what hosts say of its devices, and queues that fill in bursts"
        )
        devices.add_argument("name")

    def noted(self, options: Mapping[str, Any]) -> Noted | None:
        words = {"add": "state", "set": "change", "remove": "remove"}
        if options["verb"] not in words:
            return None
        return Noted(action=f"{words[options['verb']]} resource", subject=options["name"])

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        if options["verb"] == "devices":
            self._show_devices(find_resource(organisation, options["name"]), options["as_json"])
            return
        changed: Resource | None
        match options["verb"]:
            case "add":
                changed = self._add(organisation, options)
            case "set":
                changed = self._set(organisation, options)
            case "remove":
                remove_resource(find_resource(organisation, options["name"]))
                changed = None
            case _:
                changed = None
        shared = shared_budget(organisation.pk)
        rows = [
            _row(resource, shared)
            for resource in Resource.objects.filter(organisation=organisation).prefetch_related(
                "attachments__host", "demand_outlooks"
            )
            if changed is None or resource.pk == changed.pk
        ]
        self.show(
            rows,
            as_json=options["as_json"],
            columns=[
                "name",
                "kind",
                "capacity_with_unit",
                "mode",
                "congested_above",
                "reached_by",
                "full",
            ],
            empty="no resources yet; they appear with the first samples",
        )

    def _show_devices(self, resource: Resource, as_json: bool) -> None:
        found = resource_devices(resource, now=timezone.now())
        self.show(
            [device_document(one) for one in found.devices],
            as_json=as_json,
            columns=["host", "device", "queue_depth", "scheduler"],
            empty=f"no host reaches {resource.name}",
        )
        for one in [] if as_json else found.devices:
            if one.burst is not None:
                self.stdout.write(f"{one.host}:{one.device} {one.burst.text}")
        if found.size_term is not None and not as_json:
            self.stdout.write(f"{found.size_term.text}.")

    def _add(self, organisation: Organisation, options: dict[str, Any]) -> Resource:
        traits = stated_kinds()[options["kind"]]
        unit = Unit(options["unit"] or traits.units[0])
        resource = inventory.add_resource(
            organisation=organisation,
            name=options["name"],
            kind=options["kind"],
            attachments=[_attachment(text) for text in options["attachments"]],
            capacity=parse_rate(options["capacity"], unit) if options["capacity"] else None,
            mode=ReservationMode(options["mode"]) if options["mode"] else None,
            threshold=options["threshold"],
            unit=unit,
            window_s=options["window_s"],
        )
        return _state_facts(resource, options)

    @transaction.atomic
    def _set(self, organisation: Organisation, options: dict[str, Any]) -> Resource:
        resource = find_resource(organisation, options["name"])
        if options["alarms_per_week"] is not None:
            _state_budget(resource, options["alarms_per_week"])
        inventory.change_resource(
            resource=resource,
            capacity=(
                parse_rate(options["capacity"], resource.unit) if options["capacity"] else None
            ),
            threshold=options["threshold"],
            threshold_mode=options["threshold_mode"],
            window_s=options["window_s"],
        )
        return _state_facts(resource, options)


def _state_budget(resource: Resource, stated: StatedBudget | str) -> None:
    if isinstance(stated, StatedBudget):
        state_own_budget(resource=resource, alarms_per_week=stated.alarms_per_week)
    else:
        follow_shared_budget(resource=resource)


def _defaults(choice: str) -> str:
    """The default of each kind, for the help of an option."""
    kinds = dict.fromkeys(stated_kinds().values())
    return ", ".join(f"{getattr(kind, choice)[0]} of {kind.words.plural}" for kind in kinds)


def _add_limits(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--capacity", metavar="RATE", help="capacity, such as 94Mbit or 2000 (IOPS)"
    )
    parser.add_argument(
        "--line-rate", metavar="RATE",
        help="nominal rate of an uplink, such as 100Mbit; 75 %% of it can be reserved",
    )  # fmt: skip
    parser.add_argument(
        "--lun-queue-depth", type=int, metavar="COMMANDS",
        help="how many commands the LUN accepts at once; advice on queue depths needs it",
    )  # fmt: skip
    parser.add_argument(
        "--host-queue-depth", action="append", default=[], metavar="HOST=COMMANDS",
        help="queue depth of a host for this datastore; repeat for each",
    )  # fmt: skip
    parser.add_argument(
        "--size", metavar="BYTES",
        help="size of a datastore, such as 4TB; placement needs it for two or more",
    )  # fmt: skip
    parser.add_argument("--used", metavar="BYTES", help="used space of a datastore, such as 1TB")
    parser.add_argument(
        "--disks",
        metavar="NAME",
        help="name of its disks; datastores with the same name share them",
    )
    parser.add_argument(
        "--threshold", type=float, metavar="LEVEL",
        help="congested above it: latency in ms, or fraction of an uplink's capacity (0-1)",
    )  # fmt: skip


def _state_facts(resource: Resource, options: dict[str, Any]) -> Resource:
    """What is stated beside capacity and threshold; an absent option leaves a fact as it is."""
    stated = {
        "line_rate": _if_given(options["line_rate"], resource.unit),
        "lun_queue_depth": options["lun_queue_depth"],
        "size_bytes": _if_given(options["size"], Unit.BYTES_PER_S),
        "used_bytes": _if_given(options["used"], Unit.BYTES_PER_S),
        "disks": options["disks"],
    }
    inventory.change_resource(
        resource=resource,
        facts={name: value for name, value in stated.items() if value is not None},
    )
    for text in options["host_queue_depth"]:
        host, equals, depth = text.partition("=")
        if not (host and equals and depth.isdecimal()):
            raise CommandError(f'"{text}" is not HOST=COMMANDS')
        inventory.set_queue_depth(resource=resource, host_name=host, depth=int(depth))
    return resource


def _if_given(text: str | None, unit: str) -> float | None:
    return parse_rate(text, unit) if text else None


def _attachment(text: str) -> tuple[str, str]:
    host, colon, device = text.partition(":")
    if not (host and colon and device):
        raise CommandError(f'"{text}" is not HOST:DEVICE')
    return host, device


def _row(resource: Resource, shared: AlarmBudget | None) -> dict[str, Any]:
    attachments = list(resource.attachments.all())
    names = [str(item) for item in attachments]
    budget = budget_of(resource, shared)
    return {
        "id": resource.pk,
        "name": resource.name,
        "kind": resource.noun,
        "unit": resource.unit,
        "capacity": resource.capacity,
        "capacity_with_unit": (
            None if resource.capacity is None else format_rate(resource.capacity, resource.unit)
        ),
        "line_rate": resource.line_rate,
        "lun_queue_depth": resource.lun_queue_depth,
        "size_bytes": resource.size_bytes,
        "used_bytes": resource.used_bytes,
        "disks": resource.disks,
        "mode": resource.mode,
        "threshold": resource.threshold,
        "threshold_mode": resource.threshold_mode,
        "alarms_per_week": None if budget is None else budget.alarms_per_week,
        "alarms_shared_by": None if budget is None else budget.shared_by,
        "window_s": resource.window_s,
        "discovered": resource.discovered,
        "vanished_at": resource.vanished_at,
        "known_by": resource.identity.get("keys", []),
        "reasons": resource.reasons,
        "congested_above": level_text(resource.threshold, resource.kind),
        "reached_from": ", ".join(names),
        "reached_by": listed(names),
        "full": full_day_text(resource),
        "full_day": full_day_plain(resource),
        "host_queue_depths": {
            item.host.name: item.device_queue_depth
            for item in attachments
            if item.device_queue_depth is not None
        },
    }
