"""Read a vCenter that is due, and say on its row what was found, or why nothing was.

A source is taken by moving its next time ahead, so two workers do not read the same one, and one
that ends a worker does not end the next at once.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, Q, QuerySet

from accounts.actor import SCHEDULER
from accounts.sealing import Unsealable
from accounts.services.audit import record
from advisor.decisions.vcenter.apply import Imported, import_vcenter
from advisor.decisions.vcenter.sources import allowed_addresses
from advisor.errors import AdvisorError
from advisor.models import VcenterSource
from advisor.models.source import LONGEST_SAID
from ingest.core.vcenter.errors import VcenterError
from ingest.core.vcenter.inventory import Inventory
from ingest.core.vcenter.read_inventory import read_inventory
from ingest.imports.reachable import address_to_reach
from ingest.imports.vcenter import Account, greet, read_live
from ingest.imports.vcenter_connection import Trust, Way

log = logging.getLogger(__name__)

READ_LIMIT_S = 120.0
"""Of all requests together; a vCenter of 10,000 machines answers in 50 pages."""
TRIAL_LIMIT_S = 8.0
LONGEST_WAIT = timedelta(days=1)
"""One that cannot be read is tried ever less often, down to this."""


def due_sources(*, now: datetime) -> QuerySet[VcenterSource]:
    """Those to be read or tested."""
    to_read = Q(paused_at=None, next_at__lte=now)
    to_test = Q(trial_asked_at__isnull=False) & (
        Q(trial_at=None) | Q(trial_at__lt=F("trial_asked_at"))
    )
    return VcenterSource.objects.filter(to_read | to_test, removed_at=None)


def read_where_due(source_id: int, *, now: datetime) -> None:
    """Test a source if that is asked for, and read it if it is time; safe to run twice."""
    row = due_sources(now=now).select_related("organisation").filter(pk=source_id).first()
    if row is None:
        return
    if row.is_tried:
        try_now(row, now=now)
    if row.paused_at is None and row.next_at <= now:
        _read(row, now)


def try_now(row: VcenterSource, *, now: datetime) -> None:
    """Connect and log in, and say on the row what came of it."""
    try:
        says, worked = f"{_greeting(row)} lets {row.user} in", True
    except (VcenterError, Unsealable) as error:
        says, worked = str(error), False
    VcenterSource.objects.filter(pk=row.pk, trial_asked_at=row.trial_asked_at).update(
        trial_at=max(now, row.trial_asked_at or now), trial_worked=worked, trial_says=_short(says)
    )


def _greeting(row: VcenterSource) -> str:
    return greet(row.address, _account(row), _way(row, TRIAL_LIMIT_S))


def _read(row: VcenterSource, now: datetime) -> None:
    every = timedelta(minutes=row.every_min)
    taken = VcenterSource.objects.filter(
        pk=row.pk, next_at=row.next_at, paused_at=None, removed_at=None
    )
    if not taken.update(next_at=now + every, began_at=now):
        return
    try:
        inventory = read_inventory(
            read_live(row.address, _account(row), way=_way(row, READ_LIMIT_S))
        )
        says = _taken_over(row, inventory, now)
    except (VcenterError, Unsealable, AdvisorError) as error:
        _failed(row, str(error), now)
    except Exception as error:
        # Also the limit of its time.
        _failed(row, f"it ended with an error: {type(error).__name__}", now)
        raise
    else:
        _done(row, now, read_at=now, failures=0, says=_short(says))


def _account(row: VcenterSource) -> Account:
    return Account(user=row.user, password=row.password)


def _way(row: VcenterSource, limit_s: float) -> Way:
    return Way(
        trust=Trust(fingerprint=row.fingerprint, authority=row.authority),
        choose=partial(address_to_reach, allowed=allowed_addresses()),
        limit_s=limit_s,
    )


@transaction.atomic
def _taken_over(row: VcenterSource, inventory: Inventory, now: datetime) -> str:
    """What was read and what differs, in words; it is stated here if the source takes over."""
    if not (inventory.guests or inventory.stores):
        raise VcenterError(
            "no virtual machine and no datastore was read; give the account the role Read-only "
            "on the vCenter, with propagation"
        )
    # Who pauses or removes it meanwhile wins.
    stands = VcenterSource.objects.select_for_update().filter(
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


def _failed(row: VcenterSource, reason: str, now: datetime) -> None:
    failures = row.failures + 1
    every = timedelta(minutes=row.every_min)
    wait = max(min(every * 2 ** min(failures, 12), LONGEST_WAIT), every)
    log.info("source not read", extra={"source": row.pk, "reason": reason})
    _done(row, now, failures=failures, says=_short(reason), next_at=now + wait)


def _done(row: VcenterSource, now: datetime, **columns: object) -> None:
    """Unless it was stated anew or resumed meanwhile: then it is read again at once."""
    rows = VcenterSource.objects.filter(pk=row.pk, began_at=now)
    as_taken = rows.filter(next_at=now + timedelta(minutes=row.every_min))
    if not as_taken.update(began_at=None, **columns):
        rows.update(began_at=None)


def _short(text: str) -> str:
    found = " ".join(text.split())
    return found if len(found) <= LONGEST_SAID else f"{found[: LONGEST_SAID - 1]}…"
