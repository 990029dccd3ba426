"""Who makes, sees and revokes which tokens, and what the chain says of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.actor import COMMAND_LINE
from accounts.errors import NotAllowed, NotFound, TokenRefused
from accounts.models import AuditEntry, Role, Scope, Token
from accounts.services.audit import verify
from accounts.services.tokens import create_token, revoke_token, tokens_for
from ingest.models import Host
from tests.accounts.people import ADDRESS, join
from tests.ingest.scenario import Tenant, now


@pytest.mark.parametrize("scope", [Scope.INGEST, Scope.METRICS, Scope.ENFORCE])
@pytest.mark.parametrize("role", list(Role))
def test_tokens_of_programs_take_an_admin(tenant: Tenant, role: Role, scope: Scope) -> None:
    by = join(tenant.organisation, "alice", role)
    before = Token.objects.count()

    try:
        create_token(
            organisation=tenant.organisation, name="t", scope=scope, host_name="h1", by=by
        )
    except NotAllowed:
        made = False
    else:
        made = True

    assert made is (role in (Role.ADMIN, Role.OWNER))
    assert Token.objects.count() - before == made


@pytest.mark.parametrize("role", list(Role))
def test_everybody_makes_and_revokes_tokens_that_act_as_themselves(
    tenant: Tenant, role: Role
) -> None:
    by = join(tenant.organisation, "alice", role)

    token, _ = create_token(
        organisation=tenant.organisation, name="laptop", scope=Scope.WRITE, username="alice", by=by
    )
    seen = list(tokens_for(tenant.organisation, by).filter(name="laptop"))
    at = now()
    revoke_token(organisation=tenant.organisation, pk=token.pk, now=at, by=by)

    assert (seen, token.made_by) == ([token], "alice")
    assert Token.objects.get(pk=token.pk).revoked_at == at


@pytest.mark.parametrize("role", list(Role))
def test_nobody_makes_a_token_that_acts_as_somebody_else(tenant: Tenant, role: Role) -> None:
    """An admin would be an owner by it."""
    join(tenant.organisation, "olga", Role.OWNER)
    by = join(tenant.organisation, "alice", role)

    with pytest.raises(NotAllowed, match="no token that acts as olga"):
        create_token(
            organisation=tenant.organisation, name="t", scope=Scope.READ, username="olga", by=by
        )


def test_operator_sees_and_revokes_no_token_of_others(tenant: Tenant) -> None:
    join(tenant.organisation, "olga", Role.OWNER)
    others = [
        create_token(organisation=tenant.organisation, name="t", scope=Scope.INGEST)[0],
        create_token(
            organisation=tenant.organisation, name="t", scope=Scope.READ, username="olga"
        )[0],
    ]
    by = join(tenant.organisation, "alice", Role.OPERATOR)

    assert list(tokens_for(tenant.organisation, by)) == []
    for token in others:
        with pytest.raises(NotFound):
            revoke_token(organisation=tenant.organisation, pk=token.pk, now=now(), by=by)


def test_admin_revokes_tokens_of_others_and_of_no_other_organisation(
    tenant: Tenant, stranger: Tenant
) -> None:
    join(tenant.organisation, "olga", Role.OWNER)
    theirs, _ = create_token(
        organisation=tenant.organisation, name="t", scope=Scope.READ, username="olga"
    )
    foreign, _ = create_token(organisation=stranger.organisation, name="t", scope=Scope.INGEST)
    by = join(tenant.organisation, "alice", Role.ADMIN)

    revoke_token(organisation=tenant.organisation, pk=theirs.pk, now=now(), by=by)
    with pytest.raises(NotFound):
        revoke_token(organisation=tenant.organisation, pk=foreign.pk, now=now(), by=by)

    assert Token.objects.get(pk=foreign.pk).revoked_at is None


def test_making_and_revoking_are_in_the_chain_once(tenant: Tenant) -> None:
    by = join(tenant.organisation, "alice", Role.ADMIN)
    token, secret = create_token(
        organisation=tenant.organisation,
        name="telegraf",
        scope=Scope.INGEST,
        host_name="h1",
        by=by,
    )
    for _ in range(2):
        revoke_token(organisation=tenant.organisation, pk=token.pk, now=now(), by=COMMAND_LINE)

    entries = AuditEntry.objects.filter(organisation=tenant.organisation).order_by("number")
    assert [(one.actor, one.address, one.action, one.subject) for one in entries] == [
        ("alice", ADDRESS, "create token", "telegraf"),
        ("command line", "", "revoke token", "telegraf"),
    ]
    assert entries[0].details == {
        "token": token.pk, "scope": "ingest", "host": "h1", "user": None,
    }  # fmt: skip
    assert secret not in str([one.details for one in entries])
    assert verify(tenant.organisation).broken is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""}, {"name": "x" * 101}, {"name": "a\x00b"}, {"name": "a\nb"},
        {"host_name": "h\x00"}, {"host_name": "h" * 10_000},
        {"scope": Scope.ENFORCE},
    ],
    ids=str,
)  # fmt: skip
def test_token_that_makes_no_sense_is_refused(tenant: Tenant, wrong: dict[str, str]) -> None:
    before = (Token.objects.count(), Host.objects.count(), AuditEntry.objects.count())

    with pytest.raises(TokenRefused):
        create_token(
            organisation=tenant.organisation, **({"name": "t", "scope": Scope.INGEST} | wrong)
        )

    assert (Token.objects.count(), Host.objects.count(), AuditEntry.objects.count()) == before


def test_token_ends_when_it_says(tenant: Tenant) -> None:
    end = now() + timedelta(days=90)

    _, secret = create_token(
        organisation=tenant.organisation, name="t", scope=Scope.INGEST, expires_at=end
    )

    assert Token.objects.valid(secret, now=end - timedelta(seconds=1)) is not None
    assert Token.objects.valid(secret, now=end) is None
