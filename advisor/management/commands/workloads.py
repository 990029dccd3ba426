"""`sluice workloads`: who does I/O, where, and by what it is known."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.models import Organisation
from advisor.core.device.felt_latency import FeltLatency
from advisor.management.product_command import ProductCommand
from advisor.models import Workload
from advisor.queries.felt_latency import DiskLatency, disk_latencies, latency_document


class Command(ProductCommand):
    help = "List workloads with their hosts, resources and tier, and by what they are known"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--layers",
            metavar="WORKLOAD",
            help="where the time of an I/O of this workload goes: its own limit, queue in the "
            "host, network, device; means of the last hour",
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        if options["layers"] is not None:
            self._show_layers(organisation, options["layers"], as_json=options["as_json"])
            return
        rows = Workload.objects.filter(organisation=organisation).prefetch_related(
            "allocations__resource", "allocations__host"
        )
        self.show(
            [_row(row) for row in rows],
            as_json=options["as_json"],
            columns=["name", "kind", "tier", "runs_on", "uses", "state"],
            empty="no workloads yet; they appear with the samples of cgroups and hypervisors",
        )

    def _show_layers(self, organisation: Organisation, name: str, *, as_json: bool) -> None:
        row = Workload.objects.filter(organisation=organisation, name=name).first()
        if row is None:
            raise CommandError(f'there is no workload "{name}"; see: sluice workloads')
        disks = disk_latencies(row, now=timezone.now())
        if as_json:
            self.show_json([latency_document(one) for one in disks])
        for one in [] if as_json else disks:
            self.stdout.write(_sentence(one))
        if not disks and not as_json:
            self.stdout.write(f"{name} has no disk that is known")


def _sentence(one: DiskLatency) -> str:
    disk = f" ({one.allocation.vdisk})" if one.allocation.vdisk else ""
    where, found = f"{one.resource.name}{disk} from {one.allocation.host.name}", one.found
    if not isinstance(found, FeltLatency):
        return f"{where}: not told: {found.reason}"
    absent = [f"\n  not told of {part.words}: {part.reason}" for part in found.absent]
    return f"{where}: {found.text}{''.join(absent)}"


def _row(row: Workload) -> dict[str, Any]:
    allocations = [one for one in row.allocations.all() if one.vanished_at is None]
    hosts = {one.host.name for one in allocations} or set(row.identity.get("hosts", ()))
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "tier": row.tier,
        "tier_reason": row.tier_reason,
        "runs_on": ", ".join(sorted(hosts)),
        "uses": ", ".join(sorted({one.resource.name for one in allocations})),
        "state": "gone" if row.vanished_at else "found" if row.found else "stated",
        "vanished_at": row.vanished_at,
        "known_by": row.identity.get("keys", []),
        "attributes": row.attributes,
        "reasons": row.reasons,
        "allocations": [
            {
                "resource": one.resource.name,
                "host": one.host.name,
                "measured_by": one.adapter_kind,
                "adapter": one.adapter,
                "vdisk": one.vdisk,
                "default": one.found,
            }
            for one in allocations
        ],
    }
