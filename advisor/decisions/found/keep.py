"""Bring the inventory of an organisation in line with what its collectors show."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime, timedelta
from time import monotonic, perf_counter, sleep

from django.db import connection, transaction

from accounts.models import Organisation
from advisor.decisions.found.datastores import keep_datastores
from advisor.decisions.found.look import look
from advisor.decisions.found.uplinks import keep_uplinks
from advisor.decisions.found.workloads import keep_workloads
from advisor.errors import InventoryError

EVERY = timedelta(minutes=5)
"""So often it is looked for what is gone, even if nothing new was said or sent."""

MOST_OF_TIME = 0.05
"""Looking takes no more of a worker's time than this, however often something is new."""

LONGEST_WAIT_S = 120.0
_ASKED_EVERY_S = 0.2

_Stamp = tuple[Hashable, Hashable]

_looked: dict[tuple[str, int], tuple[_Stamp, datetime, timedelta]] = {}
"""By database and organisation what was there, when it was looked, and how long not to look."""


def keep_inventory(organisation: Organisation, *, now: datetime, is_asked: bool = False) -> bool:
    """Make, find again and mark what is found; False if nothing is new since the last time.

    Where somebody asked for it and waits, it is looked in any case, after whoever looks already.
    Without that, what somebody else looks at is left to them.
    """
    with transaction.atomic():
        if not _has_turn(organisation, wait_s=LONGEST_WAIT_S if is_asked else 0.0):
            return False
        said, key = _said(organisation), (connection.settings_dict["NAME"], organisation.pk)
        before, at, rest = _looked.get(key, (None, now - EVERY, EVERY))
        is_same = before == (said, _kept(organisation))
        if not is_asked and at <= now < at + (EVERY if is_same else rest):
            return False
        began = perf_counter()
        seen = look(organisation, now=now)
        resources = keep_datastores(organisation, seen, now=now)
        keep_uplinks(organisation, seen, now=now)
        keep_workloads(organisation, seen, resources, now=now)
        took = timedelta(seconds=perf_counter() - began)
        # What was said meanwhile was not looked at; what was written above belongs to the look.
        _looked[key] = (said, _kept(organisation)), now, min(took / MOST_OF_TIME, EVERY)
    return True


def _has_turn(organisation: Organisation, *, wait_s: float) -> bool:
    """Hold the organisation's inventory until the transaction ends; False if others hold it.

    Workers may not change organisations, so they cannot lock their rows. It is asked again and
    again because a look may take longer than the database lets anybody wait for a lock. Raises
    `InventoryError` after waiting in vain.
    """
    deadline = monotonic() + wait_s
    with connection.cursor() as cursor:
        while True:
            cursor.execute(
                "SELECT pg_try_advisory_xact_lock(hashtextextended('inventory', %s))",
                [organisation.pk],
            )
            row = cursor.fetchone()
            if row is not None and row[0]:
                return True
            if not wait_s:
                return False
            if monotonic() > deadline:
                raise InventoryError(
                    f"{organisation}: others have been looking for devices and workloads for "
                    f"{wait_s:.0f} s; try again"
                )
            sleep(_ASKED_EVERY_S)


def _said(organisation: Organisation) -> Hashable:
    """What changes when something new is said: series, facts, rules, and labels of clusters."""
    return _row(
        organisation,
        """
        SELECT (SELECT (count(*), max(id))::text FROM ingest_series
                 WHERE organisation_id = %(key)s),
               (SELECT (count(*), max(id), max(first_seen_at))::text FROM ingest_fact
                 WHERE organisation_id = %(key)s),
               (SELECT max(stated_at)::text FROM advisor_workloadrules
                 WHERE organisation_id = %(key)s),
               (SELECT string_agg((id, kept_at, tier_label, name)::text, ',' ORDER BY id)
                  FROM advisor_vcentersource
                 WHERE organisation_id = %(key)s AND kind = 'kubernetes'
                   AND takes_over AND removed_at IS NULL)
        """,
    )


def _kept(organisation: Organisation) -> Hashable:
    """What changes with the rows that a look keeps, whoever writes them."""
    return _row(
        organisation,
        """
        SELECT (SELECT (count(*), sum(hashint8extended(one.id, one.xmin::text::bigint)))::text
                  FROM advisor_attachment AS one JOIN advisor_resource AS resource
                    ON resource.id = one.resource_id
                 WHERE resource.organisation_id = %(key)s),
               (SELECT (count(*), sum(hashint8extended(one.id, one.xmin::text::bigint)))::text
                  FROM advisor_allocation AS one JOIN advisor_resource AS resource
                    ON resource.id = one.resource_id
                 WHERE resource.organisation_id = %(key)s)
        """,
    )


def _row(organisation: Organisation, query: str) -> Hashable:
    with connection.cursor() as cursor:
        cursor.execute(query, {"key": organisation.pk})
        found: Hashable = cursor.fetchone()
        return found
