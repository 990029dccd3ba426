"""Have claims ask for the classes that were approved, and see what their driver makes of it."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.actor import SCHEDULER
from accounts.models.audit import LONGEST_SUBJECT
from accounts.services.audit import record
from advisor.decisions.rollouts.begin import terms_of
from advisor.models import ChangeState, ClassChange, ReadSource
from ingest.core.kubernetes.cluster import Claim
from ingest.core.source_errors import SourceError, StatusError
from ingest.imports.connection import Way
from ingest.imports.kubernetes import Api, Claims, changing_claims

log = logging.getLogger(__name__)

RUN_WITHIN = timedelta(hours=1)
"""Advice is of the load at its time; what nobody changed by then is not changed any more."""
DONE_WITHIN = timedelta(hours=6)
"""Some drivers rebuild a volume for hours; what is not done then, is looked at by a person."""
LOOK_EVERY = timedelta(minutes=1)
LOST_AFTER = timedelta(minutes=10)
INFEASIBLE = "Infeasible"


def due_changes(*, now: datetime) -> QuerySet[ClassChange]:
    """Those for which something is to be done now."""
    lost = Q(state=ChangeState.RUNNING, look_at__lte=now - LOST_AFTER)
    rows = Q(state__in=(ChangeState.WAITING, ChangeState.CHECKING), look_at__lte=now)
    return ClassChange.objects.filter(rows | lost)


def carry_out_changes(source: ReadSource, api: Api, way: Way, *, now: datetime) -> None:
    """Make the changes of a cluster that wait, and look at those before; safe to run twice."""
    rows = list(due_changes(now=now).filter(source=source).order_by("pk"))
    for row in (one for one in rows if one.state == ChangeState.RUNNING):
        # A worker that died says nothing of it: the cluster will.
        _claim(row, ChangeState.RUNNING, state=ChangeState.CHECKING, changed_at=now, look_at=now)
    waiting = [one for one in rows if one.state == ChangeState.WAITING]
    checking = [one for one in rows if one.state == ChangeState.CHECKING]
    if terms_of(source.organisation).stopped_at is not None:
        waiting = []
    if not (waiting or checking):
        return
    with changing_claims(api, way) as claims:
        for row in waiting:
            _change(row, claims, now)
        for row in checking:
            _check(row, claims, now)


def put_off(source: ReadSource, reason: str, *, now: datetime) -> None:
    """Keep why nothing could be done now; what waits for too long is given up."""
    for row in due_changes(now=now).filter(source=source).order_by("pk"):
        began = row.changed_at or row.asked_at
        most = RUN_WITHIN if row.state == ChangeState.WAITING else DONE_WITHIN
        if now - began > most:
            _end(row, ChangeState.FAILED, reason, now)
        else:
            _claim(row, ChangeState(row.state), look_at=now + LOOK_EVERY, said=reason)


def _change(row: ClassChange, claims: Claims, now: datetime) -> None:
    if now - row.asked_at > RUN_WITHIN:
        said = "it waited for more than an hour, and the advice is of the load before"
        _end(row, ChangeState.FAILED, said, now)
        return
    if not _claim(row, ChangeState.WAITING, state=ChangeState.RUNNING, look_at=now):
        return
    row.state = ChangeState.RUNNING
    try:
        claim = claims.now(row.namespace, row.name)
        if claim is None or claim.uid != row.uid:
            _end(row, ChangeState.FAILED, "there is no such claim any more", now)
            return
        if row.undoes_id is not None and claim.asked_class != row.former:
            said = f"it asks for the class {claim.asked_class or 'none'} by now, not by us"
            _end(row, ChangeState.FAILED, said, now)
            return
        claims.ask_for(claim, row.wanted, only_try=True)
        claims.ask_for(claim, row.wanted, only_try=False)
    except StatusError as error:
        _end(row, ChangeState.FAILED, str(error), now)
        return
    except SourceError as error:
        # Whether it came through is not known: the claim says it.
        _claim(
            row, ChangeState.RUNNING, state=ChangeState.CHECKING, changed_at=now,
            look_at=now + LOOK_EVERY, said=str(error),
        )  # fmt: skip
        raise
    _changed(row, claim, now)


@transaction.atomic
def _changed(row: ClassChange, claim: Claim, now: datetime) -> None:
    if _claim(
        row, ChangeState.RUNNING, state=ChangeState.CHECKING, former=claim.asked_class,
        changed_at=now, look_at=now + LOOK_EVERY, said="",
    ):  # fmt: skip
        row.former = claim.asked_class
        _tell(row, "change the class of a claim", now)


def _check(row: ClassChange, claims: Claims, now: datetime) -> None:
    claim = claims.now(row.namespace, row.name)
    if claim is None or claim.uid != row.uid:
        _end(row, ChangeState.FAILED, "there is no such claim any more", now)
    elif claim.asked_class != row.wanted:
        _end(row, ChangeState.FAILED, f"it asks for the class {claim.asked_class or 'none'}", now)
    elif claim.current_class == row.wanted:
        _end(row, ChangeState.DONE, "", now)
    elif claim.change == INFEASIBLE:
        _end(row, ChangeState.FAILED, "its driver cannot give the volume this class", now)
    elif now - (row.changed_at or row.asked_at) > DONE_WITHIN:
        _end(row, ChangeState.FAILED, "its driver did not do it within six hours", now)
    else:
        said = claim.change or "its driver has not begun"
        _claim(row, ChangeState.CHECKING, look_at=now + LOOK_EVERY, said=said)


@transaction.atomic
def _end(row: ClassChange, state: ChangeState, said: str, now: datetime) -> None:
    before = ChangeState(row.state)
    if _claim(row, before, state=state, said=said, ended_at=now):
        row.state, row.said = state, said
        _tell(row, "see what became of a class", now)


def _claim(row: ClassChange, before: ChangeState, **columns: object) -> bool:
    return bool(ClassChange.objects.filter(pk=row.pk, state=before).update(**columns))


def _tell(row: ClassChange, action: str, now: datetime) -> None:
    record(
        organisation=row.organisation, actor=SCHEDULER, action=action,
        subject=row.claim[:LONGEST_SUBJECT], now=now,
        details={
            "from": row.former, "to": row.wanted, "state": str(row.state),
            "said": row.said[:200], "asked_by": row.asked_by,
        },
    )  # fmt: skip
