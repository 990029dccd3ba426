"""Read a vCenter that is a source: what it has, and what of it is stated here."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.actor import SCHEDULER
from accounts.services.audit import record
from advisor.decisions.vcenter.apply import Imported, import_vcenter
from advisor.models import ReadSource
from ingest.core.source_errors import SourceError
from ingest.core.vcenter.inventory import Inventory
from ingest.core.vcenter.read_inventory import read_inventory
from ingest.imports.connection import Way
from ingest.imports.vcenter import Account, greet, read_live


def greeting(row: ReadSource, way: Way) -> str:
    """What it calls itself, once it has let the user in; else SourceError."""
    return f"{greet(row.address, _account(row), way)} lets {row.user} in"


def read(row: ReadSource, way: Way, *, now: datetime) -> str:
    """Read all of it, and say in words what was found; SourceError says why nothing was."""
    inventory = read_inventory(read_live(row.address, _account(row), way=way))
    return _taken_over(row, inventory, now)


def _account(row: ReadSource) -> Account:
    return Account(user=row.user, password=row.password)


@transaction.atomic
def _taken_over(row: ReadSource, inventory: Inventory, now: datetime) -> str:
    """What was read and what differs, in words; it is stated here if the source takes over."""
    if not (inventory.guests or inventory.stores):
        raise SourceError(
            "no virtual machine and no datastore was read; give the account the role Read-only "
            "on the vCenter, with propagation"
        )
    # Who pauses or removes it meanwhile wins.
    stands = ReadSource.objects.select_for_update().filter(
        pk=row.pk, paused_at=None, removed_at=None
    )
    applies = row.takes_over and stands.filter(takes_over=True).exists()
    found = import_vcenter(row.organisation, inventory, name=row.name, apply=applies, now=now)
    if found.applied and not found.is_empty:
        record(
            organisation=row.organisation, actor=SCHEDULER, action="import vcenter",
            subject=row.name, now=now,
        )  # fmt: skip
    return _words(inventory, found)


def _words(inventory: Inventory, found: Imported) -> str:
    read = f"{len(inventory.guests)} VMs and {len(inventory.stores)} datastores read"
    proposal = found.proposal
    changes = [
        f"{count} {noun}{'' if count == 1 else 's'}"
        for count, noun in (
            (len(proposal.allocations), "allocation"),
            (len(proposal.thresholds), "threshold"),
            (len(found.rules_added) + len(found.rules_removed), "line of rule"),
            (len(proposal.sizes) + len(proposal.store_sizes), "size"),
        )
        if count
    ]
    if not changes:
        differs = "nothing differs"
    elif found.applied:
        differs = f"taken over: {', '.join(changes)}"
    else:
        differs = f"not taken over: {', '.join(changes)}"
    left = len(proposal.left_out)
    return f"{read}; {differs}" + (f"; {left} left out" if left else "")
