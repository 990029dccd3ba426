"""`sluice workloads`: who does I/O, where, and by what it is known."""

from __future__ import annotations

from typing import Any

from accounts.models import Organisation
from advisor.management.product_command import ProductCommand
from advisor.models import Workload


class Command(ProductCommand):
    help = "List workloads with their hosts, resources and tier, and by what they are known"

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        rows = Workload.objects.filter(organisation=organisation).prefetch_related(
            "allocations__resource", "allocations__host"
        )
        self.show(
            [_row(row) for row in rows],
            as_json=options["as_json"],
            columns=["name", "kind", "tier", "runs_on", "uses", "state"],
            empty="no workloads yet; they appear with the samples of cgroups and hypervisors",
        )


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
