"""Create what a host's agent needs: tokens and keys. The server keeps public keys alone."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.actor import COMMAND_LINE, Actor
from accounts.models import Organisation, Scope, Token
from advisor.core.signing_keys import KeyName
from advisor.core.signing_rules import MOST_LEASE
from advisor.decisions.signing.signer import SignerUnavailable, find_signer
from advisor.errors import EnrolmentRefused
from advisor.models import AgentKey, Enforcer
from advisor.models.agent_key import new_salt
from ingest.core.lengths import LONGEST_TOKEN_NAME, shortened
from ingest.models import Host

DEFAULT_LEASE_S = 900
LONGEST_OVERLAP = timedelta(days=30)
NO_OVERLAP = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """The secrets of one agent, shown once; `server_key` is the public one of its documents."""

    host: Host
    token: str = field(repr=False)
    server_key: str
    report_key: str = field(repr=False)

    def files(self) -> dict[str, str]:
        """By the names that the agent's configuration has for them."""
        return {
            "token": self.token,
            "server-key": self.server_key,
            "report-key": self.report_key,
        }


def issue_reader_token(
    *, host: Host, by: Actor = COMMAND_LINE, overlap: timedelta = NO_OVERLAP
) -> str:
    """A token for samples of this host only; an earlier one of it ends after the overlap."""
    name = shortened(f"reader of {host.name}", LONGEST_TOKEN_NAME)
    with transaction.atomic():
        former = Q(host=host, scope=Scope.INGEST, name=name)
        _end(former, now=timezone.now(), overlap=overlap)
        _, secret = Token.objects.issue(
            organisation=host.organisation,
            scope=Scope.INGEST,
            name=name,
            host=host,
            made_by=by.name,
        )
    return secret


@transaction.atomic
def enroll(
    *,
    organisation: Organisation,
    host_name: str,
    lease_s: int = DEFAULT_LEASE_S,
    by: Actor = COMMAND_LINE,
) -> Enrolment:
    """Let an agent act for this host; an earlier one of the host stops working at once.

    Raises EnrolmentRefused for a lease that nobody would sign, or if nobody signs now.
    """
    if timedelta(seconds=lease_s) > MOST_LEASE:
        raise EnrolmentRefused(f"a lease is at most {MOST_LEASE.total_seconds():.0f} s long")
    host, _ = Host.objects.get_or_create(organisation=organisation, name=host_name)
    # What it shared with an agent that was enrolled before is worth nothing any more.
    Enforcer.objects.update_or_create(host=host, defaults={"lease_s": lease_s, "signing_key": ""})
    return _with_new_keys(host, overlap=NO_OVERLAP, by=by)


@transaction.atomic
def rotate(
    *, organisation: Organisation, host_name: str, overlap: timedelta, by: Actor = COMMAND_LINE
) -> Enrolment:
    """New keys and a new token for an agent; those that it has end after the overlap.

    Raises EnrolmentRefused for a host without an agent, or an overlap out of bounds.
    """
    if not NO_OVERLAP <= overlap <= LONGEST_OVERLAP:
        raise EnrolmentRefused(f"an overlap lasts at most {LONGEST_OVERLAP.days} days")
    found = Host.objects.filter(
        organisation=organisation, name=host_name, enforcer__isnull=False
    ).first()
    if found is None:
        raise EnrolmentRefused(f'"{host_name}" has no agent; enrol it without --rotate')
    return _with_new_keys(found, overlap=overlap, by=by)


def _with_new_keys(host: Host, *, overlap: timedelta, by: Actor) -> Enrolment:
    own = Q(host=host, scope=Scope.ENFORCE)
    _end(own, now=timezone.now(), overlap=overlap)
    token, secret = Token.objects.issue(
        organisation=host.organisation,
        scope=Scope.ENFORCE,
        name=shortened(f"agent of {host.name}", LONGEST_TOKEN_NAME),
        host=host,
        made_by=by.name,
    )
    salt, report_key = new_salt(), secrets.token_bytes(32)
    name = KeyName(organisation=host.organisation_id, host=host.name, salt=salt)
    try:
        public = find_signer().public(name)
    except SignerUnavailable as error:
        raise EnrolmentRefused(str(error)) from error
    reports = Ed25519PrivateKey.from_private_bytes(report_key).public_key().public_bytes_raw()
    AgentKey.objects.create(
        host=host, token=token, salt=salt, public_key=public.hex(), report_key=reports.hex()
    )
    return Enrolment(
        host=host,
        token=secret,
        server_key=f"ed25519-public:{public.hex()}",
        report_key=f"ed25519-secret:{report_key.hex()}",
    )


def _end(tokens: Q, *, now: datetime, overlap: timedelta) -> None:
    """Let tokens end, each with its keys; one that ends sooner anyway still does."""
    valid = Token.objects.filter(tokens, revoked_at=None)
    if not overlap:
        valid.update(revoked_at=now)
        return
    ends_at = now + overlap
    valid.filter(Q(expires_at=None) | Q(expires_at__gt=ends_at)).update(expires_at=ends_at)
