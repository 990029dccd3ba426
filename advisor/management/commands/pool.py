"""`sluice pool`: groups of workloads on an uplink, with terms of their own."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from accounts.management.product_command import Noted, add_verb
from accounts.models import Organisation
from advisor.core.enumeration import listed
from advisor.core.quantity import format_rate, parse_rate
from advisor.decisions import pools
from advisor.management.product_command import ProductCommand, find_resource
from advisor.models import Pool
from advisor.queries.full_days import full_day_plain, full_day_text


class Command(ProductCommand):
    help = "List and set pools: groups of workloads that share terms on an uplink"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "list", help="all pools (the default)")
        state = add_verb(
            verbs, "set", help="set a pool; omitted terms are cleared, omitted members kept"
        )
        _add_name(state)
        state.add_argument(
            "--reservation", metavar="RATE",
            help="guaranteed rate of its members together, such as 75Mbit; what they reserve "
            "themselves is in it; default: none",
        )  # fmt: skip
        state.add_argument(
            "--limit", metavar="RATE", help="maximum rate of its members together; default: none"
        )
        state.add_argument(
            "--shares", type=int, metavar="N",
            help="weight of the pool beside other pools and workloads without one; default: "
            "each member counts with its own shares",
        )  # fmt: skip
        state.add_argument(
            "--member", nargs="*", metavar="WORKLOAD", dest="members",
            help="all workloads in the pool, each with an allocation on the uplink; a member of "
            "another pool leaves it; --member alone empties the pool",
        )  # fmt: skip
        _add_name(
            add_verb(verbs, "remove", help="remove a pool; its members keep their own terms")
        )

    def noted(self, options: Mapping[str, Any]) -> Noted | None:
        words = {"set": "state", "remove": "remove"}
        if options["verb"] not in words:
            return None
        return Noted(
            action=f"{words[options['verb']]} pool",
            subject=f"{options['name']} on {options['resource']}",
        )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        rows = Pool.objects.filter(resource__organisation=organisation)
        match options["verb"]:
            case "set":
                rows = rows.filter(pk=_set(organisation, options).pk)
            case "remove":
                resource = find_resource(organisation, options["resource"])
                pools.remove_pool(resource=resource, name=options["name"])
        found = rows.select_related("resource").prefetch_related(
            "members__workload", "demand_outlooks"
        )
        self.show(
            [_row(pool) for pool in found],
            as_json=options["as_json"],
            columns=["resource", "pool", "reserved", "limited", "counts", "inside", "full"],
            empty="no pools yet: sluice pool set UPLINK NAME --member WORKLOAD",
        )


def _add_name(verb: ArgumentParser) -> None:
    verb.add_argument("resource", metavar="uplink")
    verb.add_argument("name")


def _set(organisation: Organisation, options: dict[str, Any]) -> Pool:
    resource = find_resource(organisation, options["resource"])
    least, most = options["reservation"], options["limit"]
    return pools.set_pool(
        resource=resource,
        name=options["name"],
        reservation=parse_rate(least, resource.unit) if least else 0.0,
        limit=parse_rate(most, resource.unit) if most else None,
        shares=options["shares"],
        members=options["members"],
    )


def _row(pool: Pool) -> dict[str, Any]:
    unit = pool.resource.unit
    members = sorted(one.workload.name for one in pool.members.all())
    return {
        "id": pool.pk,
        "resource": pool.resource.name,
        "pool": pool.name,
        "unit": unit,
        "reservation": pool.reservation,
        "reserved": format_rate(pool.reservation, unit) if pool.reservation else None,
        "limit": pool.limit,
        "limited": None if pool.limit is None else format_rate(pool.limit, unit),
        "shares": pool.shares,
        "counts": "its members' shares" if pool.shares is None else f"{pool.shares} shares",
        "members": members,
        "inside": listed(members) or None,
        "full": full_day_text(pool),
        "full_day": full_day_plain(pool),
    }
