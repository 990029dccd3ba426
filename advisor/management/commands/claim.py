"""`sluice claim`: what workloads were promised."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from advisor.core.quantity import format_rate, parse_rate
from advisor.management.product_command import ProductCommand, find_resource
from advisor.models import AdapterKind, Claim, IoCount, LimitScope, Tier, Unit
from advisor.services import inventory
from ingest.models import Organisation


class Command(ProductCommand):
    help = "List and state what workloads were promised on a resource"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        verbs.add_parser("list", help="all claims (the default)")
        state = verbs.add_parser("set", help="state or change a claim")
        state.add_argument("resource")
        state.add_argument("workload")
        state.add_argument("--host", help="needed if several hosts reach the resource")
        adapter = state.add_mutually_exclusive_group(required=True)
        adapter.add_argument("--vnic", metavar="INTERFACE", help="the workload's interface")
        adapter.add_argument("--cgroup", metavar="PATH", help="the workload's cgroup")
        state.add_argument("--reservation", default="0", help="for example 75Mbit")
        state.add_argument("--limit", help="for example 80Mbit; without it there is none")
        state.add_argument("--shares", type=int, help="default: those of the tier")
        state.add_argument("--tier", choices=Tier.values)
        state.add_argument("--vdisk", default="", help="tells several disks of a workload apart")
        state.add_argument("--size", help="bytes of the virtual disk, like 50GB")
        state.add_argument("--limit-scope", choices=LimitScope.values)
        state.add_argument("--io-count", choices=IoCount.values, help="what the limit counts")
        state.add_argument(
            "--even-if-full",
            action="store_true",
            help="state a reservation that does not fit on this host; a move is recommended then",
        )
        remove = verbs.add_parser("remove", help="withdraw a claim")
        remove.add_argument("resource")
        remove.add_argument("workload")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        match options["verb"]:
            case "set":
                self._set(organisation, options)
            case "remove":
                resource = find_resource(organisation, options["resource"])
                inventory.remove_claims(resource=resource, workload_name=options["workload"])
        claims = Claim.objects.filter(resource__organisation=organisation)
        self.show(
            [_row(claim) for claim in claims.select_related("resource", "workload", "host")],
            as_json=options["as_json"],
            columns=["resource", "workload", "host", "adapter", "reserved", "limited", "tier",
                     "shares"],
            empty="no claims yet; state one with: sluice claim set RESOURCE WORKLOAD --vnic NAME",
        )  # fmt: skip

    def _set(self, organisation: Organisation, options: dict[str, Any]) -> None:
        resource = find_resource(organisation, options["resource"])
        unit = resource.unit
        inventory.set_claim(
            resource=resource,
            workload_name=options["workload"],
            host_name=options["host"],
            adapter_kind=AdapterKind.VNIC if options["vnic"] else AdapterKind.CGROUP,
            adapter=options["vnic"] or options["cgroup"],
            reservation=parse_rate(options["reservation"], unit),
            limit=parse_rate(options["limit"], unit) if options["limit"] else None,
            shares=options["shares"],
            tier=options["tier"],
            vdisk=options["vdisk"],
            facts=_facts(options),
            may_exceed=options["even_if_full"],
        )


def _facts(options: dict[str, Any]) -> dict[str, Any]:
    size = options["size"]
    stated = {
        "limit_scope": options["limit_scope"],
        "io_count": options["io_count"],
        "size_bytes": parse_rate(size, Unit.BYTES_PER_S) if size else None,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _row(claim: Claim) -> dict[str, Any]:
    unit = claim.resource.unit
    return {
        "id": claim.pk,
        "resource": claim.resource.name,
        "workload": claim.workload.name,
        "host": claim.host.name,
        "adapter": claim.adapter,
        "adapter_kind": claim.adapter_kind,
        "unit": unit,
        "reservation": claim.reservation,
        "reserved": format_rate(claim.reservation, unit) if claim.reservation else None,
        "limit": claim.limit,
        "limited": format_rate(claim.limit, unit),
        "tier": claim.workload.tier,
        "shares": claim.shares,
    }
