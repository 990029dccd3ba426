"""Make, find, spend and revoke the tokens by which hosts connect themselves."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import models, transaction
from django.db.models import QuerySet

from accounts.actor import COMMAND_LINE, Actor
from accounts.errors import JoinRefused, NotFound
from accounts.models import Collects, JoinMode, JoinToken, Organisation, Runs
from accounts.models.join_token import JOIN_PREFIX, LONGEST_HOST_NAME
from accounts.models.token import token_digest
from accounts.roles import Action
from accounts.row_wall import look_at, show_secret
from accounts.services.audit import record

MOST_HOSTS = 500
LONGEST_MINUTES = 7 * 24 * 60
DEFAULT_MINUTES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a token lets hosts do; with `host_name` this one host alone, known already or not."""

    runs: Runs = Runs.SERVICE
    mode: JoinMode = JoinMode.OBSERVE
    collects: Collects = Collects.READER
    host_name: str = ""
    most_hosts: int = 1
    minutes: int = DEFAULT_MINUTES


@transaction.atomic
def make_join_token(
    *, organisation: Organisation, terms: Terms, now: datetime, by: Actor = COMMAND_LINE
) -> tuple[JoinToken, str]:
    """A new token and its secret, which is in the result and nowhere else."""
    by.require(Action.MANAGE_TOKENS)
    _check(terms)
    secret = JOIN_PREFIX + secrets.token_urlsafe(24)
    token = JoinToken.objects.create(
        organisation=organisation,
        digest=token_digest(secret),
        runs=terms.runs,
        mode=terms.mode,
        collects=terms.collects,
        host_name=terms.host_name,
        most_hosts=terms.most_hosts,
        made_by=by.name,
        created_at=now,
        expires_at=now + timedelta(minutes=terms.minutes),
    )
    record(
        organisation=organisation, actor=by, action="make join token",
        subject=terms.host_name or f"{terms.most_hosts} hosts", now=now,
        details={"join_token": token.pk, "mode": terms.mode, "minutes": terms.minutes},
    )  # fmt: skip
    return token, secret


def _check(terms: Terms) -> None:
    if not 1 <= terms.most_hosts <= MOST_HOSTS:
        raise JoinRefused(f"a join token is for 1 to {MOST_HOSTS} hosts")
    if not 1 <= terms.minutes <= LONGEST_MINUTES:
        raise JoinRefused(f"a join token lasts 1 to {LONGEST_MINUTES} minutes")
    if terms.host_name and terms.most_hosts != 1:
        raise JoinRefused("a join token of one host is for one host; leave the name or the number")
    if terms.host_name:
        check_host_name(terms.host_name)


def check_host_name(name: str) -> None:
    """Raise JoinRefused for a text that is no name of one host."""
    longest = LONGEST_HOST_NAME
    if not 0 < len(name) <= longest or not name.isprintable() or name.strip() != name:
        raise JoinRefused(
            f"that is no name of a host: it has 1 to {longest} printable letters, "
            "and no space before or after them"
        )
    if name.partition(".")[0].lower() == "localhost":
        raise JoinRefused(
            f'every machine is called "{name}"; give this one a name of its own with SLUICE_HOST'
        )


@transaction.atomic
def revoke_join_token(
    *, organisation: Organisation, pk: int, now: datetime, by: Actor = COMMAND_LINE
) -> JoinToken:
    """No host joins by it any more; those that did stay. Doing it again changes nothing."""
    by.require(Action.MANAGE_TOKENS)
    token = join_tokens_of(organisation).filter(pk=pk).first()
    if token is None:
        raise NotFound(
            f"{organisation} has no join token {pk}; `sluice join-token list` shows them"
        )
    if JoinToken.objects.filter(pk=pk, revoked_at=None).update(revoked_at=now):
        token.revoked_at = now
        record(
            organisation=organisation, actor=by, action="revoke join token",
            subject=f"join token {pk}", now=now, details={"join_token": pk},
        )  # fmt: skip
    return token


def join_tokens_of(organisation: Organisation) -> QuerySet[JoinToken]:
    """All of its tokens, the newest first."""
    return JoinToken.objects.filter(organisation=organisation)


def join_state(token: JoinToken, *, now: datetime) -> str:
    """One word for people: whether it still lets hosts join, and if not, why."""
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at <= now:
        return "expired"
    return "used up" if token.hosts_joined >= token.most_hosts else "open"


def find_join_token(secret: str, *, now: datetime) -> JoinToken:
    """The token of a line that was pasted; from here on its organisation's rows are seen.

    One that is used up is found too: a host that joined by it may run its line again.
    Raises JoinRefused.
    """
    digest = token_digest(secret)
    show_secret(digest)
    # Its usual order would ask for the organisation, which is not seen yet.
    token = JoinToken.objects.filter(digest=digest).order_by("pk").first()
    if token is None:
        raise JoinRefused("this join token is not known; was the line copied whole?")
    if token.revoked_at is not None:
        raise JoinRefused("this join token was revoked; make a new line under Hosts")
    if token.expires_at <= now:
        raise JoinRefused(
            f"this join token expired at {token.expires_at:%Y-%m-%d %H:%M} UTC; "
            "make a new line under Hosts"
        )
    look_at(token.organisation_id)
    return token


def spend(token: JoinToken, *, now: datetime) -> None:
    """Count one host more; of two that come at once for the last place, one is refused."""
    open_still = JoinToken.objects.filter(
        pk=token.pk, revoked_at=None, expires_at__gt=now, hosts_joined__lt=models.F("most_hosts")
    )
    if open_still.update(hosts_joined=models.F("hosts_joined") + 1) == 0:
        of = "1 host" if token.most_hosts == 1 else f"{token.most_hosts} hosts"
        raise JoinRefused(f"this join token is used up: it was for {of}; make a new line")


def described(token: JoinToken, *, now: datetime) -> dict[str, Any]:
    """What people and programs are told of one; its secret is not stored."""
    return {
        "id": token.pk,
        "state": join_state(token, now=now),
        "runs": token.runs,
        "mode": token.mode,
        "collects": token.collects,
        "host": token.host_name or None,
        "most_hosts": token.most_hosts,
        "hosts_joined": token.hosts_joined,
        "made_by": token.made_by,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
    }
