"""`sluice allocation`: the shares, reservations and limits of workloads."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from typing import Any

from accounts.management.product_command import Noted, add_verb
from accounts.models import Organisation
from advisor.core.quantity import format_rate, parse_rate
from advisor.decisions import inventory
from advisor.decisions.tier_defaults import controls_of_tier
from advisor.management.product_command import ProductCommand, find_resource
from advisor.models import AdapterKind, Allocation, IoCount, LimitScope, Tier, Unit
from enforcers.contract import HOST_KIND


class Command(ProductCommand):
    help = "List and set the shares, reservations and limits of workloads"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="all allocations (the default)")
        state = add_verb(verbs, "set", help="set an allocation; omitted settings are cleared")
        state.add_argument("resource")
        state.add_argument("workload")
        _add_whose_arguments(state)
        _add_controls(state)
        _add_disk_arguments(state)
        remove = add_verb(verbs, "remove", help="remove an allocation")
        remove.add_argument("resource")
        remove.add_argument("workload")

    def noted(self, options: Mapping[str, Any]) -> Noted | None:
        words = {"set": "state", "remove": "remove"}
        if options["verb"] not in words:
            return None
        return Noted(
            action=f"{words[options['verb']]} allocation",
            subject=f"{options['workload']} on {options['resource']}",
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        allocations = Allocation.objects.filter(resource__organisation=organisation)
        match options["verb"]:
            case "set":
                allocations = allocations.filter(pk=self._set(organisation, options).pk)
            case "remove":
                resource = find_resource(organisation, options["resource"])
                inventory.remove_allocations(resource=resource, workload_name=options["workload"])
        rows = allocations.select_related("resource", "workload", "host", "pool")
        self.show(
            [_row(item) for item in rows],
            as_json=options["as_json"],
            columns=["resource", "workload", "host", "disk", "adapter", "enforced_by",
                     "reserved", "limited", "tier", "counts", "pool"],
            empty="no allocations yet: sluice allocation set RESOURCE WORKLOAD --vnic NAME",
        )  # fmt: skip

    def _set(self, organisation: Organisation, options: dict[str, Any]) -> Allocation:
        resource = find_resource(organisation, options["resource"])
        unit = resource.unit
        least, most = options["reservation"], options["limit"]
        reservation = parse_rate(least, unit) if least else 0.0
        limit = parse_rate(most, unit) if most else None
        if options["tier_controls"]:
            found = controls_of_tier(
                resource=resource, workload_name=options["workload"], tier=options["tier"]
            )
            reservation = reservation if least else found.reservation_iops
            limit = limit if most else found.limit_iops
        own_kind = options["host_kind"]
        return inventory.set_allocation(
            resource=resource,
            workload_name=options["workload"],
            host_name=options["host"],
            adapter_kind=AdapterKind.VNIC if options["vnic"] else AdapterKind.CGROUP,
            # No collector counts a kind of the host's own traffic; its agent does.
            adapter=options["vnic"] or options["cgroup"] or f"{HOST_KIND}/{own_kind}",
            reservation=reservation,
            limit=limit,
            shares=options["shares"],
            tier=options["tier"],
            vdisk=options["vdisk"],
            selector=_stated_selector(options),
            facts=_facts(options),
            may_exceed=options["even_if_full"],
        )


def _add_whose_arguments(state: ArgumentParser) -> None:
    """Where the workload runs, and how its I/O is measured and recognised."""
    state.add_argument(
        "--host", metavar="NAME", help="host (required if several reach the resource)"
    )
    adapter = state.add_mutually_exclusive_group(required=True)
    adapter.add_argument(
        "--vnic", metavar="INTERFACE", help="network interface of the workload on the host"
    )
    adapter.add_argument("--cgroup", metavar="PATH", help="cgroup of the workload")
    adapter.add_argument(
        "--host-kind", metavar="KIND",
        help="a kind of the host's own traffic on an uplink, such as nfs or migration",
    )  # fmt: skip
    recognised = state.add_mutually_exclusive_group()
    recognised.add_argument(
        "--source-address", metavar="ADDRESS",
        help="enforce by IP address or prefix, for workloads behind a routing bridge; "
        "the interface is then used only for measuring",
    )  # fmt: skip
    recognised.add_argument(
        "--selector", metavar="KIND=VALUE", type=_selector,
        help="enforce by this selector; `sluice hosts --json` lists the kinds of each host",
    )  # fmt: skip


def _add_controls(state: ArgumentParser) -> None:
    """Reservation, limit, shares and tier."""
    state.add_argument(
        "--reservation", metavar="RATE",
        help="guaranteed rate, such as 75Mbit or 500 (IOPS); default: none",
    )  # fmt: skip
    state.add_argument(
        "--even-if-full",
        action="store_true",
        help="accept a reservation that does not fit on this host; a move is then recommended",
    )
    state.add_argument("--limit", metavar="RATE", help="maximum rate, such as 80Mbit")
    state.add_argument(
        "--shares", type=int, metavar="N", help="relative weight; default: that of the tier"
    )
    state.add_argument(
        "--tier", choices=[*map(str, Tier)],
        help="tier of the workload on all resources: 2000, 1000 or 500 shares (medium)",
    )  # fmt: skip
    state.add_argument(
        "--tier-controls",
        action="store_true",
        help="on a datastore counted in IOPS take what is not stated from the tier: reservation "
        "100, 50 or 10, limit 100,000, 10,000 or 1,000",
    )


def _add_disk_arguments(state: ArgumentParser) -> None:
    """What matters for virtual disks only."""
    state.add_argument(
        "--vdisk", default="", metavar="NAME", help="virtual disk, if the workload has several"
    )
    state.add_argument(
        "--size",
        metavar="BYTES",
        help="size of the virtual disk, such as 50GB; placement needs it",
    )
    state.add_argument(
        "--limit-scope", choices=[*map(str, LimitScope)],
        help="apply the limit to each disk or to the sum of the workload's disks "
        "on the datastore (per_vdisk)",
    )  # fmt: skip
    state.add_argument(
        "--io-count", choices=[*map(str, IoCount)],
        help="what the limit counts: I/Os of any size, or one per 32 KiB (plain)",
    )  # fmt: skip


def _selector(text: str) -> tuple[str, str]:
    kind, equals, value = text.partition("=")
    if not (kind and equals and value):
        raise ArgumentTypeError(f"{text!r} is not KIND=VALUE, such as source_address=10.0.0.7")
    return kind, value


def _stated_selector(options: dict[str, Any]) -> tuple[str, str] | None:
    if options["source_address"]:
        return "source_address", options["source_address"]
    if options["host_kind"]:
        return HOST_KIND, options["host_kind"]
    selector: tuple[str, str] | None = options["selector"]
    return selector


def _facts(options: dict[str, Any]) -> dict[str, Any]:
    size = options["size"]
    stated = {
        "limit_scope": options["limit_scope"],
        "io_count": options["io_count"],
        "size_bytes": parse_rate(size, Unit.BYTES_PER_S) if size else None,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _row(allocation: Allocation) -> dict[str, Any]:
    unit = allocation.resource.unit
    kind, value = allocation.recognised_by
    return {
        "id": allocation.pk,
        "resource": allocation.resource.name,
        "workload": allocation.workload.name,
        "host": allocation.host.name,
        "adapter": allocation.adapter,
        "adapter_kind": allocation.adapter_kind,
        "enforced_by": f"{kind} {value}",
        "selector_kind": kind,
        "selector": value,
        "unit": unit,
        "reservation": allocation.reservation,
        "reserved": format_rate(allocation.reservation, unit) if allocation.reservation else None,
        "limit": allocation.limit,
        "limited": None if allocation.limit is None else format_rate(allocation.limit, unit),
        "limit_scope": allocation.limit_scope,
        "io_count": allocation.io_count,
        "vdisk": allocation.vdisk,
        "disk": allocation.vdisk or None,
        "size_bytes": allocation.size_bytes,
        "pool": allocation.pool.name if allocation.pool else None,
        "tier": allocation.workload.tier,
        "shares": allocation.shares,
        "shares_in_effect": allocation.weight,
        "counts": f"{allocation.weight} shares",
    }
