"""Datastores and allocations of cgroups on them, as an operator states them."""

from __future__ import annotations

from typing import Any

from accounts.models import Organisation
from advisor.decisions import inventory
from advisor.models import AdapterKind, Allocation, Resource, ResourceKind


def stated_datastore(
    organisation: Organisation, name: str, *hosts: str, **fields: Any
) -> Resource:
    """A datastore whose device is called as it is on every host."""
    return inventory.add_resource(
        organisation=organisation,
        name=name,
        kind=ResourceKind.DATASTORE,
        attachments=[(host, name) for host in hosts],
        **fields,
    )


def cgroup_allocation(
    resource: Resource, workload: str, *, host: str = "h1", path: str = "", **fields: Any
) -> Allocation:
    """An allocation of a cgroup, which has the workload's name unless `path` says another."""
    return inventory.set_allocation(
        resource=resource,
        workload_name=workload,
        host_name=host,
        adapter_kind=AdapterKind.CGROUP,
        adapter=path or f"/{workload}",
        **fields,
    )
