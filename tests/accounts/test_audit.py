"""The audit chain: whole as written, broken by each way of forging it."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from accounts.actor import COMMAND_LINE
from accounts.models import AuditEntry
from accounts.services.audit import record, verify
from tests.ingest.scenario import Tenant, now

ENTRIES = AuditEntry.objects


@pytest.fixture
def chain(tenant: Tenant) -> Tenant:
    for name in ("a", "b", "c"):
        record(
            organisation=tenant.organisation, actor=COMMAND_LINE, action="change role",
            subject=name, now=now(), details={"after": "admin"},
        )  # fmt: skip
    return tenant


def verified() -> str:
    output = StringIO()
    call_command("audit", "verify", "--organisation", "northgate", stdout=output)
    return output.getvalue()


def test_chain_holds_as_it_was_written(chain: Tenant) -> None:
    head = ENTRIES.get(number=3).hash

    assert verified() == f"3 entries hold; the newest is {head}\n"


def forge_and_hash_again() -> None:
    entry = ENTRIES.get(number=2)
    entry.subject = "mallory"
    entry.hash = entry.expected_hash
    entry.save()


@pytest.mark.parametrize(
    ("forge", "number"),
    [
        (lambda: ENTRIES.filter(number=2).update(subject="mallory"), 2),
        (lambda: ENTRIES.filter(number=2).update(details={"after": "viewer"}), 2),
        (lambda: ENTRIES.filter(number=1).update(address="192.0.2.9"), 1),
        (forge_and_hash_again, 3),
        (lambda: ENTRIES.filter(number=2).delete(), 2),
        (lambda: ENTRIES.filter(number=3).delete(), 3),
        (lambda: ENTRIES.all().delete(), 1),
        (lambda: ENTRIES.filter(number=3).update(number=F("number") + 1), 3),
    ],
    ids=["subject", "details", "address", "hashed again", "middle", "end", "all", "number"],
)
def test_forged_chain_is_broken_at_the_place(
    chain: Tenant, forge: Callable[[], object], number: int
) -> None:
    forge()

    with pytest.raises(CommandError, match=f"broken at entry {number}: "):
        verified()


def test_chains_of_organisations_are_apart(chain: Tenant, stranger: Tenant) -> None:
    record(
        organisation=stranger.organisation, actor=COMMAND_LINE, action="x", subject="y", now=now()
    )
    ENTRIES.filter(organisation=chain.organisation, number=2).delete()

    assert verify(stranger.organisation).broken is None
    assert verify(chain.organisation).broken is not None
