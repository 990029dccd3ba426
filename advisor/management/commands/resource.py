"""`sluice resource`: datastores and uplinks."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from advisor.core.quantity import format_rate, parse_rate
from advisor.management.product_command import ProductCommand, find_resource
from advisor.models import Mode, Resource, ResourceKind, ThresholdMode, Unit
from advisor.services import inventory
from ingest.models import Organisation


class Command(ProductCommand):
    help = "List, add and change datastores and uplinks"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        verbs.add_parser("list", help="all resources (the default)")
        add = verbs.add_parser("add", help="state a datastore or uplink")
        add.add_argument("name")
        add.add_argument("--kind", choices=ResourceKind.values, required=True)
        add.add_argument(
            "--at", action="append", required=True, metavar="HOST:DEVICE", dest="attachments",
            help="a host and its device that reach it; repeat for a shared datastore",
        )  # fmt: skip
        add.add_argument("--unit", choices=Unit.values)
        add.add_argument("--mode", choices=Mode.values, help="meaning of reservation with shares")
        add.add_argument("--window", type=float, default=10.0, dest="window_s", metavar="SECONDS")
        _add_limits(add)
        change = verbs.add_parser("set", help="change capacity or threshold")
        change.add_argument("name")
        change.add_argument("--threshold-mode", choices=ThresholdMode.values)
        _add_limits(change)
        remove = verbs.add_parser("remove", help="forget a resource, its claims and its history")
        remove.add_argument("name")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        match options["verb"]:
            case "add":
                changed = self._add(organisation, options)
            case "set":
                changed = self._set(organisation, options)
            case "remove":
                find_resource(organisation, options["name"]).delete()
                changed = None
            case _:
                changed = None
        rows = [
            _row(resource)
            for resource in Resource.objects.filter(organisation=organisation)
            if changed is None or resource.pk == changed.pk
        ]
        self.show(
            rows,
            as_json=options["as_json"],
            columns=["name", "kind", "reached_from", "capacity_text", "mode", "threshold"],
            empty="no resources yet; they appear with the first samples",
        )

    def _add(self, organisation: Organisation, options: dict[str, Any]) -> Resource:
        kind = ResourceKind(options["kind"])
        unit = Unit(
            options["unit"] or (Unit.BITS_PER_S if kind == ResourceKind.UPLINK else Unit.IOPS)
        )
        resource = inventory.add_resource(
            organisation=organisation,
            name=options["name"],
            kind=kind,
            attachments=[_attachment(text) for text in options["attachments"]],
            capacity=parse_rate(options["capacity"], unit) if options["capacity"] else None,
            mode=Mode(options["mode"]) if options["mode"] else None,
            threshold=options["threshold"],
            unit=unit,
            window_s=options["window_s"],
        )
        return _state_facts(resource, options)

    def _set(self, organisation: Organisation, options: dict[str, Any]) -> Resource:
        resource = find_resource(organisation, options["name"])
        inventory.change_resource(
            resource=resource,
            capacity=(
                parse_rate(options["capacity"], resource.unit) if options["capacity"] else None
            ),
            threshold=options["threshold"],
            threshold_mode=options["threshold_mode"],
        )
        return _state_facts(resource, options)


def _add_limits(parser: ArgumentParser) -> None:
    parser.add_argument("--capacity", help="for example 94Mbit or 2000 (IOPS)")
    parser.add_argument(
        "--line-rate", help="nominal rate of an uplink, like 100Mbit; 75 %% of it may be reserved"
    )
    parser.add_argument("--lun-queue-depth", type=int, metavar="COMMANDS")
    parser.add_argument(
        "--host-queue-depth", action="append", default=[], metavar="HOST=COMMANDS",
        help="queue depth that a host has for this datastore; repeat for each",
    )  # fmt: skip
    parser.add_argument("--size", help="bytes of a datastore, like 4TB")
    parser.add_argument("--used", help="bytes that are used")
    parser.add_argument("--disks", help="datastores with the same name here share spindles")
    parser.add_argument(
        "--threshold", type=float, help="ms of latency, or part of an uplink's capacity (0-1)"
    )


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


def _row(resource: Resource) -> dict[str, Any]:
    return {
        "id": resource.pk,
        "name": resource.name,
        "kind": resource.kind,
        "unit": resource.unit,
        "capacity": resource.capacity,
        "capacity_text": format_rate(resource.capacity, resource.unit),
        "mode": resource.mode,
        "threshold": resource.threshold,
        "threshold_mode": resource.threshold_mode,
        "window_s": resource.window_s,
        "discovered": resource.discovered,
        "reached_from": ", ".join(str(item) for item in resource.attachments.all()),
    }
