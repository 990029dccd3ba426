"""Create what a host's agent needs: tokens and a signing key."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from accounts.actor import COMMAND_LINE, Actor
from accounts.models import Organisation, Scope, Token
from advisor.models import Enforcer
from ingest.core.lengths import LONGEST_TOKEN_NAME, shortened
from ingest.models import Host


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """The secrets of one agent, shown once."""

    host: Host
    token: str
    signing_key: str


def issue_reader_token(*, host: Host, by: Actor = COMMAND_LINE) -> str:
    """A token for samples of this host only; an earlier one of its agent stops working."""
    name = shortened(f"reader of {host.name}", LONGEST_TOKEN_NAME)
    with transaction.atomic():
        Token.objects.filter(host=host, scope=Scope.INGEST, name=name, revoked_at=None).update(
            revoked_at=timezone.now()
        )
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
    lease_s: int = 900,
    by: Actor = COMMAND_LINE,
) -> Enrolment:
    """Let an agent act for this host; an earlier token of the host stops working."""
    host, _ = Host.objects.get_or_create(organisation=organisation, name=host_name)
    enforcer, _ = Enforcer.objects.update_or_create(host=host, defaults={"lease_s": lease_s})
    Token.objects.filter(host=host, scope=Scope.ENFORCE, revoked_at=None).update(
        revoked_at=timezone.now()
    )
    _, secret = Token.objects.issue(
        organisation=organisation,
        scope=Scope.ENFORCE,
        name=_token_name(host_name),
        host=host,
        made_by=by.name,
    )
    return Enrolment(host=host, token=secret, signing_key=enforcer.signing_key)


def _token_name(host_name: str) -> str:
    return shortened(f"agent of {host_name}", LONGEST_TOKEN_NAME)
